import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../src/runtime/clock.ts'
import { sqliteRetention } from '../src/events/retention/store.sqlite.ts'
import { RetentionWorker } from '../src/events/retention/worker.ts'
import type { WritePriority, SqliteDatabase } from '../src/storage/database.ts'
import { openDatabase } from '../src/storage/open.ts'
import type { SqliteConnection } from '../src/storage/sqlite/connection.ts'
import { createLog } from '../src/telemetry/log.ts'
import { Metrics } from '../src/telemetry/metrics.ts'
import { createDatabase, execute } from './harness/databases.ts'
import { scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { figure, type Figure, type Outcome } from './measure/outcome.ts'
import { percentile } from './measure/statistics.ts'
import { storeBacklog } from './process/backlog.ts'

const events = 300_000
const bytes = 1024
const day = 86_400_000
const periods = { payloads: 30 * day, markers: 90 * day, rejected: 7 * day }
/** Seconds in which the other writer is alone. */
const alone = 5
/** Milliseconds between its commits. */
const writesEvery = 2
/** Milliseconds that a step may hold the write lock, but for the few that the disk makes wait. */
const bound = 5

export const retention: Bench = {
  name: 'retention',
  about: 'How long removing old rows keeps other writers of SQLite waiting',
  plan: ({ size }) => ({ steps: 3, seconds: 5 + 150 * size }),
  async run({ scale, step }: BenchContext) {
    const count = scaled(events, scale)
    const place = await createDatabase('sqlite', undefined)
    step(`storing ${count} events`)
    await storeBacklog(place, { prefix: 'old', count, bytes, before: true })
    await execute(place, `update event_queue set status = 'processed', processed_at = due_at`)
    const database = await openDatabase(place.url)
    if (database.engine !== 'sqlite') throw new Error('SQLite it is')
    try {
      const writer = new Writer(database)
      step('writing alone')
      const before = await writer.during(() => wait(1000 * alone * Math.max(0.1, scale.size)))
      step('writing while rows are removed')
      const holds: number[] = []
      let removed = 0
      const began = performance.now()
      const meanwhile = await writer.during(async () => {
        removed = await removeAll(database, holds)
      })
      const seconds = (performance.now() - began) / 1000
      if (removed !== 2 * count) throw new Error(`${removed} rows were removed of ${2 * count}`)
      const figures = [
        ...spread('a step holds the write lock', holds, bound),
        ...spread('a commit of another writer, alone', before),
        ...spread('a commit of another writer, meanwhile', meanwhile),
        figure('rows removed', 'rows/s', [removed / seconds]),
      ]
      const notes = [
        `${count} events of ${bytes} bytes and their markers, all old enough, removed in ${holds.length} steps with their pauses; a row is committed every ${writesEvery} ms beside them.`,
        'From the first statement of a step to the end of its commit, which the disk decides about (synchronous=FULL).',
      ]
      return { figures, ratios: [], notes } satisfies Outcome
    } finally {
      await database.close()
    }
  },
}

async function removeAll(database: SqliteDatabase, holds: number[]): Promise<number> {
  const { engine, file, readConnection } = database
  const timed = {
    engine,
    file,
    readConnection,
    async batch<T>(priority: WritePriority, work: (connection: SqliteConnection) => T): Promise<T> {
      let began = 0
      const result = await database.batch(priority, (connection) => {
        began = performance.now()
        return work(connection)
      })
      holds.push(performance.now() - began)
      return result
    },
  } as unknown as SqliteDatabase
  const worker = new RetentionWorker({
    store: sqliteRetention(timed),
    clock: { ...systemClock, now: () => Date.now() + 100 * day },
    log: createLog('fatal'),
    metrics: new Metrics(),
    periods,
  })
  const removed = await worker.round()
  return [...(removed?.values() ?? [])].reduce((sum, count) => sum + count, 0)
}

/** Another writer of the same process, such as the intake. */
class Writer {
  readonly #database: SqliteDatabase

  constructor(database: SqliteDatabase) {
    this.#database = database
  }

  /** Milliseconds of each of its commits, from being asked for to its end, while `work` goes on. */
  async during(work: () => Promise<unknown>): Promise<number[]> {
    const took: number[] = []
    let over = false
    const ended = work().finally(() => (over = true))
    await this.#database.batch('acknowledge', (connection) =>
      connection.exec('create table if not exists written (at real) strict'),
    )
    while (!over) {
      const began = performance.now()
      await this.#database.batch('acknowledge', (connection) =>
        connection.run('insert into written values (?)', [began]),
      )
      took.push(performance.now() - began)
      await wait(writesEvery)
    }
    await ended
    return took
  }
}

function spread(name: string, values: readonly number[], atMost?: number): Figure[] {
  const sorted = values.toSorted((one, other) => one - other)
  return [
    figure(`${name}: median`, 'ms', [percentile(sorted, 0.5)], atMost),
    figure(`${name}: 99 of 100 within`, 'ms', [percentile(sorted, 0.99)], atMost),
    figure(`${name}: longest`, 'ms', [sorted.at(-1) ?? Number.NaN]),
  ]
}
