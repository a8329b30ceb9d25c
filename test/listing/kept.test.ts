// Totals and deep pages from what triggers note, against a count and a skip of all rows, after any mix of changes.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, before, beforeEach, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { list } from 'postern'
import { Keyring } from '../../src/crypto/keyring.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { Keeping } from '../../src/listing/kept/keeping.ts'
import { postgresCounts, sqliteCounts, type KeptCounts } from '../../src/listing/kept/kept-counts.ts'
import type { ListDeclaration } from '../../src/listing/list.ts'
import { Pages } from '../../src/listing/page.ts'
import { readQuery } from '../../src/listing/query.ts'
import { users } from '../../src/listing/resources/users.ts'
import { createListReader } from '../../src/listing/store.ts'
import { Cursors } from '../../src/paging/cursor.ts'
import type { Database } from '../../src/storage/database.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine, type TestDatabase } from '../harness/engines.ts'
import { propertyRun } from '../harness/properties.ts'

const orders = list({
  path: '/orders',
  table: 'orders',
  fields: {
    id: { type: 'bigint' },
    placed: { type: 'integer', column: 'placed_at' },
    note: { type: 'text' },
  },
  key: 'id',
  order: ['-placed'],
  sort: ['placed', 'id'],
  pages: ['offset'],
  limit: { default: 20, max: 100 },
  keep: true,
})

/** What the names of all begin with that is kept for the order of `orders`. */
const kept = 'postern_orders_by_placed_at_desc_id_desc'

onEachEngine('kept counts', (engine) => {
  let home: TestDatabase
  let database: Database
  let declaration: ListDeclaration
  let keeping: Keeping
  let pages: Pages

  before(async () => {
    home = await engine.createDatabase()
    database = await openDatabase(home.url)
    await migrate(database)
    const id = engine.name === 'sqlite' ? 'integer primary key' : 'bigint primary key'
    await run(`create table orders (id ${id}, placed_at integer not null, note text, code text, lane text,
      unique (code), unique (lane, note))`)
    await run("create unique index orders_of_note on orders (note) where placed_at = 3 and note <> 'moved'")
    await fill(1, 3_300)
    const missing = await checkList(database, readLists({ lists: [orders] })[0]!)
    assert.equal(missing.list.kept, false)
    assert.equal(missing.keep, 'postern lists keep /orders')
    keeping = new Keeping(database, missing.list)
    await keeping.begin()
    const checked = await checkList(database, readLists({ lists: [orders] })[0]!)
    assert.deepEqual([checked.faults, checked.list.kept], [[], true])
    declaration = checked.list
  })
  beforeEach(() => {
    const reader = createListReader(database)
    const counts = (list: ListDeclaration): KeptCounts =>
      database.engine === 'sqlite' ? sqliteCounts(list, database) : postgresCounts(list, reader)
    const cursors = new Cursors(new Keyring(['a-master-secret-of-32-bytes-or-more']))
    const kept = [declaration, users].map((list) => [list.name, counts(list)] as const)
    pages = new Pages(database.engine, reader, cursors, new Map(kept))
  })
  after(async () => {
    await database.close()
    await home.drop()
  })

  const run = (statement: string) => database.transaction((tx) => sql.raw(statement).execute(tx))

  /** Rows of ids from `first` on, whose times tie and go up and down. */
  async function fill(first: number, count: number): Promise<void> {
    await run(`insert into orders (id, placed_at)
      with recursive numbers (n) as (select ${first} union all select n + 1 from numbers where n < ${first + count - 1})
      select n, (n % 997 * 7919) % 997 from numbers`)
  }

  async function compare(offsets: readonly number[]): Promise<void> {
    const all = await sql
      .raw<{ id: unknown }>('select id from orders order by placed_at desc, id desc')
      .execute(database.reader)
    const ids = all.rows.map(({ id }) => String(id))
    for (const offset of offsets) {
      const page = await pages.byOffset(readQuery(declaration, { page: String(Math.floor(offset / 20) + 1) }))
      const from = (page.page - 1) * 20
      assert.equal(page.total, ids.length)
      assert.deepEqual(
        page.rows.map(([id]) => String(id)),
        ids.slice(from, from + 20),
        `offset ${from} of ${ids.length}`,
      )
      assert.equal(page.hasNext, from + 20 < ids.length)
    }
    assert.deepEqual(await keeping.check(), { total: ids.length, faults: [] })
  }

  const change = fc.oneof(
    fc.record({
      kind: fc.constant('insert'),
      at: fc.integer({ min: 100_000, max: 900_000 }),
      count: fc.constantFrom(1, 10, 2_600),
    }),
    fc.record({ kind: fc.constant('delete'), at: fc.nat(996), count: fc.constantFrom(1, 40, 400) }),
    fc.record({ kind: fc.constant('move'), at: fc.nat(996), count: fc.constantFrom(1, 20) }),
    fc.record({ kind: fc.constantFrom('roll back', 'tidy', 'front'), at: fc.nat(996), count: fc.nat(50) }),
  )

  test('the total and every deep page are exact, whatever was changed, folded in or not', async (context) => {
    const { seed } = propertyRun(context)
    let next = 1_000_000
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { minLength: 1, maxLength: 6 }),
        fc.array(fc.nat(8_000), { minLength: 1, maxLength: 4 }),
        async (changes, offsets) => {
          for (const { kind, at, count } of changes) {
            const some = `placed_at between ${at} and ${at + count}`
            if (kind === 'insert') {
              await fill(next, count)
              next += count
            } else if (kind === 'delete') await run(`delete from orders where ${some}`)
            else if (kind === 'move')
              await run(`update orders set placed_at = 1000 - placed_at, note = 'moved' where ${some}`)
            else if (kind === 'front')
              await run(`insert into orders (id, placed_at) values (${next++}, 5000)`)
            else if (kind === 'tidy') await keeping.tidy()
            else {
              const transaction = database.begin()
              await sql.raw(`delete from orders where ${some}`).execute(transaction.tx)
              await transaction.rollback()
            }
          }
          await compare([0, 999, 1_000, 2_000, ...offsets])
        },
      ),
      { seed, numRuns: 12 },
    )
  })

  test('tidying leaves no changes and no bucket of twice its size', async () => {
    await fill(2_000_000, 4_100)
    await keeping.tidy()
    const { rows } = await sql
      .raw<Record<'changes' | 'most', number | string>>(
        `select (select count(*) from ${kept}_changes) as changes, (select max(size) from ${kept}_buckets) as most`,
      )
      .execute(database.reader)
    assert.equal(Number(rows[0]!.changes), 0)
    assert.ok(Number(rows[0]!.most) < 2_000)
    await compare([0, 1_500, 4_000])
  })

  test('an emptied table is one without rows, and fills again', async () => {
    await run(engine.name === 'postgres' ? 'truncate orders' : 'delete from orders')
    await compare([0, 2_000])
    await fill(1, 3_000)
    await compare([0, 2_000, 2_990])
    await keeping.tidy()
    await compare([0, 2_000, 2_990])
  })

  test('what went wrong is found, and counted anew', async () => {
    await run(`update ${kept}_total set size = size + 1`)
    await run(`update ${kept}_buckets set size = size - 7 where id = (select max(id) from ${kept}_buckets)`)
    const { faults } = await keeping.check()
    assert.equal(faults.length, 2, faults.join())
    await keeping.repair()
    await compare([0, 2_500])
  })

  test('writers of one order do not wait for each other', async () => {
    if (engine.name === 'sqlite') return
    const first = database.begin()
    await sql.raw('insert into orders (id, placed_at) values (5000001, 1)').execute(first.tx)
    await fill(5_000_010, 3)
    await first.commit()
    await compare([0, 2_000])
  })

  test('two lists of one table may be kept in different orders', async () => {
    const byId = readLists({ lists: [list({ ...orders, path: '/by-id', order: ['id'] })] })[0]!
    const other = (await checkList(database, byId)).list
    assert.equal(other.kept, false)
    const otherKeeping = new Keeping(database, other)
    await otherKeeping.begin()
    assert.equal((await checkList(database, byId)).list.kept, true)
    await fill(6_000_000, 30)
    await run('delete from orders where id >= 6000000')
    assert.deepEqual((await otherKeeping.check()).faults, [])
    await otherKeeping.end()
    assert.equal((await checkList(database, byId)).list.kept, false)
    await compare([0, 2_000])
  })

  test('a trigger that is missing or switched off is found, and made again by a repair', async () => {
    const breaking =
      engine.name === 'sqlite'
        ? [`drop trigger ${kept}_deleted`, 'create unique index orders_of_lane on orders (placed_at, lane)']
        : [`alter table orders disable trigger ${kept}_deleted`, `drop trigger ${kept}_updated on orders`]
    for (const statement of breaking) {
      await run(statement)
      assert.match(
        (await keeping.check()).faults.join(),
        /of its triggers are missing, switched off or out of date/,
      )
      await keeping.repair()
      assert.deepEqual((await keeping.check()).faults, [])
    }
  })

  test('rows that SQLite replaces are counted, whatever the writer has set', async (context) => {
    if (engine.name === 'postgres') return
    const small = fc.nat(5)
    const row = fc.record({ id: fc.nat(12), at: fc.nat(3), note: small, code: small, lane: small })
    const write = fc.record({ row, how: fc.nat(10), other: fc.nat(12) })
    const text = (value: number): string => (value === 0 ? 'null' : `'v${value}'`)
    await run('delete from orders')
    for (const recursive of ['off', 'on']) {
      const connection = new DatabaseSync(home.url.slice('sqlite:'.length), { timeout: 5_000 })
      connection.exec(`pragma recursive_triggers = ${recursive}`)
      const counted = connection.prepare(
        `select (select count(*) from orders) - (select size + coalesce((select sum(size) from ${kept}_changes), 0) from ${kept}_total) as difference`,
      )
      fc.assert(
        fc.property(fc.array(write, { maxLength: 30 }), (writes) => {
          for (const { row, how, other } of writes) {
            const { id, at, note, code, lane } = row
            const values = `(${id === 0 ? 'null' : id}, ${at}, ${text(note)}, ${text(code)}, ${text(lane)})`
            const more = `(${other + 20}, ${at}, ${text(code)}, ${text(note)}, ${text(lane)})`
            const into = 'into orders (id, placed_at, note, code, lane) values'
            const set = `set id = ${other + 1}, note = ${text(note)}, code = ${text(code)}, placed_at = ${at}`
            const statement = [
              `insert or replace ${into} ${values}`,
              `replace ${into} ${values}, ${more}`,
              `insert or ignore ${into} ${values}, ${more}`,
              `insert ${into} ${values} on conflict do nothing`,
              `insert ${into} ${values} on conflict (id) do update set placed_at = 7, code = excluded.code`,
              `insert or fail ${into} ${more}, ${values}`,
              `update or replace orders ${set} where id = ${id}`,
              `update or replace orders set code = ${text(code)} where id >= ${id}`,
              `update or ignore orders ${set} where id >= ${id}`,
              `delete from orders where id % 3 = ${at}`,
              `update or replace orders set placed_at = 3 where id >= ${id}`,
            ][how]!
            try {
              connection.exec(statement)
            } catch (error) {
              // Where nothing was said of rows in the way, they refuse the change.
              assert.match(String(error), /UNIQUE constraint/)
            }
            assert.equal(counted.get()!['difference'], 0, `${statement}, recursive_triggers ${recursive}`)
          }
        }),
        { ...propertyRun(context), numRuns: 200 },
      )
      connection.close()
      assert.deepEqual((await keeping.check()).faults, [])
    }
  })

  test('users are kept from the first one on', async () => {
    const rows = Array.from({ length: 2_500 }, (_, index) => ({
      id: `u${String(index).padStart(5, '0')}`,
      email: null,
      name: null,
      provider: 'google',
      provider_id: String(index),
      role: 'user' as const,
      blocked_at: null,
      created_at: index,
    }))
    for (let first = 0; first < rows.length; first += 500)
      await database.transaction((tx) =>
        tx
          .insertInto('users')
          .values(rows.slice(first, first + 500))
          .execute(),
      )
    for (const tidy of [false, true]) {
      if (tidy) await new Keeping(database, users).tidy()
      const page = await pages.byOffset(readQuery(users, { page: '120' }))
      assert.equal(page.total, 2_500)
      assert.equal(page.rows[0]![0], 'u02380')
    }
    assert.deepEqual((await new Keeping(database, users).check()).faults, [])
  })

  test('nothing is left of what was kept when it is ended', async () => {
    await keeping.end()
    assert.equal((await checkList(database, readLists({ lists: [orders] })[0]!)).list.kept, false)
    await run('delete from orders where id = 1')
    await keeping.begin()
    await compare([0, 2_000])
  })
})
