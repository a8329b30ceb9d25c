import type { Configuration } from '../config/environment.ts'
import { Egress, type EgressRules } from '../network/egress.ts'
import { createOutboundAgent, type OutboundAgent } from '../network/outbound-agent.ts'

/** An agent, with a pool of connections of its own, for each kind of subscriber. */
export interface Agents {
  /** For subscribers without an owner, which only admins register. */
  ownerless: OutboundAgent
  /** For subscribers of owners: tenants choose their addresses. */
  owned: OutboundAgent
}

export interface SubscriberEgress {
  /** What the address of a subscriber of this owner, or of none, is checked by. */
  of: (owner: string | null) => Egress
  agents: Agents
  close: () => Promise<void>
}

export type EgressSettings = Pick<
  Configuration,
  'allowPrivateNetwork' | 'emitAllowedNetworks' | 'emitAllowedHosts' | 'emitPorts' | 'emitProxy'
>

/**
 * EMIT_ALLOWED_NETWORKS and EMIT_ALLOWED_HOSTS are exceptions that the operator makes for subscribers of their own: they
 * hold for subscribers without an owner only. A connection that such an exception allowed is never used for a tenant,
 * since the two kinds of subscribers share no agent (docs/adr/0020-exceptions-without-owner.md).
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
