import { isDeepStrictEqual } from 'node:util'
import type { AuditEntry, AuditOrigin, RecordAudit } from '../../accounts/audit/audit.ts'
import type { Tx } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import { destinationIn } from './destinations.ts'

/** The columns that are no settings, or have entries of their own. */
const others = new Set<string>(['status', 'disabled_reason', 'failing_since', 'warned_at', 'updated_at'])

/** The name of a column in the API. */
function nameOf(column: string): string {
  if (column === 'timeout_ms') return 'timeoutSeconds'
  return column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

const statusActions = {
  active: 'subscriber.resumed',
  paused: 'subscriber.paused',
  disabled: 'subscriber.disabled',
} as const

export function subscriberTarget(id: string): string {
  return `subscriber:${id}`
}

/** The address and owner of a subscriber. Only the origin of the URL: path and query often contain credentials. */
export function describeSubscriber({ url, owner }: Row<'subscribers'>): AuditEntry['detail'] {
  return { origin: destinationIn(url) === null ? new URL(url).origin : url, owner }
}

/** Records a change of a subscriber: one entry for the status, one for all other settings. Records nothing if nothing changed. */
export async function recordChange(
  record: RecordAudit,
  tx: Tx,
  { before, after }: { before: Row<'subscribers'>; after: Row<'subscribers'> },
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
  // Encrypted columns differ after each write, so headers that are sent again count as changed.
  const changed = Object.entries(after)
    .filter(
      ([column, value]) => !others.has(column) && !isDeepStrictEqual(Reflect.get(before, column), value),
    )
    .map(([column]) => nameOf(column))
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
