import type { Clock } from '../../runtime/clock.ts'
import type { Configuration } from '../../config/environment.ts'
import { createOutboundAgent } from '../../network/outbound-agent.ts'
import type { Database } from '../../storage/database.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { AuditForwarder, type AuditDestination } from './forwarder.ts'
import { syslogDestination } from './syslog.ts'
import { webhookDestination } from './webhook.ts'

export interface AuditForwardingParts {
  configuration: Configuration
  database: Database
  clock: Clock
  log: Log
  metrics: Metrics
  baseUrl: () => string
}

/** The worker that forwards the audit log to AUDIT_EXPORT_URL; an empty list when that is not set. */
export function createAuditForwarding(parts: AuditForwardingParts): AuditForwarder[] {
  const { auditExportUrl: url } = parts.configuration
  return url === undefined
    ? []
    : [new AuditForwarder({ ...parts, url, destination: destinationOf(url, parts) })]
}

/** The operator chose the address, so private networks are allowed. Requests use EMIT_PROXY, as webhooks do. */
function destinationOf(
  url: string,
  { configuration, clock, baseUrl }: AuditForwardingParts,
): AuditDestination {
  if (url.startsWith('syslog+'))
    return syslogDestination(url, { hostname: () => new URL(baseUrl()).hostname })
  const agent = createOutboundAgent({ allowPrivateNetwork: true, proxy: configuration.emitProxy })
  return webhookDestination(url, configuration.auditExportSecrets ?? [], { agent, clock })
}
