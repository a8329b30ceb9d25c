import type { Configuration } from '../../config/environment.ts'
import { Egress, type EgressRules } from '../../network/egress.ts'
import { createOutboundAgent, type OutboundAgent } from '../../network/outbound-agent.ts'

/** One agent with its own connection pool for each kind of subscriber. */
export interface Agents {
  /** For subscribers without an owner: only admins register them. */
  ownerless: OutboundAgent
  /** For subscribers with an owner: tenants choose their addresses. */
  owned: OutboundAgent
}

export interface SubscriberEgress {
  /** The address checks for subscribers of this owner; null for subscribers without an owner. */
  of: (owner: string | null) => Egress
  agents: Agents
  close: () => Promise<void>
}

export type EgressSettings = Pick<
  Configuration,
  'allowPrivateNetwork' | 'emitAllowedNetworks' | 'emitAllowedHosts' | 'emitPorts' | 'emitProxy'
>

/**
 * EMIT_ALLOWED_NETWORKS and EMIT_ALLOWED_HOSTS apply only to subscribers without an owner, which are the operator's own. The
 * two kinds of subscribers share no agent, so a tenant never gets a connection that such an exception allowed
 * (docs/adr/0020-exceptions-without-owner.md).
 */
export function openEgress(settings: EgressSettings): SubscriberEgress {
  const { allowPrivateNetwork, emitPorts: ports, emitProxy: proxy } = settings
  const owned: EgressRules = { allowPrivateNetwork, ports }
  const ownerless: EgressRules = {
    ...owned,
    networks: settings.emitAllowedNetworks,
    hosts: settings.emitAllowedHosts,
  }
  const checks = { owned: new Egress(owned), ownerless: new Egress(ownerless) }
  const agents: Agents = {
    owned: createOutboundAgent({ ...owned, proxy }),
    ownerless: createOutboundAgent({ ...ownerless, proxy }),
  }
  return {
    of: (owner) => (owner === null ? checks.ownerless : checks.owned),
    agents,
    async close() {
      await Promise.all([agents.owned.destroy(), agents.ownerless.destroy()])
    },
  }
}
