// What the start and `postern doctor` say of lists and the tables that they are declared for.
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { list, type ListOptions, type RowAccess } from '../../src/index.ts'
import { checkList, type CheckedList } from '../../src/listing/checking/check.ts'
import { declaredQueries, maxQueries } from '../../src/listing/checking/index-advice.ts'
import { explainList } from '../../src/listing/checking/explain.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { postern } from '../cli/command.ts'
import { each, execute, onEachEngine, started, startTestService } from '../harness/index.ts'
import { isConfigurationError } from '../harness/configuration-error.ts'

const orders: ListOptions = {
  path: '/orders',
  table: 'orders',
  fields: {
    id: { type: 'integer' },
    owner: { type: 'text' },
    total: { type: 'number' },
    placed: { type: 'integer', column: 'placed_at' },
  },
  key: 'id',
  order: ['-placed'],
}
const table = `create table orders (
  id integer primary key, owner text not null, total double precision, placed_at integer not null)`
const bare = `create table bare (id integer, name text)`
const view = `create view big_orders as select * from orders where total > 100`

onEachEngine('lists against their tables', (engine) => {
  const home = started(() => engine.createMigratedDatabase())
  const database = started(() => openDatabase(home.url))
  before(async () => {
    await run(table, bare, view)
  })

  const run = (...statements: string[]) => execute(database, ...statements)
  const check = (options: ListOptions): Promise<CheckedList> =>
    checkList(database, readLists({ lists: [list(options)] })[0]!)

  test('a missing table, a missing column and a wrong type are faults that name the alternatives', async () => {
    const missing = await check({ ...orders, table: 'ordres' })
    assert.deepEqual(missing.faults, ['there is no table or view ordres'])
    const wrong = await check({
      ...orders,
      fields: { ...orders.fields, total: { type: 'uuid' }, note: { type: 'text' } },
      expand: { person: { table: 'people', from: 'owner', fields: { name: { type: 'text' } } } },
    })
    assert.equal(wrong.faults.length, 3, wrong.faults.join('\n'))
    assert.match(wrong.faults[0]!, /^orders\.total is \w+, but the field total of type uuid needs /)
    assert.match(wrong.faults[1]!, /^orders has no column note.*it has id, owner, total, placed_at$/)
    assert.match(wrong.faults[2]!, /^there is no table or view people/)
  })

  test('enum values that the database lacks are faults: a filter by one would fail', async () => {
    // SQLite has no such type.
    if (engine.name === 'sqlite') return
    await run(`create type mood as enum ('glad', 'sad')`)
    await run('create table moods (id int primary key, mood mood not null)')
    const moods = (values: readonly string[]): ListOptions => ({
      path: '/moods',
      table: 'moods',
      fields: { id: { type: 'integer' }, mood: { type: 'enum', values } },
      key: 'id',
    })
    assert.deepEqual((await check(moods(['sad']))).faults, [])
    assert.deepEqual((await check(moods(['sad', 'mad', 'bad']))).faults, [
      'moods.mood has no value mad, bad, which the field mood lists; it has glad, sad',
    ])
  })

  test('a `where` with an unknown field or a promise is a fault', async () => {
    const faults = async (where: () => unknown): Promise<readonly string[]> =>
      (await check({ ...orders, where: where as RowAccess })).faults
    assert.deepEqual(await faults(() => ({ owner: 'ada', ownr: 'ada' })), [
      'there is no field ownr, which `where` uses',
    ])
    // An object without fields lets every row pass: a promise is one.
    for (const answer of [Promise.resolve({ owner: 'ada' }), [], new Map([['owner', 'ada']]), undefined])
      assert.match((await faults(() => answer))[0] ?? '', /^the function `where` must return/)
    for (const answer of [{}, false, Object.assign(Object.create(null) as object, { owner: 'ada' })])
      assert.deepEqual(await faults(() => answer), [])
    // The function may throw for a caller that it does not know, such as the one of this check.
    assert.deepEqual(await faults(() => assert.fail()), [])
  })

  test('a missing text search configuration is a fault', async () => {
    if (engine.name === 'sqlite') return
    const search = (configuration: string): ListOptions => ({
      ...orders,
      filters: { q: { kind: 'search', field: 'owner', configuration } },
    })
    for (const name of ['english', 'English', 'pg_catalog.english'])
      assert.deepEqual((await check(search(name))).faults, [])
    assert.match(
      (await check(search('englsh'))).faults[0] ?? '',
      /^there is no text search configuration englsh/,
    )
  })

  test('rows without a key are told, where SQLite lets a primary key be null', async () => {
    if (engine.name === 'postgres') return
    const options = {
      path: '/keyless',
      table: 'keyless',
      fields: { id: { type: 'text' } },
      key: 'id',
    } as const
    await run('create table keyless (id text primary key)')
    await run(`insert into keyless values ('a')`)
    const { faults, nullKeys } = await check(options)
    assert.deepEqual([faults, nullKeys], [[], undefined])
    await run('insert into keyless values (null)')
    assert.equal((await check(options)).nullKeys, true)
  })

  test('a key that is not unique, or may be null, is a fault with a fix', async () => {
    const { faults } = await check({
      path: '/bare',
      table: 'bare',
      fields: { id: { type: 'integer' } },
      key: 'id',
    })
    assert.match(faults.join('\n'), /is not unique: create unique index "bare_id_key" on "bare" \("id"\);/)
    assert.match(faults.join('\n'), /may be null/)
  })

  test('on SQLite, an index with another collation is neither a key nor an order', async () => {
    if (engine.name !== 'sqlite') return
    for (const statement of [
      'create table folded (k text collate nocase not null, name text not null, id integer primary key, l text collate rtrim)',
      'create unique index folded_key on folded (k collate binary)',
      'create index folded_name on folded (name collate nocase, id)',
      'create view of_folded as select k, name from folded',
      'create table own (k text collate nocase, primary key (k collate binary)) without rowid',
    ])
      await run(statement)
    const keyed = (over: string, key: string): ListOptions => ({
      path: '/folded',
      table: over,
      fields: { [key]: { type: 'text' } },
      key,
    })
    assert.deepEqual((await check(keyed('folded', 'k'))).faults, [
      'folded.k is the key and is not unique: create unique index "folded_k_key" on "folded" ("k");',
    ])
    assert.match((await check(keyed('own', 'k'))).faults.join(), /own\.k is the key and is not unique/)
    await run('create unique index folded_right on folded (k)')
    assert.deepEqual((await check(keyed('folded', 'k'))).faults, [])
    const sorted = {
      ...keyed('folded', 'name'),
      fields: { id: { type: 'integer' }, name: { type: 'text' } },
      key: 'id',
      sort: ['name'],
    } as const
    assert.deepEqual(
      (await check(sorted)).missing.map(({ queries, statement }) => [queries, statement]),
      [[['sort=name'], 'create index "folded_by_name_id" on "folded" ("name", "id");']],
    )
    // Neither SQLite nor the view's statement names the collation of a view's column.
    const { list: ofView } = await check({
      ...keyed('of_folded', 'k'),
      fields: { k: { type: 'text' }, name: { type: 'text' } },
    })
    assert.deepEqual([ofView.fields['k']!.ignoresCase, ofView.fields['name']!.ignoresCase], [true, undefined])
    const kept = { ...keyed('folded', 'k'), pages: ['offset'], keep: true } as const
    assert.deepEqual((await check(kept)).faults, [
      '`keep` needs an order whose collations compare by bytes, and k has another',
    ])
    assert.deepEqual((await check({ ...sorted, sort: [], pages: ['offset'], keep: true })).faults, [])
  })

  test('nullability is read from the table, and assumed for views', async () => {
    const { fields } = (await check(orders)).list
    assert.deepEqual(each(Object.values(fields), 'nullable'), [false, false, true, false])
    const checked = await check({ ...orders, table: 'big_orders' })
    assert.deepEqual([checked.faults, checked.missing], [[], []])
    assert.equal(checked.list.fields['placed']!.nullable, true)
  })

  test('missing indexes are reported as statements, which suffice', async () => {
    const options: ListOptions = {
      ...orders,
      path: '/all-orders',
      access: 'user',
      where: (caller) => ({ owner: caller.userId }),
      sort: ['total', 'placed'],
      filters: { total: 'equals', minTotal: { kind: 'atLeast', field: 'total' } },
    }
    const before = await check(options)
    assert.deepEqual(before.faults, [])
    const how = engine.name === 'postgres' ? 'create index concurrently' : 'create index'
    assert.deepEqual(
      before.missing.map(({ queries, statement }) => queries.concat(statement)),
      [
        [
          '',
          'sort=placed',
          `${how} "orders_by_owner_placed_at_id" on "orders" ("owner", "placed_at" desc, "id" desc);`,
        ],
        [
          'sort=total',
          'total=…&sort=total',
          `${how} "orders_by_owner_total_id" on "orders" ("owner", "total", "id");`,
        ],
        [
          'total=…',
          'total=…&sort=placed',
          `${how} "orders_by_owner_total_placed_at_id" on "orders" ("owner", "total", "placed_at" desc, "id" desc);`,
        ],
      ],
    )
    for (const { statement } of before.missing) await run(statement.replace(' concurrently', ''))
    const after = await check(options)
    assert.deepEqual([after.missing, after.missingForPairs], [[], []])
    for (const { query, steps } of await explainList(database, after.list)) {
      assert.match(steps.join('; '), /orders_by_owner/, query)
      assert.doesNotMatch(steps.join('; '), /SCAN orders|TEMP B-TREE|Seq Scan/, query)
    }
  })

  test('each filter is checked with each sort, and a shared index is advised once', async () => {
    await run(
      `create table visits (id integer primary key, place text not null, person text not null, at integer not null, score integer not null)`,
    )
    const options: ListOptions = {
      path: '/visits',
      table: 'visits',
      fields: {
        id: { type: 'integer' },
        place: { type: 'text' },
        person: { type: 'text' },
        at: { type: 'integer' },
        score: { type: 'integer' },
      },
      key: 'id',
      order: ['-at'],
      sort: ['at', 'score', 'person'],
      filters: {
        id: 'equals',
        place: 'equals',
        person: 'equals',
        sameplace: { kind: 'equals', field: 'place' },
        since: { kind: 'atLeast', field: 'at' },
      },
    }
    const before = await check(options)
    const columns = ({ statement }: { statement: string }): string => / \((.+)\);$/.exec(statement)![1]!
    assert.deepEqual(
      [...before.missing, ...before.missingForPairs].map((one) => [columns(one)].concat(one.queries)),
      [
        // Descending is ascending from its end, and one filter of a column is as good as another.
        ['"at" desc, "id" desc', '', 'sort=at'],
        ['"score", "id"', 'sort=score'],
        ['"person", "id"', 'sort=person', 'person=…&sort=person'],
        ['"place", "at" desc, "id" desc', 'place=…', 'sameplace=…', 'place=…&sort=at', 'sameplace=…&sort=at'],
        ['"person", "at" desc, "id" desc', 'person=…', 'person=…&sort=at'],
        ['"place", "score", "id"', 'place=…&sort=score', 'sameplace=…&sort=score'],
        ['"place", "person", "id"', 'place=…&sort=person', 'sameplace=…&sort=person'],
        ['"person", "score", "id"', 'person=…&sort=score'],
      ],
    )
    assert.equal(before.missingForPairs.length, 3)
    for (const { statement } of [...before.missing, ...before.missingForPairs])
      await run(statement.replace(' concurrently', ''))
    const after = await check(options)
    assert.deepEqual([after.missing, after.missingForPairs], [[], []])
    const explained = await explainList(database, after.list)
    assert.equal(explained.length, (1 + 3) * (1 + 5))
    for (const { query, steps } of explained) {
      assert.ok(steps.length > 0, query)
      if (!/^(since|id)=/.test(query))
        assert.doesNotMatch(steps.join('; '), /SCAN visits|TEMP B-TREE|Seq Scan|Sort$/, query)
    }
  })

  test('two orders of the same columns get indexes of different names', async () => {
    await run(`create table twice (id integer primary key, a integer not null)`)
    const { missing } = await check({
      path: '/twice',
      table: 'twice',
      fields: { id: { type: 'integer' }, a: { type: 'integer' } },
      key: 'id',
      order: ['-a', 'id'],
      sort: ['a'],
    })
    assert.equal(missing.length, 2)
    for (const { statement } of missing) await run(statement.replace(' concurrently', ''))
  })

  test('pairs beyond the maximum are left out and counted', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `c${index}`)
    await run(
      `create table wide (id integer primary key, ${names.map((name) => `${name} integer not null`).join(', ')})`,
    )
    const [wide] = readLists({
      lists: [
        list<string>({
          path: '/wide',
          table: 'wide',
          fields: Object.fromEntries(['id', ...names].map((name) => [name, { type: 'integer' }])),
          key: 'id',
          sort: names,
          filters: Object.fromEntries(names.map((name) => [name, 'equals'])),
        }),
      ],
    })
    const { single, pairs, omitted } = declaredQueries(wide!)
    assert.deepEqual([single.length, pairs.length, omitted], [41, maxQueries - 41, 400 - (maxQueries - 41)])
    assert.equal((await explainList(database, wide!)).length, maxQueries)
  })

  test("an advised index has a unique name without a schema, within PostgreSQL's limit", async () => {
    const long = (end: string): string =>
      `${'a_column_whose_name_is_rather_long_'.repeat(2).slice(0, 58)}${end}`
    await run(`create table long_names (id integer primary key, "${long('1')}" text, "${long('2')}" text)`)
    const { faults, missing } = await check({
      path: '/long',
      table: engine.name === 'postgres' ? 'public.long_names' : 'long_names',
      fields: {
        id: { type: 'integer' },
        one: { type: 'text', column: long('1') },
        two: { type: 'text', column: long('2') },
      },
      key: 'id',
      sort: ['one', 'two'],
      ...(engine.name === 'postgres' && { filters: { q: { kind: 'search', field: 'one' } } }),
    })
    assert.deepEqual(faults, [])
    assert.ok(missing.length >= 2)
    const names = missing.map(({ statement }) => /"(.+?)" on /.exec(statement)![1]!)
    assert.ok(names.every((name) => /^long_names_\w+$/.test(name) && Buffer.byteLength(name) <= 63))
    for (const { statement } of missing) await run(statement.replace(' concurrently', ''))
    await run('drop table long_names')
  })

  test('a search in a table without rowids is a fault on SQLite only', async () => {
    const filters = { q: { kind: 'search', field: 'owner' } } as const
    const { faults } = await check({ ...orders, table: 'big_orders', filters })
    assert.match(faults.join(), engine.name === 'sqlite' ? /big_orders is a view or has no rowid/ : /^$/)
  })

  test('an unreadable list stops the start with all faults in one message', async () => {
    const lists = [
      list({ ...orders, path: '/a', table: 'nowhere' }),
      list<string>({ ...orders, path: '/b', fields: { ...orders.fields, x: { type: 'text' } } }),
      ...['/products', '/users', '/healthz'].map((path) => list({ ...orders, path })),
      ...['users', 'products', 'posts'].map((name) => list({ ...orders, path: `/my-${name}`, name })),
    ]
    await assert.rejects(
      startTestService(engine, { databaseUrl: home.url, config: { listing: { lists } } }),
      (error) => {
        assert.ok(isConfigurationError(error))
        assert.match(error.message, /\/a: there is no table or view nowhere/)
        assert.match(error.message, /\/b: orders has no column x/)
        for (const path of ['/products', '/users', '/healthz'])
          assert.ok(error.message.includes(`${path}: the service has an endpoint with this path`))
        for (const name of ['users', 'products', 'posts'])
          assert.ok(error.message.includes(`/my-${name}: the service has a list with the name ${name}`))
        return true
      },
    )
  })

  test('postern doctor shows the plan of every query, and the index that is missing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'postern-lists-'))
    await run(table.replace('orders', 'sold'))
    try {
      await writeFile(
        join(folder, 'postern.config.ts'),
        `import { defineConfig, list } from 'postern'
         export default defineConfig({ listing: { lists: [
           list({ path: '/orders', table: 'sold', key: 'id', sort: ['total', 'placed'], order: ['id'],
             fields: { id: { type: 'integer' }, owner: { type: 'text' }, total: { type: 'number' },
               placed: { type: 'integer', column: 'placed_at' } },
             filters: { owner: 'equals' }, pages: ['offset'], keep: true }),
           list({ path: '/placed', table: 'sold', key: 'id', order: ['placed'],
             fields: { id: { type: 'integer' }, placed: { type: 'integer', column: 'placed_at' } } }),
           list({ path: '/lost', table: 'lost', key: 'id', fields: { id: { type: 'integer' } } }),
         ] } })`,
      )
      const { stdout, code } = await postern(folder, ['doctor'], { DATABASE_URL: home.url })
      assert.match(stdout, /^✔ list \/orders: default order, owner=…: .*(PRIMARY KEY|sold_pkey)/m)
      // Those that are planned alike are told together.
      for (const query of [
        'sort=total',
        'sort=placed',
        'owner=…',
        'owner=…&sort=total',
        'owner=…&sort=placed',
      ])
        assert.match(stdout, new RegExp(`^✔ list /orders: (.+, )?${query}(, .+)?: .`, 'm'))
      assert.match(
        stdout,
        /^! list \/orders: no index for sort=total: create index .*"sold" \("total", "id"\);$/m,
      )
      assert.match(
        stdout,
        /^! list \/orders: no index for owner=…&sort=placed, which sorts all that passes the filter: create index .*"sold" \("owner", "placed_at", "id"\);$/m,
      )
      assert.match(stdout, /^! list \/placed: no index for its order: the one that \/orders wants$/m)
      assert.match(
        stdout,
        /^! list \/orders: its counts are not maintained yet, .*: postern lists keep \/orders$/m,
      )
      assert.match(stdout, /^✖ list \/lost: there is no table or view lost$/m)
      assert.equal(code, 1)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})
