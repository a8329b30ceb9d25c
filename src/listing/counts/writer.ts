import { sql } from 'kysely'
import type { Database, Tx } from '../../storage/database.ts'
import { tuple, type CountedOrder } from '../../storage/maintained-counts/counted-order.ts'
import {
  bucketSize,
  createCounts,
  createTriggers,
  dropCounts,
  dropTriggers,
  fillCounts,
} from '../../storage/maintained-counts/statements.ts'
import type { ListDeclaration } from '../list.ts'
import { internalName } from '../names.ts'
import { fold, runAll, splitLargeBuckets } from './fold.ts'
import { countedOrderOf } from './list-order.ts'
import { bucketOfSql, changesByBucketSql, firstBucketSql } from './sql.ts'
import { triggerFaults } from './trigger-faults.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Worker } from '../../runtime/worker.ts'
import { periodicWorker } from '../../runtime/periodic-worker.ts'
import type { Log } from '../../telemetry/log.ts'

/** Milliseconds that a first count of many rows may take. */
const longCount = 30 * 60_000
/** Milliseconds that a split waits for its lock on PostgreSQL, where new writers queue up after it, before it gives up for this round. */
const lockWait = 100

/** Creates, updates, checks and drops the counts of one list. */
export class CountsWriter {
  readonly #database: Database
  readonly #order: CountedOrder

  constructor(database: Database, list: ListDeclaration) {
    this.#database = database
    this.#order = countedOrderOf(list)
  }

  create(): Promise<void> {
    return this.#inTransaction((tx) => runAll(tx, createCounts(this.#order, this.#database.engine)))
  }

  drop(): Promise<void> {
    return this.#inTransaction((tx) => runAll(tx, dropCounts(this.#order, this.#database.engine)))
  }

  /** Creates the triggers again and counts all rows. Writers wait until it is done. */
  rebuild(): Promise<void> {
    const { engine } = this.#database
    return this.#inTransaction(async (tx) => {
      await this.#lockOutWriters(tx)
      await runAll(tx, dropTriggers(this.#order, engine))
      await runAll(tx, createTriggers(this.#order, engine))
      await runAll(tx, fillCounts(this.#order))
    })
  }

  /** Compares the counts with the rows at one moment, and the triggers with those of this version. Takes no lock. */
  async check(): Promise<{ total: number; faults: string[] }> {
    const { rows } = await sql
      .raw<Record<'maintained' | 'counted' | 'wrong', number | string>>(checkSql(this.#order))
      .execute(this.#database.reader)
    const { maintained, counted, wrong } = rows[0]!
    const faults = await triggerFaults(this.#database, this.#order)
    if (Number(maintained) !== Number(counted))
      faults.push(`the maintained total is ${maintained}, but the table has ${counted} rows`)
    if (Number(wrong) > 0) faults.push(`the sizes of ${wrong} buckets are wrong`)
    return { total: Number(counted), faults }
  }

  /** Folds the recorded changes into the buckets and splits buckets that are too large. Does nothing without changes. */
  async foldChanges(): Promise<void> {
    const { buckets, changes } = this.#order
    if (!(await this.#finds(`select 1 from ${changes} limit 1`))) return
    await this.#inTransaction((tx) => fold(tx, this.#order, this.#database.engine))
    const mustSplit = await this.#finds(
      `select 1 from ${buckets} where size >= ${2 * bucketSize}
        union all select 1 where not exists (select 1 from ${buckets}) and exists (select 1 from ${changes}) limit 1`,
    )
    if (!mustSplit) return
    await this.#inTransaction(async (tx) => {
      await this.#lockOutWriters(tx, lockWait)
      await fold(tx, this.#order, this.#database.engine)
      await splitLargeBuckets(tx, this.#order)
    })
  }

  async #finds(query: string): Promise<boolean> {
    const { rows } = await sql.raw(query).execute(this.#database.reader)
    return rows.length > 0
  }

  /** @param wait milliseconds that PostgreSQL may wait for the lock; without it, as long as the transaction may last. */
  async #lockOutWriters(tx: Tx, wait?: number): Promise<void> {
    const { changes } = this.#order
    // SQLite has one writer, which a transaction becomes by its first statement.
    if (this.#database.engine === 'sqlite') return runAll(tx, [`delete from ${changes} where size = 0`])
    if (wait !== undefined) await runAll(tx, [`set local lock_timeout = ${wait}`])
    await runAll(tx, [`lock table ${changes} in exclusive mode`])
  }

  #inTransaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#database.transaction(work, { priority: 'work', timeLimit: longCount })
  }
}

function checkSql(order: CountedOrder): string {
  const { table, total, buckets, changes, columns } = order
  const bucket = bucketOfSql(order, tuple(columns.map((column) => `t.${column}`)))
  const [counted, changed] = [internalName('counted'), internalName('changed')]
  return `with ${counted} as (
      select coalesce((${bucket}), (${firstBucketSql(order)})) as id, count(*) as size from ${table} t group by 1),
    ${changed} as (${changesByBucketSql(order)})
  select (select size + coalesce((select sum(size) from ${changes}), 0) from ${total}) as maintained,
    (select count(*) from ${table}) as counted,
    (select count(*) from ${buckets} b left join ${counted} c on c.id = b.id left join ${changed} m on m.id = b.id
      where b.size + coalesce(m.size, 0) <> coalesce(c.size, 0)) as wrong`
}

/** Milliseconds between two rounds. Until then, readers add up the recorded changes. */
const interval = 2_000

/** Folds recorded changes into the counts. A round that fails is logged and repeated after the interval. */
export function createCountsWorker(clock: Clock, log: Log, writers: readonly CountsWriter[]): Worker {
  return periodicWorker('counts', clock, interval, async () => {
    for (const writer of writers) {
      await writer
        .foldChanges()
        .catch((error: unknown) =>
          log.debug({ err: error, worker: 'counts' }, 'could not fold the changes of a list into its counts'),
        )
    }
  })
}
