import { sql } from 'kysely'
import { partSeries, seriesNames } from '../../src/telemetry/history/recorder.ts'
import { hour, minute, steps } from '../../src/telemetry/history/store.ts'
import { Durations, Tally } from '../../src/telemetry/history/tally.ts'
import type { Database } from '../../src/storage/database.ts'
import type { Row } from '../../src/storage/tables.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { fillDeliveries } from './fill-deliveries.ts'
import { fillEvents, fillFailures } from './fill-events.ts'
import { fillPeople } from './fill-people.ts'
import { day, sources, type Shape } from './shape.ts'

/** Makes the database of a service that has worked for a month. */
export async function fillPages(url: string, shape: Shape): Promise<void> {
  const database = await openDatabase(url)
  try {
    await migrate(database)
    await fillEvents(database, shape)
    await fillFailures(database, shape)
    await fillDeliveries(database, shape)
    await fillPeople(database, shape)
    await fillHistory(database, shape)
    if (database.engine === 'sqlite') return
    for (const table of ['events', 'deliveries'])
      await sql`select setval(pg_get_serial_sequence(${table}, 'id'), ${shape.events})`.execute(
        database.reader,
      )
    await database.pool.query('vacuum analyze')
  } finally {
    await database.close()
  }
}

const spans = [
  { step: steps.minute, length: minute, span: 47 * hour },
  { step: steps.hour, length: hour, span: 34 * day },
] as const
/** Durations of a row: those of a minute lie in few buckets, those of an hour in many. */
const observed = { [steps.minute]: 60, [steps.hour]: 3_600 } as const

/** The history of the metrics of a busy service, in all of its steps. */
async function fillHistory(database: Database, { now }: Shape): Promise<void> {
  const series = [...seriesNames, ...sources.map((source) => partSeries('webhooks', source))]
  const rows: Row<'metric_history'>[] = []
  for (const { step, length, span } of spans) {
    // A few encoded rows are enough: no decoded row is reused.
    const kinds = Array.from({ length: 20 }, (_, seed) => tallyOf(seed, observed[step]))
    for (let at = now - (now % length) - length; at > now - span; at -= length)
      for (const [index, name] of series.entries()) {
        const row = kinds[(at / length + index) % kinds.length]!.toRow(step, name, at)
        rows.push(name.includes(':') ? { ...row, durations: null } : row)
      }
  }
  for (let first = 0; first < rows.length; first += 1_000)
    await database.transaction((tx) =>
      tx
        .insertInto('metric_history')
        .values(rows.slice(first, first + 1_000))
        .execute(),
    )
}

function tallyOf(seed: number, count: number): Tally {
  const tally = new Tally()
  const durations = new Durations()
  // Between 2 ms and a second, most of them short.
  for (let index = 0; index < count; index += 1)
    durations.observe(2 * 500 ** ((((seed * 7919 + index * 104_729) % 1_009) / 1_009) ** 3))
  tally.ok = count
  tally.failed = seed % 7
  tally.addBuckets(durations.drain()!)
  return tally
}
