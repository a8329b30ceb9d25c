// Totals and deep pages from what triggers note, against a count and a skip of all rows, after any mix of changes.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { before, beforeEach, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { list } from '../../src/index.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { CountsWriter } from '../../src/listing/counts/writer.ts'
import { maintainedCounts, type MaintainedCounts } from '../../src/listing/counts/counts.ts'
import { Keyring } from '../../src/crypto/keyring.ts'
import { Cursors } from '../../src/paging/cursor.ts'
import type { ListDeclaration } from '../../src/listing/list.ts'
import { Pages } from '../../src/listing/pages/pages.ts'
import { readQuery } from '../../src/listing/query.ts'
import { createListReader, type ListReader } from '../../src/listing/standby-reader.ts'
import { users } from '../../src/listing/resources/users.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { each, execute, onEachEngine, started } from '../harness/index.ts'
import { propertyRun } from '../harness/properties.ts'
import { pagesOf } from './model.ts'

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
  filters: { id: 'equals' },
  sort: ['placed', 'id'],
  pages: ['offset'],
  limit: { default: 20, max: 100 },
  keep: true,
})

/** The prefix of all names that the counts of `orders` have. */
const prefix = 'postern_orders_by_placed_at_desc_id_desc'

onEachEngine('maintained counts', (engine) => {
  let declaration: ListDeclaration
  let writer: CountsWriter
  let pages: Pages

  const home = started(() => engine.createMigratedDatabase())
  const database = started(() => openDatabase(home.url))
  before(async () => {
    const id = engine.name === 'sqlite' ? 'integer primary key' : 'bigint primary key'
    await run(`create table orders (id ${id}, placed_at integer not null, note text)`)
    await fill(1, 3_300)
    const missing = await checkList(database, readLists({ lists: [orders] })[0]!)
    assert.equal(missing.list.maintainCounts, false)
    assert.equal(missing.createCounts, 'postern lists keep /orders')
    writer = new CountsWriter(database, missing.list)
    await writer.create()
    const checked = await checkList(database, readLists({ lists: [orders] })[0]!)
    assert.deepEqual([checked.faults, checked.list.maintainCounts], [[], true])
    declaration = checked.list
  })
  beforeEach(() => {
    const reader = createListReader(database)
    const counts = [declaration, users].map(
      (list) => [list.name, maintainedCounts(database, reader, list)] as const,
    )
    pages = pagesOf(database, new Map(counts))
  })

  const run = (...statements: string[]) => execute(database, ...statements)

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
    assert.deepEqual(await writer.check(), { total: ids.length, faults: [] })
  }

  const change = fc.oneof(
    fc.record({
      kind: fc.constant('insert'),
      at: fc.integer({ min: 100_000, max: 900_000 }),
      count: fc.constantFrom(1, 10, 2_600),
    }),
    fc.record({ kind: fc.constant('delete'), at: fc.nat(996), count: fc.constantFrom(1, 40, 400) }),
    fc.record({ kind: fc.constant('move'), at: fc.nat(996), count: fc.constantFrom(1, 20) }),
    fc.record({ kind: fc.constantFrom('roll back', 'fold', 'front'), at: fc.nat(996), count: fc.nat(50) }),
  )

  test('the total and every deep page are exact, before and after folding', async (context) => {
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
            else if (kind === 'fold') await writer.foldChanges()
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

  test('folding leaves no changes and no oversized bucket', async () => {
    await fill(2_000_000, 4_100)
    await writer.foldChanges()
    const { rows } = await sql
      .raw<Record<'changes' | 'most', number | string>>(
        `select (select count(*) from ${prefix}_changes) as changes, (select max(size) from ${prefix}_buckets) as most`,
      )
      .execute(database.reader)
    assert.equal(Number(rows[0]!.changes), 0)
    assert.ok(Number(rows[0]!.most) < 2_000)
    await compare([0, 1_500, 4_000])
  })

  test('a row counts as moved also when the statement does not name the column', async () => {
    await writer.foldChanges()
    if (engine.name === 'sqlite') {
      await run('update orders set rowid = 9000000 where id = (select min(id) from orders)')
      const changes = await sql
        .raw<{ size: number }>(`select size from ${prefix}_changes`)
        .execute(database.reader)
      assert.deepEqual(each(changes.rows, 'size'), [-1, 1])
    } else {
      await run(`create function touch() returns trigger language plpgsql as
        $$ begin new.placed_at = 998; return new; end $$`)
      await run('create trigger touch before update on orders for each row execute function touch()')
      await run(`update orders set note = 'touched' where placed_at < 400`)
      await run('drop function touch cascade')
    }
    await compare([0, 1_000, 2_000])
    await writer.foldChanges()
    await compare([0, 1_000, 2_000])
  })

  test('positions are exact after many rows came before the first bucket, which is then split', async () => {
    await run(`insert into orders (id, placed_at)
      with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 3700)
      select 3000000 + n, 1000 + n from numbers`)
    await writer.foldChanges()
    await compare([0, 1_000, 2_000, 3_000, 4_000, 5_000])
    await run('delete from orders where id > 3000000')
    await compare([0, 1_000, 2_000])
  })

  test('an emptied table has total 0 and can be filled again', async () => {
    await run(engine.name === 'postgres' ? 'truncate orders' : 'delete from orders')
    await compare([0, 2_000])
    await fill(1, 3_000)
    await compare([0, 2_000, 2_990])
    await writer.foldChanges()
    await compare([0, 2_000, 2_990])
  })

  test('the check finds wrong counts, and a rebuild corrects them', async () => {
    await run(`update ${prefix}_total set size = size + 1`)
    await run(
      `update ${prefix}_buckets set size = size - 7 where id = (select max(id) from ${prefix}_buckets)`,
    )
    const { faults } = await writer.check()
    assert.equal(faults.length, 2, faults.join())
    await writer.rebuild()
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

  test('two lists of one table may be counted in different orders', async () => {
    const byId = readLists({ lists: [list({ ...orders, path: '/by-id', order: ['id'] })] })[0]!
    const other = (await checkList(database, byId)).list
    assert.equal(other.maintainCounts, false)
    const otherWriter = new CountsWriter(database, other)
    await otherWriter.create()
    assert.equal((await checkList(database, byId)).list.maintainCounts, true)
    await fill(6_000_000, 30)
    await run('delete from orders where id >= 6000000')
    assert.deepEqual((await otherWriter.check()).faults, [])
    await otherWriter.drop()
    assert.equal((await checkList(database, byId)).list.maintainCounts, false)
    await compare([0, 2_000])
  })

  test('a deep page of a query without rows has no total of other rows', async () => {
    await fill(7_000_000, 2_000)
    const page = await pages.byOffset(readQuery(declaration, { id: '-1', page: '80' }))
    assert.deepEqual([page.total, page.rows, page.hasNext], [0, [], false])
    await run('delete from orders where id >= 7000000')
  })

  test('the check finds a trigger that is missing or disabled, and a rebuild creates it again', async () => {
    const breaking =
      engine.name === 'sqlite'
        ? [`drop trigger ${prefix}_deleted`]
        : [
            `alter table orders disable trigger ${prefix}_deleted`,
            `drop trigger ${prefix}_updated on orders`,
            // As earlier versions created it.
            `drop trigger ${prefix}_updated on orders;
              create trigger ${prefix}_updated after update of placed_at, id on orders for each row
              when ((old.placed_at, old.id) is distinct from (new.placed_at, new.id)) execute function ${prefix}_note()`,
            `alter function ${prefix}_note() security invoker`,
          ]
    for (const statement of breaking) {
      await run(statement)
      assert.match(
        (await writer.check()).faults.join(),
        /of its triggers are missing, disabled or out of date/,
      )
      await writer.rebuild()
      assert.deepEqual((await writer.check()).faults, [])
    }
  })

  if (engine.name === 'sqlite')
    test('a replaced row is counted with recursive_triggers, and otherwise found by the check', async () => {
      await run('delete from orders')
      await fill(1, 20)
      for (const recursive of ['on', 'off']) {
        const connection = new DatabaseSync(home.url.slice('sqlite:'.length), { timeout: 5_000 })
        connection.exec(`pragma recursive_triggers = ${recursive}`)
        connection.exec(`insert or replace into orders (id, placed_at) values (7, 4)`)
        connection.close()
        const { total, faults } = await writer.check()
        assert.equal(total, 20)
        assert.equal(
          faults.includes('the maintained total is 21, but the table has 20 rows'),
          recursive === 'off',
          faults.join(),
        )
        assert.equal(faults.length > 0, recursive === 'off', faults.join())
      }
      await writer.rebuild()
      await compare([0])
    })

  test('users are counted from the first one on', async () => {
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
    for (const folded of [false, true]) {
      if (folded) await new CountsWriter(database, users).foldChanges()
      const page = await pages.byOffset(readQuery(users, { page: '120' }))
      assert.equal(page.total, 2_500)
      assert.equal(page.rows[0]![0], 'u02380')
    }
    assert.deepEqual((await new CountsWriter(database, users).check()).faults, [])
  })

  test('dropped counts leave nothing, and can be created again', async () => {
    await writer.drop()
    assert.equal((await checkList(database, readLists({ lists: [orders] })[0]!)).list.maintainCounts, false)
    await run('delete from orders where id = 1')
    await writer.create()
    await compare([0, 2_000])
  })

  test('a deep page of the default order is sought by its bucket, and skips fewer rows than a bucket has', async () => {
    await writer.drop()
    await run('delete from orders')
    await fill(1, 3_300)
    await writer.create()
    const reader = createListReader(database)
    const counts = maintainedCounts(database, reader, declaration)
    const located: number[] = []
    const spied: MaintainedCounts = {
      ...counts,
      locate: (offset) => {
        located.push(offset)
        return counts.locate(offset)
      },
    }
    let last: { sql: string; skip: unknown } | undefined
    const recording: ListReader = {
      read(plan, values, signal) {
        last = { sql: plan.sql, skip: values[plan.slots.at(-1)!] }
        return reader.read(plan, values, signal)
      },
      estimate: reader.estimate.bind(reader),
    }
    const cursors = new Cursors(new Keyring(['a-master-secret-of-32-bytes-or-more']))
    const recorded = new Pages(engine.name, recording, cursors, new Map([[declaration.name, spied]]))
    const read = async (parameters: Record<string, string>): Promise<{ seeks: boolean; skip: number }> => {
      await recorded.byOffset(readQuery(declaration, { limit: '20', ...parameters }))
      return { seeks: /where \("placed_at", "id"\) <= \(/.test(last!.sql), skip: Number(last!.skip) }
    }
    assert.deepEqual(await read({ page: '50' }), { seeks: false, skip: 980 })
    assert.deepEqual(await read({ page: '51' }), { seeks: true, skip: 0 })
    assert.deepEqual(await read({ page: '100' }), { seeks: true, skip: 980 })
    assert.deepEqual(await read({ page: '151' }), { seeks: true, skip: 0 })
    assert.deepEqual(await read({ page: '151', sort: 'id' }), { seeks: false, skip: 3_000 })
    assert.deepEqual(located, [1_000, 1_980, 3_000])
  })
})
