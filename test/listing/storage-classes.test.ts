// SQLite stores a value of any type in any column, and a view may have columns without a type. Walks and exports of such rows end
// and give each row once, in SQLite's order: null, numbers, texts, BLOBs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { checkList } from '../../src/listing/checking/check.ts'
import type { List } from '../../src/listing/config.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { Presentation } from '../../src/listing/expansion.ts'
import { exportRows } from '../../src/listing/export.ts'
import { fieldTypes, type FieldType } from '../../src/listing/field-types.ts'
import type { ListDeclaration } from '../../src/listing/list.ts'
import type { Parameters } from '../../src/listing/parameters.ts'
import { readQuery } from '../../src/listing/query.ts'
import { createListReader, type Row } from '../../src/listing/standby-reader.ts'
import { onEachEngine } from '../harness/engines.ts'
import { propertyRun } from '../harness/properties.ts'
import { listDatabase, longestWalk, pagesOf } from './model.ts'

/** Values of each storage class, as SQL. A column converts some of them, as it does for its users. */
const literals = [
  'null',
  ...'0 1 5 -7 10 1700000000000 2.5 0.1+0.2 -0.5 1e19 9e999 -9e999'.split(' '),
  ...[
    '',
    'N/A',
    '1,200',
    '5',
    '10',
    'NaN',
    'Infinity',
    '-Infinity',
    '1e999',
    '"quoted"',
    'true',
    ' ',
    'é😀',
  ].map((text) => `'${text}'`),
  // Texts that look like times of a canonical form and are not.
  ...['2026-01-31T08:30:00.123000Z', '2026-01-31T08:30:00.123Z', '2026-01-31T08:30:00.123456Z', 'x000Z'].map(
    (text) => `'${text}'`,
  ),
  "'2026-01-31'",
  "'2026-01-31 08:30:00'",
  "'0190ab00-0000-4000-8000-0000000000cd'",
  ...`x'' x'35' x'22' x'ff00'`.split(' '),
]
/** A field of the type `integer` cannot show these numbers: its pages fail, as documented. */
const large = new Set(['1e19', '9e999', '-9e999', "'1e999'"])
/** JavaScript's numbers hold none of these integers, so only two types of fields read them. */
const long = ['9007199254740993', '9007199254740992', '-9223372036854775808', '9223372036854775807']

/** A column of each affinity that the type accepts, and one of a view, which has none. */
const columns: [type: FieldType, declared: string][] = [
  ['text', 'text'],
  ['text', ''],
  ['enum', 'text'],
  ['uuid', ''],
  ['integer', 'integer'],
  ['integer', 'numeric'],
  ['bigint', 'bigint'],
  ['bigint', 'numeric'],
  ['number', 'real'],
  ['number', 'integer'],
  ['real', 'numeric'],
  ['numeric', 'numeric'],
  ['numeric', 'real'],
  ['boolean', 'boolean'],
  ['time', 'text'],
  ['time', ''],
  ['milliseconds', 'integer'],
  ['timestamp', 'text'],
  ['date', ''],
]
const ofView: FieldType[] = [
  'text',
  'integer',
  'bigint',
  'number',
  'numeric',
  'time',
  'milliseconds',
  'boolean',
]

const names = [...columns.map((_, index) => `c${index}`), ...ofView.map((_, index) => `v${index}`)]
const typeOf = (name: string): FieldType =>
  name.startsWith('c') ? columns[Number(name.slice(1))]![0] : ofView[Number(name.slice(1))]!

const literalsOf = (type: FieldType): string[] => {
  if (type === 'bigint' || type === 'numeric') return [...literals, ...long]
  return type === 'integer' ? literals.filter((one) => !large.has(one)) : literals
}

const declared: List = {
  path: '/mixed',
  table: 'mixed_view',
  fields: {
    id: { type: 'integer' },
    ...Object.fromEntries(
      names.map((name) => {
        const type = typeOf(name)
        return [name, { type, nullable: true, ...(type === 'enum' && { values: ['a'] }) }]
      }),
    ),
  },
  key: 'id',
  sort: names,
  pages: ['cursor', 'offset'],
}

const keyTypes: [FieldType, string][] = [
  ['text', 'text'],
  ['text', ''],
  ['uuid', 'text'],
  ['integer', 'integer'],
  ['integer', 'numeric'],
  ['bigint', 'bigint'],
  ['bigint', 'numeric'],
]

onEachEngine('rows with values of every storage class', (engine) => {
  if (engine.name !== 'sqlite') return
  const keyed = keyTypes.flatMap(([type], index) =>
    ['', '-'].flatMap((sign): List[] => {
      const common = {
        table: `keyed${index}`,
        fields: { k: { type }, written: { type: 'text' } },
        key: 'k',
        order: [`${sign}k`],
      } as const
      return [
        { ...common, path: `/keyed${index}${sign}`, pages: ['keyset'] },
        { ...common, path: `/cursor${index}${sign}`, pages: ['cursor', 'offset'] },
      ]
    }),
  )
  const lists = new Map<string, ListDeclaration>()
  const opened = listDatabase(engine, async (database) => {
    await database.transaction(async (tx) => {
      const own = columns.map(([, type], index) => `c${index} ${type}`)
      const loose = ofView.map((_, index) => `u${index}`)
      const computed = ofView.map((_, index) => `coalesce(u${index}, null) as v${index}`)
      for (const statement of [
        `create table mixed (id integer primary key, ${[...own, ...loose].join(', ')})`,
        `create view mixed_view as select *, ${computed.join(', ')} from mixed`,
        ...keyTypes.map(
          ([, type], index) => `create table keyed${index} (k ${type} not null unique, written text)`,
        ),
      ])
        await sql.raw(statement).execute(tx)
    })
    for (const declaration of readLists({ lists: [declared, ...keyed] })) {
      const { list, faults } = await checkList(database, declaration)
      assert.deepEqual(faults, [], list.path)
      lists.set(list.path, list)
    }
  })
  const run = (statement: string): Promise<unknown> =>
    opened.database.transaction((tx) => sql.raw(statement).execute(tx))
  const column = async (statement: string): Promise<unknown[]> =>
    (await sql.raw<{ v: unknown }>(statement).execute(opened.database.reader)).rows.map(({ v }) => v)

  /** The values of `shown` in the four ways to read a list. */
  async function readAll(list: ListDeclaration, parameters: Parameters, shown: string, limit: number) {
    const pages = pagesOf(opened.database)
    const pick = (rows: readonly Row[]): unknown[] =>
      rows.map((row) => row[readQuery(list, parameters).columns.indexOf(shown)])
    const forward: unknown[] = []
    const read = (more: Parameters) =>
      pages.byCursor(readQuery(list, { ...parameters, limit: String(limit), ...more }))
    let page = await read({})
    let last = page
    for (let steps = 0; ; steps += 1) {
      assert.ok(steps < longestWalk, 'the walk does not end')
      forward.push(...pick(page.rows))
      last = page
      if (page.nextCursor === null) break
      page = await read({ cursor: page.nextCursor })
    }
    const backward = pick(last.rows)
    for (let steps = 0; last.previousCursor !== null; steps += 1) {
      assert.ok(steps < longestWalk, 'the walk back does not end')
      last = await read({ cursor: last.previousCursor })
      backward.unshift(...pick(last.rows))
    }
    const byNumber: unknown[] = []
    for (let number = 1, hasNext = true; hasNext; number += 1) {
      const query = readQuery(list, { ...parameters, limit: String(limit), page: String(number) })
      const one = await pages.byOffset(query)
      byNumber.push(...pick(one.rows))
      hasNext = one.hasNext
    }
    return { forward, backward, byNumber }
  }

  async function exported(list: ListDeclaration, parameters: Parameters, shown: string, batch: number) {
    const pages = pagesOf(opened.database)
    const rowsAfter = pages.rowsAfter.bind(pages)
    // An export reads batches of 500 rows. Here each has a few, so that it has many seeks.
    pages.rowsAfter = async (query, key, _, signal) => {
      const rows = await rowsAfter(query, key, batch, signal)
      return rows.length < batch
        ? rows
        : Object.assign([...rows], { length: 500 }).fill(rows.at(-1)!, rows.length)
    }
    const presentation = new Presentation('sqlite', createListReader(opened.database))
    const parts = exportRows(
      readQuery(list, parameters),
      'ndjson',
      { pages, presentation },
      new AbortController().signal,
    )
    const found: unknown[] = []
    for await (const text of parts)
      for (const line of text.trimEnd().split('\n')) {
        const value = (JSON.parse(line) as Record<string, unknown>)[shown]
        if (found.at(-1) !== value) found.push(value)
      }
    return found
  }

  test('walks in both directions, pages by number and exports are in the order of SQLite', async (context) => {
    const list = lists.get('/mixed')!
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record(
            Object.fromEntries(names.map((name) => [name, fc.constantFrom(...literalsOf(typeOf(name)))])),
          ),
          {
            minLength: 1,
            maxLength: 24,
          },
        ),
        fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 2 }),
        fc.tuple(fc.boolean(), fc.boolean()),
        fc.constantFrom(1, 3, 7),
        async (rows, sorts, descending, limit) => {
          await run('delete from mixed')
          const tuples = rows.map(
            (row, index) => `(${[String(index), ...names.map((name) => row[name])].join(', ')})`,
          )
          await run(`insert into mixed values ${tuples.join(', ')}`)
          const order = sorts.map((name, index) => ({ name, sign: descending[index] ? '-' : '' }))
          const parameters = { sort: order.map(({ name, sign }) => `${sign}${name}`).join(',') }
          const terms = [...order, { name: 'id', sign: order.at(-1)!.sign }]
            .map(({ name, sign }) => `${name}${sign && ' desc'}`)
            .join(', ')
          const expected = await column(`select id as v from mixed_view order by ${terms}`)
          assert.deepEqual(await readAll(list, parameters, 'id', limit), {
            forward: expected,
            backward: expected,
            byNumber: expected,
          })
          assert.deepEqual(await exported(list, parameters, 'id', limit), expected)
        },
      ),
      propertyRun(context),
    )
  })

  test('so are walks by keys of every storage class', async (context) => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...keyTypes.keys()),
        fc.constantFrom('', '-'),
        fc.constantFrom(1, 3, 7),
        fc.uniqueArray(fc.constantFrom(...literals, ...long), { minLength: 1, maxLength: 40 }),
        async (index, sign, limit, values) => {
          const [type] = keyTypes[index]!
          await run(`delete from keyed${index}`)
          for (const value of values)
            if (value !== 'null' && literalsOf(type).includes(value))
              await run(`insert or ignore into keyed${index} values (${value}, quote(${value}))`)
          const expected = await column(`select written as v from keyed${index} order by k${sign && ' desc'}`)
          const list = lists.get(`/cursor${index}${sign}`)!
          assert.deepEqual(await readAll(list, {}, 'written', limit), {
            forward: expected,
            backward: expected,
            byNumber: expected,
          })
          assert.deepEqual(await exported(list, {}, 'written', limit), expected)
          const pages = pagesOf(opened.database)
          const followed = lists.get(`/keyed${index}${sign}`)!
          const found: unknown[] = []
          let cursor: string | number | null | undefined
          for (let steps = 0; cursor !== null; steps += 1) {
            assert.ok(steps < longestWalk, 'the walk does not end')
            const parameters = {
              limit: String(limit),
              ...(cursor !== undefined && { cursor: String(cursor) }),
            }
            const page = await pages.byKeyset(readQuery(followed, parameters))
            found.push(...page.rows.map((row) => row[1]))
            cursor = page.nextCursor
          }
          assert.deepEqual(found, expected)
        },
      ),
      propertyRun(context),
    )
  })

  test('an expansion by a text in a column of numbers shows no rows of the number 0', async () => {
    await run('create table buyers (id integer primary key, customer bigint, price numeric)')
    await run('create table bought (id integer primary key, customer bigint, price numeric)')
    await run(
      `insert into buyers values (1, 0, 0.5), (2, '', ''), (3, 'N/A', x'35'), (4, 9007199254740993, 2)`,
    )
    await run(
      `insert into bought values (1, 0, 0.5), (2, 'N/A', x'35'), (3, 9007199254740993, 2), (4, 9007199254740992, 2)`,
    )
    const expand = (from: string) =>
      ({
        table: 'bought',
        from,
        key: from,
        fields: { id: { type: 'integer' } },
        many: { order: ['id'] },
      }) as const
    const declaration: List = {
      path: '/buyers',
      table: 'buyers',
      fields: { id: { type: 'integer' }, customer: { type: 'bigint' }, price: { type: 'numeric' } },
      key: 'id',
      expand: { lines: expand('customer'), prices: expand('price') },
    }
    const { list } = await checkList(opened.database, readLists({ lists: [declaration] })[0]!)
    const query = readQuery(list, { fields: 'id', expand: 'lines,prices' })
    const { rows } = await pagesOf(opened.database).byCursor(query)
    const present = await new Presentation('sqlite', createListReader(opened.database)).of(query, rows)
    const found = (...ids: number[]) => ({ data: ids.map((id) => ({ id })), hasMore: false })
    assert.deepEqual(rows.map(present), [
      { id: 1, lines: found(1), prices: found(1) },
      { id: 2, lines: found(), prices: found() },
      { id: 3, lines: found(2), prices: found(2) },
      { id: 4, lines: found(3), prices: found(3, 4) },
    ])
  })

  test('an export whose keys come around again stops with an error', async () => {
    const list = lists.get('/mixed')!
    const pages = pagesOf(opened.database)
    const query = readQuery(list, { fields: 'id' })
    let batches = 0
    // A database that compares by another rule than it sorts by goes around in a circle of batches.
    pages.rowsAfter = async () => {
      batches += 1
      return Array.from({ length: 500 }, () => [(batches % 3) + 1])
    }
    const presentation = new Presentation('sqlite', createListReader(opened.database))
    const rows = exportRows(query, 'ndjson', { pages, presentation }, new AbortController().signal)
    await assert.rejects(async () => {
      for await (const _ of rows) assert.ok(batches < 20, 'the export does not end')
    }, /the export of \/mixed was stopped: its rows came around again/)
  })

  test('every type that has an order is tested', () => {
    const tested = new Set<string>(columns.map(([type]) => type))
    const own = Object.keys(fieldTypes).filter((type) => type !== 'json' && type !== 'timeText')
    assert.deepEqual(
      own.filter((type) => !tested.has(type)),
      [],
    )
  })
})
