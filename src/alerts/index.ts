import { createRecordAudit } from '../accounts/audit/audit.ts'
import type { Attention } from '../http/attention.ts'
import type { ModuleParts, ServiceModule } from '../http/service-module.ts'
import { Egress } from '../network/egress.ts'
import { createOutboundAgent } from '../network/outbound-agent.ts'
import { Cursors } from '../paging/cursor.ts'
import { periodicWorker } from '../runtime/periodic-worker.ts'
import { conditionOf } from './conditions.ts'
import { createDeliver, createMailer } from './deliver.ts'
import { Destinations } from './destinations.ts'
import { alertRoutes } from './routes.ts'
import { evaluateEvery, attempt, round, type AlertRounds } from './worker.ts'

interface AlertParts extends ModuleParts {
  /** What needs a person now. */
  attention: () => Promise<readonly Attention[]>
}

/** Notifies people of problems, by e-mail, Slack, Discord or Microsoft Teams (docs/adr/0047-alerts.md). */
export function createAlerts(parts: AlertParts): ServiceModule {
  const { configuration, database, keyring, clock } = parts
  // Admins choose the addresses, as those of subscribers without an owner.
  const rules = {
    allowPrivateNetwork: configuration.allowPrivateNetwork,
    ports: configuration.emitPorts,
    networks: configuration.emitAllowedNetworks,
    hosts: configuration.emitAllowedHosts,
  }
  const agent = createOutboundAgent({ ...rules, proxy: configuration.emitProxy })
  const mail = createMailer(configuration)
  const sender = {
    // The port of a demo is known once it listens.
    get name() {
      return `${configuration.brandName} (${new URL(parts.baseUrl()).host})`
    },
    link: (path: string) => parts.baseUrl() + path,
  }
  const deliver = createDeliver(agent, mail, sender)
  const rounds: AlertRounds = {
    ...parts,
    deliver,
    conditions: async () => (await parts.attention()).map(conditionOf),
  }
  const worker = periodicWorker('alerts', clock, evaluateEvery, () => round(rounds))
  const destinations = new Destinations({
    database,
    keyring,
    clock,
    record: createRecordAudit(clock),
    cursors: new Cursors(keyring),
    egress: new Egress(rules),
    hasMail: mail !== undefined,
  })
  return {
    workers: [
      {
        ...worker,
        async stop() {
          await worker.stop()
          await agent.destroy()
        },
      },
    ],
    routes: (app) => alertRoutes(app, { destinations, send: (sending) => attempt(rounds, sending) }),
  }
}
