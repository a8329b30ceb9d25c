import { Type } from 'typebox'
import type { RecordAudit } from '../../accounts/audit/audit.ts'
import { Problem } from '../../errors.ts'
import { closedObject, DateTime, nullable } from '../../http/schemas/schemas.ts'
import type { Cursors } from '../../paging/cursor.ts'
import type { Clock } from '../../runtime/clock.ts'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'
import type { Database } from '../../storage/database.ts'
import type { Reprocessing } from '../failed/reprocess.ts'
import { Failed } from '../failed/routes.ts'
import { groupStates, listGroups, mostCounted, type CountedGroup } from './store.ts'

export interface FailureRouteParts {
  database: Database
  clock: Clock
  cursors: Cursors
  record: RecordAudit
  reprocessing: Reprocessing
}

export const tags = ['events']

export const hour = 3_600_000

/** Milliseconds of the counts in a list, and of those of one group. */
export const shown = { list: 24 * hour, one: 7 * 24 * hour }

export const Group = closedObject({
  id: Type.String(),
  handler: Type.String({ description: 'The id of the handler that failed, as in `GET /handlers`' }),
  name: Type.String({ description: 'The name of the error, such as `TypeError`' }),
  message: Type.String({
    description:
      'The first line of its message; `…` stands for numbers, ids and quoted texts, which differ between failures',
  }),
  frame: nullable(Type.String(), 'The function and file of the first stack frame of your own code'),
  state: Type.Enum([...groupStates], {
    description:
      '`resolved`: none of its events has failed or is retried. `acknowledged`: until, after an hour without a failure, another event fails. `snoozed`: until `snoozedUntil`',
  }),
  snoozedUntil: nullable(DateTime),
  stateBy: nullable(Type.String(), 'Who acknowledged or snoozed it, as in the audit log'),
  stateAt: nullable(DateTime),
  firstAt: DateTime,
  lastAt: DateTime,
  count: Type.Integer({ description: 'Failed attempts in all time, within two seconds' }),
  failed: Type.Integer({
    description: `Its events that failed after their last attempt; ${mostCounted} stands for that many or more`,
  }),
  retrying: Type.Integer({
    description: 'Its events that wait for another attempt, counted in the same way',
  }),
  hours: Type.Array(Type.Object({ at: DateTime, count: Type.Integer() }), {
    description:
      'Failed attempts by hour: of a day in lists, of a week for one group. Hours without any are left out',
  }),
})

export const GroupDetail = closedObject({
  ...Group.properties,
  error: nullable(Type.String(), 'The last error of its newest event, with the stack'),
  errorAt: nullable(DateTime),
  errorEvent: nullable(Type.Integer(), 'The number of that event'),
  events: Type.Array(Failed, {
    description: `Its newest events that have failed or are retried; \`GET /events/failed?group=\` has all`,
  }),
})

export async function findGroup({ database, clock }: FailureRouteParts, id: string): Promise<CountedGroup> {
  const [row] = await listGroups(database.readerAside, { id }, clock.now(), { limit: 1 })
  if (!row) throw notFound()
  return row
}

export const notFound = (): Problem =>
  new Problem('not-found', { detail: 'There is no such group of failures, or it was deleted.' })

export function viewGroup(row: CountedGroup, hours: readonly { at: number; count: number }[] = []) {
  return {
    id: row.id,
    handler: row.handler,
    name: row.name,
    message: row.message,
    frame: row.frame,
    state: row.state,
    snoozedUntil: row.state === 'snoozed' ? isoTimeOrNull(row.snoozed_until) : null,
    stateBy: row.state_by,
    stateAt: isoTimeOrNull(row.state_at),
    firstAt: isoTime(row.first_at),
    lastAt: isoTime(row.last_at),
    count: row.count,
    failed: row.failed,
    retrying: row.retrying,
    hours: hours.map(({ at, count }) => ({ at: isoTime(at), count })),
  }
}
