import { readRow, type BenchDatabase } from '../harness/databases.ts'

/** Where a side marks its events as processed. */
export type MarkerTable = 'event_queue' | 'processed_events'

const processed: Record<MarkerTable, string> = {
  event_queue: `source = 'provider' and status = 'processed'`,
  processed_events: 'true',
}

/**
 * Events per second of one round, from the first marker to the last by the markers' own times (milliseconds): neither the
 * start of a process nor the wait for the first event is in it.
 * @param prefix of the round's event ids
 * @throws Error when an event does not have exactly one marker and exactly one row
 */
export async function rateOf(
  database: BenchDatabase,
  table: MarkerTable,
  prefix: string,
  expected: number,
): Promise<number> {
  const range = [`${prefix}-`, `${prefix}.`]
  const markers = await readRow(
    database,
    `with marked as (
       select event_id, processed_at from ${table}
       where ${processed[table]} and event_id >= $1 and event_id < $2
     )
     select count(*) as entries, count(distinct event_id) as events, min(processed_at) as first, max(processed_at) as last,
       (select count(*) from marked where processed_at > (select min(processed_at) from marked)) as later
     from marked`,
    range,
  )
  const orders = await readRow(
    database,
    'select count(*) as entries, count(distinct event_id) as events from orders where event_id >= $1 and event_id < $2',
    range,
  )
  for (const [name, { entries, events }] of Object.entries({ markers, orders })) {
    if (Number(entries) !== expected || Number(events) !== expected)
      throw new Error(
        `${expected} events are to be processed once each: there are ${Number(entries)} ${name} of ${Number(events)} events`,
      )
  }
  const milliseconds = Number(markers['last']) - Number(markers['first'])
  // A trial may be over within the first millisecond.
  return ((Number(markers['later']) || expected) * 1000) / Math.max(1, milliseconds)
}
