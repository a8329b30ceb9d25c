import { isDeepStrictEqual } from 'node:util'
import type { AuditEntry, AuditOrigin, RecordAudit } from '../../accounts/audit/audit.ts'
import type { Tx } from '../../storage/database.ts'
import type { SubscribersTable } from '../../storage/tables.ts'
import { destinationIn } from './destinations.ts'

/** Columns by their names in the API. Encrypted headers differ after each write, so headers that are sent again count as changed. */
const settings = {
  url: 'url',
  description: 'description',
  event_types: 'eventTypes',
  retry_schedule: 'retrySchedule',
  timeout_ms: 'timeoutSeconds',
  rate_limit: 'rateLimit',
  concurrency: 'concurrency',
  headers: 'headers',
  credentials: 'credentials',
  request: 'request',
  transformation: 'transformation',
  ordered: 'ordered',
  signing: 'signing',
  conditions: 'conditions',
  http_signature: 'httpSignature',
  operational: 'operational',
  channels: 'channels',
  uid: 'uid',
  metadata: 'metadata',
} as const satisfies Partial<Record<keyof SubscribersTable, string>>

const statusActions = {
  active: 'subscriber.resumed',
  paused: 'subscriber.paused',
  disabled: 'subscriber.disabled',
} as const

export function subscriberTarget(id: string): string {
  return `subscriber:${id}`
}

/** The address and owner of a subscriber. Only the origin of the URL: path and query often contain credentials. */
export function describeSubscriber({ url, owner }: SubscribersTable): AuditEntry['detail'] {
  return { origin: destinationIn(url) === null ? new URL(url).origin : url, owner }
}

/** Records a change of a subscriber: one entry for the status, one for all other settings. Records nothing if nothing changed. */
export async function recordChange(
  record: RecordAudit,
  tx: Tx,
  { before, after }: { before: SubscribersTable; after: SubscribersTable },
  origin: AuditOrigin,
): Promise<void> {
  const target = subscriberTarget(after.id)
  if (before.status !== after.status)
    await record(tx, {
      action: statusActions[after.status],
      target,
      detail: { from: before.status, to: after.status },
      ...origin,
    })
  const columns = Object.keys(settings) as (keyof typeof settings)[]
  const changed = columns
    .filter((column) => !isDeepStrictEqual(before[column], after[column]))
    .map((column) => settings[column])
  if (changed.length === 0) return
  await record(tx, {
    action: 'subscriber.changed',
    target,
    detail: {
      changed: changed.join(','),
      ...(changed.includes('url') && {
        oldOrigin: new URL(before.url).origin,
        newOrigin: new URL(after.url).origin,
      }),
    },
    ...origin,
  })
}
