// `postern import` into declared lists: the files that their exports write, and files with faults.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { sql } from 'kysely'
import { list } from '../../src/index.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { importFile } from '../../src/listing/importing/import-file.ts'
import { type ListImportOptions, openListTarget } from '../../src/listing/importing/list-target.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { postern, startPostern, type Ended } from '../cli/command.ts'
import { onEachEngine, temporaryFolder } from '../harness/index.ts'
import { listService } from './service.ts'

const things = {
  path: '/things',
  table: 'things',
  access: 'public',
  fields: {
    id: { type: 'bigint' },
    text: { type: 'text', column: 'a "text"' },
    note: { type: 'text', nullable: true },
    uuid: { type: 'uuid' },
    small: { type: 'integer', nullable: true },
    real: { type: 'real', nullable: true },
    double: { type: 'number', nullable: true },
    exact: { type: 'numeric', nullable: true },
    at: { type: 'timestamp', nullable: true },
    local: { type: 'timestamp', nullable: true },
    made: { type: 'time' },
    since: { type: 'milliseconds', nullable: true },
    day: { type: 'date', nullable: true },
    fine: { type: 'boolean', nullable: true },
    state: { type: 'enum', values: ['new', 'done'] },
    extra: { type: 'json', nullable: true },
    tags: { type: 'json', nullable: true },
  },
  key: 'id',
  filters: { at: { kind: 'atLeast' }, local: { kind: 'atLeast' } },
  exports: true,
} as const

const orders = {
  path: '/orders',
  name: 'shop-orders',
  table: 'orders',
  access: 'public',
  fields: {
    shop: { type: 'text' },
    id: { type: 'integer' },
    email: { type: 'text', nullable: true },
    total: { type: 'number' },
    tax: { type: 'number', nullable: true },
    secret: { type: 'text', nullable: true, hidden: true },
  },
  key: ['shop', 'id'],
  exports: true,
} as const
const view = { ...orders, path: '/seen', name: 'seen', table: 'seen_orders' } as const
const items = {
  path: '/items',
  table: 'items',
  access: 'public',
  fields: { id: { type: 'integer' }, name: { type: 'text', nullable: true } },
  key: 'id',
  pages: ['offset'],
  keep: true,
} as const

const ordersTable = `create table orders (shop varchar(20) not null, id integer not null, email text unique,
  total double precision not null check (total >= 0), tax double precision generated always as (total * 0.2) stored,
  secret text default 'none', primary key (shop, id))`
const tables = {
  sqlite: [
    `create table things (id integer primary key, "a ""text""" text not null, note text, uuid text not null, small integer,
      real real, double real, exact numeric, at text default current_timestamp, local text, made text not null, since integer,
      day text, fine boolean, state text not null, extra text, tags text)`,
  ],
  postgres: [
    `create type state_of_thing as enum ('new', 'done')`,
    `create table things (id bigint generated always as identity primary key, "a ""text""" text not null, note text,
      uuid uuid not null, small smallint, real real, double double precision, exact numeric, at timestamptz, local timestamp,
      made text not null, since bigint, day date, fine boolean, state state_of_thing not null, extra jsonb, tags text[])`,
  ],
}

const texts = [
  'x',
  '',
  '=1+1',
  "'=1+1",
  "''-x",
  '-5',
  "'-5",
  'a;=b',
  "a;'=b",
  '\t=x',
  'a,"b"\r\nc',
  ' y ',
  '\\N',
  'null',
  '5',
]
const jsons = [
  '"5"',
  '5',
  '"text"',
  '"\\"text\\""',
  '{"a": [1.50, 12345678901234567890, null]}',
  '[]',
  '"null"',
  'true',
  '"a;=b"',
  '1e400',
]
const times = {
  at: [
    '2026-01-31 08:30:00+00',
    '2026-01-31 08:30:00.000137+00',
    '0044-03-15 12:00:00+00 BC',
    'infinity',
    '20000-01-01 00:00:00+00',
  ],
  local: ['2026-01-31 08:30:00', '2026-01-31 08:30:00.5'],
}

onEachEngine('postern import LIST', (engine) => {
  const isPostgres = engine.name === 'postgres'
  const folder = temporaryFolder()
  const lists = [list(things), list(orders), list(view), list(items)]
  const opened = listService(engine, lists, [
    ...tables[engine.name],
    ordersTable,
    'create view seen_orders as select * from orders',
    'create table items (id integer primary key, name text)',
  ])
  const { run: execute } = opened
  const rows = async (query: string): Promise<unknown[][]> => {
    const found = await sql.raw<Record<string, unknown>>(query).execute(opened.service.database.reader)
    return found.rows.map((row) => Object.values(row))
  }
  const download = async (path: string): Promise<string> => {
    const response = await opened.service.fetch(path)
    assert.equal(response.status, 200, path)
    return Buffer.from(await response.arrayBuffer()).toString()
  }
  beforeEach(() => execute('delete from things', 'delete from orders', 'delete from items'))

  const usual = { upsert: false, ignoreUnknown: false, null: '' }
  async function load(
    path: string,
    name: string,
    content: string,
    options: Partial<ListImportOptions> = {},
  ): Promise<{ counts: number[]; told: string[] }> {
    const { database } = opened.service
    const file = join(folder, name)
    writeFileSync(file, content)
    const told: string[] = []
    const declared = readLists({ lists }).find((one) => one.path === path)!
    const target = await openListTarget(database, declared, { ...usual, ...options })
    const { inserted, updated, existing, faults } = await importFile({
      database,
      clock: systemClock,
      target,
      file,
      format: name.endsWith('.csv') ? 'csv' : 'ndjson',
      onFault: (line, why) => told.push(`${line}: ${why}`),
      onProgress: () => undefined,
    })
    return { counts: [inserted, updated, existing, faults], told }
  }
  const environment = () => ({ DATABASE_URL: opened.home.url })
  const command = (...args: string[]): Promise<Ended> => {
    const config = `import { defineConfig, list } from 'postern'
export default defineConfig({ listing: { lists: ${JSON.stringify([orders, items])}.map(list) } })`
    writeFileSync(join(folder, 'postern.config.ts'), config)
    return postern(folder, args, environment())
  }
  const lines = (...values: unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('')
  const csv = (...records: string[]): string => ['shop,id,email,total', ...records, ''].join('\r\n')

  test('an export imported into an empty table is exported as the same bytes', async () => {
    const text = (value: string | undefined): string =>
      value === undefined ? 'null' : `'${value.replaceAll("'", "''")}'`
    const values = Array.from({ length: 40 }, (_, index) =>
      [
        String(9_007_199_254_740_993n + BigInt(index)),
        text(texts[index % texts.length]),
        text([...texts, undefined][index % 16]),
        `'00000000-0000-4000-8000-${String(index).padStart(12, '0')}'`,
        ['null', '-3', '32767'][index % 3],
        ['null', '0.1', '16777216', '1e-30'][index % 4],
        ['null', '0.30000000000000004', '1e300', '-5e-324', '123456789.125'][index % 5],
        isPostgres
          ? ['null', "'1.50'", "'12345678901234567890.10'", "'NaN'", "'-0.001'"][index % 5]
          : ['null', '1.5', '9223372036854775807', '-0.001'][index % 4],
        text(
          [
            undefined,
            ...(isPostgres ? times.at : ['2026-01-31 08:30:00', '2026-01-31T08:30:00.000Z', '2026-01-31']),
          ][index % (isPostgres ? 6 : 4)],
        ),
        text([undefined, ...times.local][index % 3]),
        text(['2026-01-31T08:30:00.000000Z', '2026-01-31T08:30:00.000137Z'][index % 2]),
        ['null', '0', '-1', '1767225600123'][index % 4],
        text(
          [undefined, '2026-02-28', ...(isPostgres ? ['infinity', '0044-03-15 BC'] : ['1999-12-31'])][
            index % 3
          ],
        ),
        isPostgres ? ['null', 'true', 'false'][index % 3] : ['null', '1', '0'][index % 3],
        text(['new', 'done'][index % 2]),
        text([undefined, ...jsons][index % 11]),
        isPostgres
          ? text([undefined, '{}', '{a,"b \\"c\\"",NULL}'][index % 3])
          : text([undefined, '[]', '["a",null]'][index % 3]),
      ].join(', '),
    )
    await execute(
      `insert into things ${isPostgres ? 'overriding system value ' : ''}values ${values.map((row) => `(${row})`).join(', ')}`,
    )
    for (const [query, nulls] of [
      ['/things.csv'],
      ['/things.csv?bom=1&null=%5CN', '\\N'],
      ['/things.csv?null=5', '5'],
      ['/things.ndjson'],
    ] as const) {
      const before = await download(query)
      await execute('delete from things')
      const name = query.includes('csv') ? 'a.csv' : 'a.ndjson'
      const done = await load('/things', name, before, nulls === undefined ? {} : { null: nulls })
      assert.deepEqual(done, { counts: [40, 0, 0, 0], told: [] })
      assert.equal(await download(query), before, query)
    }
    if (!isPostgres) return
    await execute(
      `insert into things ("a ""text""", uuid, made, state) values ('', '00000000-0000-4000-8000-000000000000', '', 'new')`,
    )
    const next = await rows('select max(id)::text from things')
    assert.deepEqual(next, [['9007199254741033']], 'the next id follows those that were imported')
  })

  test('each fault is reported with its line, field, value and what is allowed, and good lines are imported', async () => {
    const good = {
      id: '1',
      text: 'x',
      uuid: '00000000-0000-4000-8000-000000000001',
      made: '2026-01-31',
      state: 'new',
    }
    const wrong: [object, RegExp][] = [
      [{ id: '9223372036854775808' }, /id is "9223372036854775808", which is not an integer/],
      [{ id: null }, /id must not be null/],
      [{ id: undefined }, /has no id, which the key/],
      [{ text: 5 }, /text is 5, which is not a text/],
      [{ text: 'a\u0000b' }, /text is "a\\u0000b", which is not a text without the character U\+0000/],
      [{ text: '\ud800' }, /text is "\\ud800"/],
      [{ text: { a: 1 } }, /text is \{"a":1\}/],
      [{ uuid: 'x'.repeat(100_000) }, /uuid is "x{59}…, which is not a UUID$/],
      [{ small: '5' }, /small is "5", which is not an integer/],
      [{ small: 2.5 }, /small is 2.5, which is not an integer/],
      [{ double: '1' }, /double is "1", which is not a number/],
      [{ exact: 'many' }, /exact is "many", which is not a number/],
      [{ made: '2026-01-31T08:30:00' }, /made is "2026-01-31T08:30:00", which is not a time/],
      [{ since: '2026-02-30T00:00:00Z' }, /since is "2026-02-30T00:00:00Z", which is not a time such as/],
      [{ day: '31.1.2026' }, /day is "31.1.2026", which is not a date/],
      [{ fine: 1 }, /fine is 1, which is not `true` or `false`/],
      [{ state: 'odd' }, /state is "odd", which is not one of new, done/],
      [{ more: 1 }, /has "more", which is not a field of the list; its fields are id, text/],
    ]
    const records = wrong.map(([fields], index) => ({ ...good, id: String(index + 2), ...fields }))
    const { counts, told } = await load('/things', 'a.ndjson', lines(good, ...records))
    assert.deepEqual(counts, [1, 0, 0, wrong.length])
    for (const [index, [, pattern]] of wrong.entries()) {
      const line = told[index] ?? ''
      assert.match(line, pattern)
      assert.ok(line.startsWith(`${index + 2}: `), line)
    }
  })

  test('in CSV, quoted text may have line breaks, and an unreadable cell is a fault of its line', async () => {
    const content = csv(
      'a,1,"x\r\n""y"" z",1',
      'a,2,"",2',
      'a,3,,3',
      ',4,,4',
      'a,5,\0,5',
      'a,"6",x',
      'a,1e0,,1',
    )
    const { counts, told } = await load('/orders', 'a.csv', content)
    assert.deepEqual(counts, [3, 0, 1, 3])
    assert.match(told[0]!, /^6: shop must not be null: the empty text is ""$/)
    assert.match(told[1]!, /^7: email is "\\u0000", which is not a text without/)
    assert.match(told[2]!, /^8: has 3 fields instead of 4$/)
    const found = await rows('select id, email from orders order by id')
    assert.deepEqual(found, [
      [1, 'x\r\n"y" z'],
      [2, ''],
      [3, null],
    ])
  })

  test('a dry run reports the first hundred faults, including violated constraints, and writes nothing', async () => {
    await execute(`insert into orders (shop, id, email, total) values ('a', 1, 'one@x', 5)`)
    const records = Array.from({ length: 280 }, (_, index) => {
      const id = index + 1
      if (id === 1) return 'a,1,one@x,1'
      if (id % 7 === 3) return `a,${id},,many`
      if (id % 7 === 4) return `a,${id},,-1`
      if (id % 7 === 5) return `a,${id},one@x,1`
      return `a,${id},"line\r\n${id}",1`
    })
    const before = await rows('select * from orders')
    writeFileSync(join(folder, 'a.csv'), csv(...records))
    const done = await command('import', 'shop-orders', 'a.csv', '--dry-run', '--upsert')
    assert.equal(done.code, 3, done.stderr)
    assert.equal(
      done.stdout,
      'dry run, nothing was written: 160 rows would be imported, 120 bad lines (159 new, 1 updated)\n',
    )
    // A slow run also prints its progress.
    const told = done.stderr.split('\n').filter((line) => /^(?:a\.csv:|…)/.test(line))
    assert.equal(told.length, 101)
    assert.match(told[0]!, /^a\.csv:5: total is "many", which is not a number$/)
    assert.match(told[1]!, /^a\.csv:6: the database rejects the row: .*check/i)
    assert.match(told[2]!, /^a\.csv:7: the database rejects the row: .*unique.*email/i)
    assert.equal(told[100], '… further bad lines are only counted')
    assert.deepEqual(await rows('select * from orders'), before)
    assert.deepEqual(await rows(`select 1 from audit_log where action like 'import.%'`), [])

    const real = await command('import', 'orders', 'a.csv')
    assert.equal(
      real.stdout,
      '159 rows imported, 120 bad lines skipped (159 new, 1 existing left alone)\n',
      real.stderr,
    )
    const audited = await rows(`select action from audit_log where action like 'import.%' order by seq`)
    assert.deepEqual(audited.flat(), ['import.started', 'import.finished'])
  })

  test('an upsert changes only the fields of the file, and finds rows by all key columns', async () => {
    await execute(
      `insert into orders (shop, id, email, total, secret) values ('a', 1, 'one@x', 5, 'kept'), ('b', 1, 'other@x', 6, 'kept')`,
    )
    const file = lines(
      { shop: 'a', id: 1, total: 7 },
      { shop: 'c', id: 1, total: 8, secret: 'new' },
      { id: 1, shop: 'a', email: null, total: 7 },
    )
    assert.deepEqual((await load('/orders', 'a.ndjson', file)).counts, [1, 0, 2, 0])
    assert.deepEqual(await rows(`select email, total from orders where shop = 'a'`), [['one@x', 5]])
    assert.deepEqual((await load('/orders', 'a.ndjson', file, { upsert: true })).counts, [0, 3, 0, 0])
    assert.deepEqual(await rows('select shop, id, email, total, secret from orders order by shop'), [
      ['a', 1, null, 7, 'kept'],
      ['b', 1, 'other@x', 6, 'kept'],
      ['c', 1, null, 8, 'new'],
    ])
  })

  test('an invalid header ends the import before it writes', async () => {
    for (const [header, pattern] of [
      ['shop,id,total,shop', /has the column "shop" twice/],
      ['shop,total', /has no id, which the key of the list needs/],
      ['shop,id,more', /has "more", which is not a field of the list; its fields are shop, id, email, total/],
      ['shop,id,total,tax', /has tax, which the table computes/],
    ] as const)
      await assert.rejects(load('/orders', 'a.csv', `${header}\n1,1,1,1\n`), pattern)
    await assert.rejects(load('/seen', 'a.csv', csv()), /seen_orders is not a table/)
    const content = 'tax,shop,id,total,more\n1,a,1,10,x\n'
    assert.deepEqual((await load('/orders', 'a.csv', content, { ignoreUnknown: true })).counts, [1, 0, 0, 0])
    assert.deepEqual(await rows('select total, tax, secret from orders'), [[10, 2, 'none']])
    writeFileSync(join(folder, 'a.csv'), 'shop,id,id\n')
    const twice = await command('import', 'orders', 'a.csv')
    assert.deepEqual([twice.code, twice.stderr], [1, 'the header of a.csv has the column "id" twice\n'])
    const unknown = await command('import', '/nothing', 'a.csv')
    assert.match(
      unknown.stderr,
      /there is no list \/nothing to import into: use one of users, products, posts, \/orders/,
    )
    assert.equal((await command('import', 'products', 'a.csv', '--upsert')).code, 2)
  })

  test('an interrupted import saves and counts whole batches, and finishes when it runs again', async () => {
    const count = 2_500
    const all = Array.from({ length: count }, (_, index) => lines({ id: index, name: `n${index}` }))
    assert.equal((await command('lists', 'keep', '/items')).code, 0)
    const { child, ended } = startPostern(
      folder,
      ['import', '/items', '-', '--format', 'ndjson'],
      environment(),
    )
    let sent = count / 2
    child.stdin!.on('error', () => 'the command has ended').write(all.slice(0, sent).join(''))
    while (child.exitCode === null && (await rows('select 1 from items limit 1')).length === 0)
      await setTimeout(5)
    child.kill('SIGINT')
    // It ends at the next line.
    for (; child.exitCode === null && sent < count; sent += 1) {
      child.stdin!.write(all[sent]!)
      await setTimeout(5)
    }
    child.stdin!.end()
    const first = await ended
    assert.equal(first.code, 130, first.stderr)
    const [, imported, line] =
      /^(\d+) rows imported \(\d+ new\); interrupted after line (\d+), run it again to import the rest\n$/.exec(
        first.stdout,
      )!
    assert.equal(imported, line)
    assert.equal(Number((await rows('select count(*) as n from items'))[0]![0]), Number(imported))
    assert.ok(Number(imported) < count)
    writeFileSync(join(folder, 'items.ndjson'), all.join(''))
    const second = await command('import', '/items', 'items.ndjson')
    const rest = count - Number(imported)
    assert.equal(second.stdout, `${rest} rows imported (${rest} new, ${imported} existing left alone)\n`)
    assert.match((await command('lists', 'check', '/items')).stdout, /2500 rows, counts are correct/)
  })
})
