import { CompiledQuery } from 'kysely'
import { ClosingStatement } from '../../storage/closing-statement.ts'
import { encodeArrays, type Column } from '../../storage/postgres/driver/array-encoder.ts'
import { prepare } from '../../storage/postgres/driver/statement.ts'
import { advance } from '../queue/advance.ts'
import { orderKeysOf } from '../queue/order-keys.ts'
import type { EventQueue, ProcessedMarker } from '../queue/store.ts'
import { ClaimLost } from '../worker/interruptions.ts'

const markStatement = `
  update event_queue set status = 'processed', processed_at = mark.at, claim = null, leased_until = null, attempts = attempts + 1
  from unnest($1::bigint[], $2::text[], $3::bigint[]) as mark (event, claim, at)
  where event_queue.event = mark.event and event_queue.claim = mark.claim and status = 'pending'`

/** The same, but fails with division_by_zero unless it changes $4 rows: the commit was sent together with it. */
const markAllStatement = `
  with marked as (${markStatement} returning 1) select 1 / (count(*) = $4)::integer as held from marked`

/** In the order of the parameters of `markStatement`. */
const markColumns: readonly Column<ProcessedMarker>[] = [
  { kind: 'bigints', read: ({ event }) => event },
  { kind: 'texts', read: ({ claim }) => claim },
  { kind: 'bigints', read: ({ at }) => at },
]

export const markProcessed: EventQueue['markProcessed'] = async (tx, marks) => {
  const values = encodeArrays(marks, markColumns)
  const keys = orderKeysOf(marks)
  if (keys.length === 0) {
    const query = prepare(CompiledQuery.raw(markAllStatement, [...values, marks.length]))
    return new ClosingStatement(query, (error) => (isDivisionByZero(error) ? new ClaimLost() : error))
  }
  const { numAffectedRows } = await tx.executeQuery(CompiledQuery.raw(markStatement, values))
  if (numAffectedRows !== BigInt(marks.length)) throw new ClaimLost()
  await advance('postgres', tx, keys)
  return undefined
}

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const isDivisionByZero = (error: unknown): boolean => (error as { code?: string }).code === '22012'
