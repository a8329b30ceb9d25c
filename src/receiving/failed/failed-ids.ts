import { sql, type RawBuilder } from 'kysely'
import type { Queryable } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import type { FailedFilter } from './filter.ts'

interface Range {
  after: number
  upTo: number
  count: number
}

/** Events that one index has in the order of their numbers. */
interface Stream {
  readonly index: string
  readonly where: RawBuilder<unknown>
  /** The columns of the index, by which PostgreSQL orders: then it reads this index and no other. */
  readonly columns: string
}

/**
 * The next numbers of events that have failed or are retried, ascending: at most `count` behind `after`, up to `upTo`. Of the filter
 * it uses only the status and the group, so that it reads at most `count` entries of an index, or of two. Events of a group may be
 * among them that are pending and not retried.
 */
export async function failedIdsAfter(
  db: Queryable,
  engine: Engine,
  filter: FailedFilter,
  { after, upTo, count }: Range,
): Promise<number[]> {
  const found: number[] = []
  for (const { index, where, columns } of streamsOf(filter)) {
    const hint = engine === 'sqlite' ? sql.raw(`indexed by ${index}`) : sql``
    const order = sql.raw(engine === 'sqlite' ? 'event' : columns)
    const { rows } = await sql<{ event: number }>`select event from event_queue ${hint}
      where ${where} and event > ${after} and event <= ${upTo} order by ${order} limit ${count}`.execute(db)
    for (const { event } of rows) found.push(event)
  }
  return found.toSorted((a, b) => a - b).slice(0, count)
}

function streamsOf({ status, group }: FailedFilter): Stream[] {
  if (group === undefined) return [status === 'retrying' ? retrying : failed]
  const ofGroup = (one: string): Stream => ({
    index: 'event_queue_of_group',
    where: sql`failure_group = ${group} and status = ${sql.lit(one)}`,
    columns: 'failure_group, status, event',
  })
  if (status === undefined) return [ofGroup('failed'), ofGroup('pending')]
  return [ofGroup(status === 'retrying' ? 'pending' : 'failed')]
}

const failed: Stream = {
  index: 'event_queue_failed',
  where: sql`status = 'failed'`,
  columns: 'event, source, type',
}
const retrying: Stream = {
  index: 'event_queue_retrying',
  where: sql`status = 'pending' and failed_at is not null`,
  columns: 'event, source, type',
}
