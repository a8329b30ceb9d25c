import { sql } from 'kysely'
import type { Database, Tx } from '../../storage/database.ts'
import type { ListDeclaration } from '../list.ts'
import { own } from '../names.ts'
import {
  beginKeeping,
  bucketSize,
  createTriggers,
  definitionOf,
  dropTriggers,
  endKeeping,
  fill,
  type Definition,
} from './definition.ts'
import { keptOrder, tuple, terms, type KeptOrder } from './kept-order.ts'
import { bucketOf, movedSql } from './kept-counts.ts'
import { faultsOfTriggers } from './check-triggers.ts'

/** A first count of many rows takes its time, in milliseconds. */
const longCount = 30 * 60_000
/** Milliseconds that a tidying may make writers of PostgreSQL wait, at most, until it gives up for this time. */
const lockWait = 100

/** Keeps the counts of one list: begins and ends it, folds noted changes into the buckets, holds both against the rows. */
export class Keeping {
  readonly #database: Database
  readonly #order: KeptOrder
  readonly #list: ListDeclaration

  constructor(database: Database, list: ListDeclaration) {
    this.#database = database
    this.#order = keptOrder(list)
    this.#list = list
  }

  begin(): Promise<void> {
    return this.#all(beginKeeping(this.#definition()))
  }

  end(): Promise<void> {
    return this.#all(endKeeping(this.#definition()))
  }

  /** Makes the triggers and counts anew, whatever was kept. Writers wait for it. */
  repair(): Promise<void> {
    const definition = this.#definition()
    return this.#all([...dropTriggers(definition), ...createTriggers(definition), ...fill(this.#order)], true)
  }

  #definition(): Definition {
    return definitionOf(this.#database, this.#order, this.#list.table)
  }

  /** What is kept, against what is there at the same moment; without faults all is well. Nobody waits for it. */
  async check(): Promise<{ total: number; faults: string[] }> {
    const { table, total, buckets, changes, columns, descending, keys } = this.#order
    const place = `(${bucketOf(this.#order, tuple(columns.map((column) => `t.${column}`)))})`
    const first = `(select id from ${buckets} order by ${terms(keys, descending)} limit 1)`
    const { rows } = await sql
      .raw<Record<'kept' | 'counted' | 'wrong', number | string>>(
        `with ${own('counted')} as (select coalesce(${place}, ${first}) as id, count(*) as size from ${table} t group by 1),
          ${own('moved')} as (${movedSql(this.#order)})
        select (select size + coalesce((select sum(size) from ${changes}), 0) from ${total}) as kept,
          (select count(*) from ${table}) as counted,
          (select count(*) from ${buckets} b left join ${own('counted')} c on c.id = b.id left join ${own('moved')} m on m.id = b.id
            where b.size + coalesce(m.size, 0) <> coalesce(c.size, 0)) as wrong`,
      )
      .execute(this.#database.reader)
    const { kept, counted, wrong } = rows[0]!
    const faults = await faultsOfTriggers(this.#database, this.#definition())
    if (Number(kept) !== Number(counted)) faults.push(`${kept} rows are kept, and ${counted} are there`)
    if (Number(wrong) > 0) faults.push(`${wrong} buckets hold another number of rows than they say`)
    return { total: Number(counted), faults }
  }

  /** Folds changes, and splits buckets that have grown too large. Does nothing when nothing changed. */
  async tidy(): Promise<void> {
    const reader = this.#database.reader
    const changed = await sql.raw(`select 1 from ${this.#order.changes} limit 1`).execute(reader)
    if (changed.rows.length === 0) return
    await this.#inTransaction((tx) => fold(tx, this.#order, this.#database.engine))
    const { buckets, changes } = this.#order
    const { rows } = await sql
      .raw(
        `select 1 as one from ${buckets} where size >= ${2 * bucketSize}
         union all select 1 where not exists (select 1 from ${buckets}) and exists (select 1 from ${changes}) limit 1`,
      )
      .execute(reader)
    if (rows.length === 0) return
    await this.#inTransaction(async (tx) => {
      await this.#keepWritersOut(tx, true)
      await fold(tx, this.#order, this.#database.engine)
      await split(tx, this.#order)
    })
  }

  /** On SQLite the transaction itself does. */
  async #keepWritersOut(tx: Tx, briefly: boolean): Promise<void> {
    if (this.#database.engine === 'sqlite') {
      // The first statement of a transaction takes the right to write.
      await sql.raw(`delete from ${this.#order.changes} where size = 0`).execute(tx)
      return
    }
    if (briefly) await sql.raw(`set local lock_timeout = ${lockWait}`).execute(tx)
    await sql.raw(`lock table ${this.#order.changes} in exclusive mode`).execute(tx)
  }

  #all(statements: readonly string[], alone = false): Promise<void> {
    return this.#inTransaction(async (tx) => {
      if (alone) await this.#keepWritersOut(tx, false)
      for (const statement of statements) await sql.raw(statement).execute(tx)
    })
  }

  #inTransaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#database.transaction(work, { lane: 'work', timeLimit: longCount })
  }
}

/** Changes go into their buckets and into the total. Without a bucket they stay. */
async function fold(tx: Tx, order: KeptOrder, engine: Database['engine']): Promise<void> {
  const { total, buckets, changes } = order
  const there = `exists (select 1 from ${buckets})`
  if (engine === 'postgres') {
    // One statement sees one moment: what is committed meanwhile is left for the next time.
    await sql
      .raw(
        `with gone as (delete from ${changes} where ${there} returning *),
          moved as (${movedSql(order, 'gone')}),
          counted as (update ${total} set size = size + coalesce((select sum(size) from gone), 0))
        update ${buckets} b set size = b.size + m.size from moved m where m.id = b.id`,
      )
      .execute(tx)
    return
  }
  for (const statement of [
    `update ${buckets} set size = ${buckets}.size + m.size from (${movedSql(order)}) as m where m.id = ${buckets}.id`,
    `update ${total} set size = size + coalesce((select sum(size) from ${changes}), 0) where ${there}`,
    `delete from ${changes} where ${there}`,
  ])
    await sql.raw(statement).execute(tx)
}

/** Nobody may write, and all changes must be folded. */
async function split(tx: Tx, order: KeptOrder): Promise<void> {
  const { table, buckets, columns, keys, descending } = order
  const { rows: some } = await sql.raw(`select 1 from ${buckets} limit 1`).execute(tx)
  if (some.length === 0) {
    for (const statement of fill(order)) await sql.raw(statement).execute(tx)
    return
  }
  const large = await sql
    .raw<{ id: number }>(`select id from ${buckets} where size >= ${2 * bucketSize} order by id`)
    .execute(tx)
  for (const { id } of large.rows) {
    const own = `(select ${keys.join(', ')} from ${buckets} where id = ${id})`
    const further = descending ? '<' : '>'
    const next = `(select ${keys.join(', ')} from ${buckets} where ${tuple(keys)} ${further} ${own} order by ${terms(keys, descending)} limit 1)`
    const { rows: behind } = await sql
      .raw(`select 1 from ${buckets} where ${tuple(keys)} ${further} ${own} limit 1`)
      .execute(tx)
    const { rows: before } = await sql
      .raw(`select 1 from ${buckets} where ${tuple(keys)} ${descending ? '>' : '<'} ${own} limit 1`)
      .execute(tx)
    const conditions = [
      ...(before.length > 0 ? [`${tuple(columns)} ${further}= ${own}`] : []),
      ...(behind.length > 0 ? [`${tuple(columns)} ${descending ? '>' : '<'} ${next}`] : []),
    ]
    const where = conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''
    const numbered = `select ${columns.map((column, index) => `${column} as ${keys[index]}`).join(', ')},
      row_number() over (order by ${terms(columns, descending)}) - 1 as n, count(*) over () as rows_there from ${table} ${where}`
    await sql
      .raw(
        `insert into ${buckets} (${keys.join(', ')}, size) select ${keys.join(', ')},
          case when rows_there - n < ${bucketSize} then rows_there - n else ${bucketSize} end
          from (${numbered}) as numbered where n % ${bucketSize} = 0 and n > 0`,
      )
      .execute(tx)
    await sql.raw(`update ${buckets} set size = ${bucketSize} where id = ${id}`).execute(tx)
  }
}
