import { sql } from 'kysely'
import type { Database, PostgresDatabase, SqliteDatabase, Tx } from '../../storage/database.ts'
import {
  type CountedOrder,
  orderTerms,
  tuple,
  bucketSize,
  createCounts,
  createTriggers,
  dropCounts,
  dropTriggers,
  fillCounts,
  insertBuckets,
} from '../../storage/maintained-counts.ts'
import type { ListDeclaration } from '../list.ts'
import { internalName } from '../plan.ts'
import { countedOrderOf, bucketOfSql, changesByBucketSql, firstBucketSql } from './counts.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Worker, periodicWorker } from '../../runtime/worker.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Engine } from '../../storage/query-runner.ts'

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

/** Reports triggers, and their function, that are missing, disabled or not as this version creates them. */
async function triggerFaults(database: Database, order: CountedOrder): Promise<string[]> {
  const { engine } = database
  const existing = engine === 'sqlite' ? sqliteTriggers(database) : await postgresTriggers(database, order)
  const wrong = createTriggers(order, engine)
    .map(engine === 'sqlite' ? sqliteIdentity : postgresIdentity)
    .filter((identity) => !existing.has(identity))
  return wrong.length === 0 ? [] : [`${wrong.length} of its triggers are missing, disabled or out of date`]
}

/** SQLite stores a statement as it was written, except for its first words. */
function sqliteIdentity(statement: string): string {
  return statement.replace(/^create\s+trigger\s+/i, '').replaceAll(/\s+/g, ' ')
}

function sqliteTriggers({ readConnection }: SqliteDatabase): Set<string> {
  const rows = readConnection.all<{ sql: string }>(`select sql from sqlite_schema where type = 'trigger'`)
  return new Set(rows.map(({ sql }) => sqliteIdentity(sql)))
}

/**
 * The body of the function, which PostgreSQL stores as it was written, or the name of a trigger and its event, such as
 * `after update`. PostgreSQL writes the rest of a trigger in its own form.
 */
function postgresIdentity(statement: string): string {
  const body = /\$note\$(.+)\$note\$/s.exec(statement)?.[1]
  if (body !== undefined) return body
  const [, name, event] = /^create trigger "(.+?)" (after \w+(?: of)?) /.exec(statement)!
  return `${name} ${event}`
}

async function postgresTriggers({ reader }: PostgresDatabase, order: CountedOrder): Promise<Set<string>> {
  const { rows } = await sql<{ identity: string }>`
    select tgname || ' ' || lower(substring(pg_get_triggerdef(oid) from ' (AFTER \\w+( OF)?) ')) as identity from pg_trigger
    where tgrelid = to_regclass(${order.table}) and tgenabled in ('O', 'A')
    union all select prosrc from pg_proc where oid = to_regproc(${order.named('note')}) and prosecdef`.execute(
    reader,
  )
  return new Set(rows.map(({ identity }) => identity))
}

/** Moves the recorded changes into their buckets and the total. While there is no bucket, they stay. */
async function fold(tx: Tx, order: CountedOrder, engine: Engine): Promise<void> {
  await runAll(tx, engine === 'postgres' ? [foldOnPostgres(order)] : foldOnSqlite(order))
}

/** One statement, which sees one moment: changes that are committed meanwhile are left for the next round. */
function foldOnPostgres(order: CountedOrder): string {
  const { total, buckets, changes } = order
  return `with gone as (delete from ${changes} where exists (select 1 from ${buckets}) returning *),
      changed as (${changesByBucketSql(order, 'gone')}),
      counted as (update ${total} set size = size + coalesce((select sum(size) from gone), 0))
    update ${buckets} b set size = b.size + c.size from changed c where c.id = b.id`
}

function foldOnSqlite(order: CountedOrder): string[] {
  const { total, buckets, changes } = order
  const bucketsExist = `exists (select 1 from ${buckets})`
  return [
    `update ${buckets} set size = ${buckets}.size + c.size from (${changesByBucketSql(order)}) as c where c.id = ${buckets}.id`,
    `update ${total} set size = size + coalesce((select sum(size) from ${changes}), 0) where ${bucketsExist}`,
    `delete from ${changes} where ${bucketsExist}`,
  ]
}

/**
 * Splits each bucket of twice its size or more, and makes the first buckets of a table. Changes must be folded, and no other
 * transaction may write.
 */
async function splitLargeBuckets(tx: Tx, order: CountedOrder): Promise<void> {
  const { buckets } = order
  const { rows: some } = await sql.raw(`select 1 from ${buckets} limit 1`).execute(tx)
  if (some.length === 0) return runAll(tx, fillCounts(order))
  const { rows: large } = await sql
    .raw<{ id: number }>(`select id from ${buckets} where size >= ${2 * bucketSize} order by id`)
    .execute(tx)
  for (const { id } of large) await splitBucket(tx, order, id)
}

/**
 * Inserts the further buckets of the rows of one bucket, which keeps its first rows. Its key becomes that of its first row: the
 * first bucket also counts the rows before its key, and the further ones may begin there.
 */
async function splitBucket(tx: Tx, order: CountedOrder, id: number): Promise<void> {
  const { table, buckets, columns, keys, descending } = order
  const conditions = await rowsOfBucket(tx, order, id)
  const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
  const first = `select ${columns.map((column, index) => `${column} as ${keys[index]}`).join(', ')} from ${table}${where}
    order by ${orderTerms(columns, descending)} limit 1`
  await runAll(tx, [
    `update ${buckets} set size = ${bucketSize}, ${keys.map((key) => `${key} = f.${key}`).join(', ')}
      from (${first}) as f where ${buckets}.id = ${id}`,
    insertBuckets(order, conditions, true),
  ])
}

/** The conditions on the rows that a bucket counts: the first one has no lower bound, the last one no upper bound. */
async function rowsOfBucket(tx: Tx, order: CountedOrder, id: number): Promise<string[]> {
  const { buckets, columns, keys, descending } = order
  const [before, after] = descending ? ['>', '<'] : ['<', '>']
  const keysOf = (where: string): string => `(select ${keys.join(', ')} from ${buckets} where ${where})`
  const own = keysOf(`id = ${id}`)
  const beyond = (side: string): string => `${tuple(keys)} ${side} ${own}`
  const next = keysOf(`${beyond(after)} order by ${orderTerms(keys, descending)} limit 1`)
  const exists = (side: string): string => `exists (select 1 from ${buckets} where ${beyond(side)})`
  const { rows } = await sql
    .raw<Record<'first' | 'last', number | boolean>>(
      `select not ${exists(before)} as first, not ${exists(after)} as last`,
    )
    .execute(tx)
  const { first, last } = rows[0]!
  return [
    ...(first ? [] : [`${tuple(columns)} ${after}= ${own}`]),
    ...(last ? [] : [`${tuple(columns)} ${before} ${next}`]),
  ]
}

async function runAll(tx: Tx, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(tx)
}
