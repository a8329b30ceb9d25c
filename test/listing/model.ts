// What the tests share that compare walks over a list with a brute-force model.
import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import fc from 'fast-check'
import { Keyring } from '../../src/crypto/keyring.ts'
import type { MaintainedCounts } from '../../src/listing/counts/counts.ts'
import type { ListDeclaration } from '../../src/listing/list.ts'
import { Pages } from '../../src/listing/pages/pages.ts'
import { readQuery, type Parameters } from '../../src/listing/query.ts'
import { createListReader } from '../../src/listing/reader.ts'
import { Cursors } from '../../src/paging/cursor.ts'
import type { Database } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import type { PostsTable, ProductsTable } from '../../src/storage/tables.ts'
import type { Engine, TestDatabase } from '../harness/engines.ts'

export interface ListDatabase {
  home: TestDatabase
  database: Database
}

/** A new database for the tests of one engine, which is prepared before them and dropped after them. */
export function listDatabase(
  engine: Engine,
  prepare?: (database: Database) => Promise<unknown>,
): ListDatabase {
  const opened = {} as ListDatabase
  before(async () => {
    opened.home = await engine.createMigratedDatabase()
    opened.database = await openDatabase(opened.home.url)
    await prepare?.(opened.database)
  })
  after(async () => {
    await opened.database.close()
    await opened.home.drop()
  })
  return opened
}

export function pagesOf(database: Database, counts?: ReadonlyMap<string, MaintainedCounts>): Pages {
  const cursors = new Cursors(new Keyring(['a-master-secret-of-32-bytes-or-more']))
  return new Pages(database.engine, createListReader(database), cursors, counts)
}

/** Steps of a walk after which it does not end. */
export const longestWalk = 200

/** The limits of a walk, used in turn. */
export const limits = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 })

export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

interface Rows {
  products: ProductsTable
  posts: PostsTable
}

/** Rows that are deleted, and rows that are inserted or replaced, between two pages. */
export interface Change<Row> {
  remove: readonly string[]
  put: readonly Row[]
}

export interface ModelWalk<Row> {
  list: ListDeclaration
  parameters: Parameters
  initial: readonly Row[]
  limits: readonly number[]
  changes: readonly Change<Row>[]
  passes: (row: Row) => boolean
  order: (a: Row, b: Row) => number
  /** The values of the row in a page. */
  valuesOf: (row: Row) => unknown[]
}

/** Walks a list by cursor while its rows change, and compares each page with what sorting all rows gives. */
export async function walkAgainstModel<T extends keyof Rows>(
  database: Database,
  table: T,
  { list, parameters, initial, limits, changes, passes, order, valuesOf }: ModelWalk<Rows[T]>,
): Promise<void> {
  const pages = pagesOf(database)
  const rows = new Map(initial.map((row) => [row.id, row]))
  await database.transaction((tx) => tx.deleteFrom(table as 'products').execute())
  await write(database, table, [], initial)
  let last: Rows[T] | undefined
  let cursor: string | null = null
  for (let step = 0; ; step += 1) {
    assert.ok(step < longestWalk, 'the walk does not end')
    const limit = limits[step % limits.length]!
    const query = { ...parameters, limit: String(limit), ...(cursor !== null && { cursor }) }
    const page = await pages.byCursor.read(readQuery(list, query))
    const rest = [...rows.values()]
      .filter((row) => passes(row) && (last === undefined || order(row, last) > 0))
      .toSorted(order)
    assert.deepEqual(page.rows, rest.slice(0, limit).map(valuesOf))
    assert.equal(page.nextCursor !== null, rest.length > limit)
    cursor = page.nextCursor
    if (cursor === null) return
    // A change may also replace or delete the row of the cursor.
    last = rest[limit - 1]
    const { remove, put } = changes[step] ?? { remove: [], put: [] }
    const removed = [...remove, ...put.map(({ id }) => id)]
    for (const id of removed) rows.delete(id)
    for (const row of put) rows.set(row.id, row)
    await write(database, table, removed, put)
  }
}

async function write<T extends keyof Rows>(
  database: Database,
  name: T,
  removed: readonly string[],
  rows: readonly Rows[T][],
): Promise<void> {
  const table = name as 'products'
  await database.transaction(async (tx) => {
    if (removed.length > 0) await tx.deleteFrom(table).where('id', 'in', removed).execute()
    if (rows.length > 0)
      await tx
        .insertInto(table)
        .values(rows as readonly ProductsTable[])
        .execute()
  })
}
