// A declared list against a model that does the same by brute force: random tables with nulls and ties, random orders of
// mixed directions, filters and limits, walked forward and back, with rows that come and go between the pages.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { list } from '../../src/index.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { presenter } from '../../src/listing/items.ts'
import type { ListDeclaration } from '../../src/listing/list.ts'
import { readQuery } from '../../src/listing/query.ts'
import type { Engine } from '../../src/storage/query-runner.ts'
import { onEachEngine } from '../harness/engines.ts'
import { propertyRun } from '../harness/properties.ts'
import { byBytes, listDatabase, pagesOf } from './model.ts'

const ddl = {
  sqlite: `create table things (
    id integer primary key, a text, b integer, c real not null, n numeric, t text, u text, e real)`,
  postgres: `create table things (
    id bigint primary key, a text collate "C", b bigint, c real not null, n numeric, t timestamptz, u uuid,
    e double precision)`,
}
const declared = list({
  path: '/things',
  strict: false,
  table: 'things',
  fields: {
    id: { type: 'bigint' },
    a: { type: 'text' },
    b: { type: 'bigint' },
    c: { type: 'real' },
    n: { type: 'numeric' },
    t: { type: 'timestamp' },
    u: { type: 'uuid' },
    e: { type: 'number' },
  },
  key: 'id',
  sort: ['id', 'a', 'b', 'c', 'n', 't', 'u', 'e'],
  order: ['a', '-b'],
  filters: {
    a: 'in',
    minB: { kind: 'atLeast', field: 'b' },
    maxC: { kind: 'below', field: 'c' },
    minN: { kind: 'above', field: 'n' },
    since: { kind: 'atLeast', field: 't' },
    u: 'equals',
    begins: { kind: 'prefix', field: 'a' },
    noTime: { kind: 'null', field: 't' },
  },
})

interface Thing {
  id: number
  a: string | null
  b: string | null
  c: number
  n: string | null
  t: string | null
  u: string | null
  e: number | null
}
type Name = keyof Thing

const huge = '9007199254740993'
const day = '2026-01-31'
/** Beyond a double's digits, and the same number as another text: only PostgreSQL keeps these as they are. */
const fine = ['0.1000000000000000000001', '0.10']
const uuids = [
  '00000000-0000-4000-8000-000000000000',
  '0a000000-0000-4000-8000-000000000000',
  'ff000000-0000-4000-8000-000000000000',
]
const thingOn = (engine: Engine): fc.Arbitrary<Thing> =>
  fc.record<Thing>(
    {
      id: fc.integer({ min: 0, max: 60 }),
      a: fc.constantFrom(null, '', 'a', 'ab', 'B', 'é', '\uffee', '😀'),
      b: fc.constantFrom(null, '-5', '0', huge, '9007199254740994'),
      c: fc.constantFrom(0.1, 1 / 3, -0.1, 16_777_216, 0).map(Math.fround),
      n: fc.constantFrom(
        null,
        '-3',
        '0',
        '0.1',
        '0.25',
        '12345678901234567',
        '12345678901234568',
        ...(engine === 'postgres' ? fine : []),
      ),
      t: fc.constantFrom(null, '000000', '000137', '000274').map((micros) => micros && timeAt(micros)),
      u: fc.constantFrom(null, ...uuids),
      e: fc.constantFrom(
        null,
        0.1 + 0.2,
        0.3,
        1e300,
        -5e-324,
        0,
        Infinity,
        -Infinity,
        ...(engine === 'postgres' ? [NaN] : []),
      ),
    },
    { noNullPrototype: true },
  )
const unique = { selector: ({ id }: Thing) => id }
const sortable = ['id', 'a', 'b', 'c', 'n', 't', 'u', 'e']
const sort = fc.array(fc.constantFrom(...sortable, ...sortable.map((name) => `-${name}`)), { maxLength: 4 })
const filters = fc.record(
  {
    a: fc.constantFrom('a', 'a,B,é', 'nothing', ','),
    minB: fc.constantFrom('0', huge, '-7.5', '1e30', '-1e30', 'x'),
    maxC: fc.constantFrom('0.1', '1e300', '-1e300', '0'),
    begins: fc.constantFrom('a', '', '\uffee', '😀', 'é'),
    noTime: fc.constantFrom('true', 'false', 'perhaps'),
    minN: fc.constantFrom('0.1', '12345678901234567', '-3', 'x'),
    since: fc.constantFrom('000000', '000137', '000138'),
    u: fc.constantFrom(uuids[1]!, 'no uuid'),
  },
  { requiredKeys: [] },
)
const stepOn = (thing: fc.Arbitrary<Thing>) =>
  fc.record({
    limit: fc.integer({ min: 1, max: 6 }),
    back: fc.boolean(),
    remove: fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 4 }),
    put: fc.uniqueArray(thing, { ...unique, maxLength: 3 }),
  })
type Filters = Partial<Record<'a' | 'minB' | 'maxC' | 'begins' | 'noTime' | 'minN' | 'since' | 'u', string>>

function passes({ a, b, c, n, t, u }: Thing, filters: Filters): boolean {
  const { a: among, minB, maxC, begins, noTime, minN, since } = filters
  // Where huge ones are meant the texts are read as whole numbers.
  const least =
    minB === undefined || minB === 'x'
      ? undefined
      : minB === huge
        ? BigInt(huge)
        : BigInt(Math.ceil(Number(minB)))
  return (
    (among === undefined || (a !== null && a !== '' && among.split(',').includes(a))) &&
    (least === undefined || (b !== null && BigInt(b) >= least)) &&
    (maxC === undefined || maxC === '1e300' || c < Math.fround(Number(maxC))) &&
    (begins === undefined || begins === '' || (a !== null && a.startsWith(begins))) &&
    (noTime === undefined || noTime === 'perhaps' || (t === null) === (noTime === 'true')) &&
    (minN === undefined || minN === 'x' || (n !== null && decimal(n) > decimal(minN))) &&
    (since === undefined || (t !== null && t >= timeAt(since))) &&
    (filters.u === undefined || u === filters.u)
  )
}

const timeAt = (micros: string): string => `${day} 08:30:00.${micros}+00`

/** As whole numbers of 10^-24. */
function decimal(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(24, '0'))
}

/** NaN is above all on PostgreSQL. */
function byNumber(x: number, y: number): number {
  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y))
  return x === y ? 0 : x < y ? -1 : 1
}

const compare: { [K in Name]: (x: NonNullable<Thing[K]>, y: NonNullable<Thing[K]>) => number } = {
  id: (x, y) => x - y,
  a: byBytes,
  b: (x, y) => Number(BigInt(x) - BigInt(y)),
  c: (x, y) => x - y,
  n: (x, y) => Number(decimal(x) - decimal(y)),
  t: byBytes,
  u: byBytes,
  e: byNumber,
}

/** Nulls are above all values on PostgreSQL and below all on SQLite. */
function modelOrder(sort: readonly string[], nulls: 1 | -1): (x: Thing, y: Thing) => number {
  const names = new Set<string>()
  const asked = (sort.length > 0 ? sort : ['a', '-b']).filter((key) => {
    const name = key.replace(/^-/, '')
    return !names.has(name) && names.add(name)
  })
  const keys = [...asked, asked.at(-1)!.startsWith('-') ? '-id' : 'id']
  return (x, y) => {
    for (const key of keys) {
      const name = key.replace(/^-/, '') as Name
      const [p, q] = [x[name], y[name]]
      const order =
        p === null || q === null
          ? p === q
            ? 0
            : p === null
              ? nulls
              : -nulls
          : (compare[name] as (p: unknown, q: unknown) => number)(p, q)
      if (order !== 0) return key.startsWith('-') ? -order : order
    }
    return 0
  }
}

onEachEngine('a declared list against a brute-force model', (engine) => {
  let things: ListDeclaration
  const thing = thingOn(engine.name)
  const opened = listDatabase(engine, async (database) => {
    await database.transaction((tx) => sql.raw(ddl[engine.name]).execute(tx))
    const checked = await checkList(database, readLists({ lists: [declared] })[0]!)
    assert.deepEqual(checked.faults, [])
    things = checked.list
  })

  async function change(remove: readonly number[], put: readonly Thing[]): Promise<void> {
    const gone = [...remove, ...put.map(({ id }) => id)]
    await opened.database.transaction(async (tx) => {
      if (gone.length > 0) await sql`delete from things where id in (${sql.join(gone)})`.execute(tx)
      for (const { id, a, b, c, n, t, u, e } of put) {
        // SQLite is given the number itself, which no text in an integer column would be told from.
        await sql`insert into things (id, a, b, c, n, t, u, e)
          values (${id}, ${a}, ${b}, ${c}, ${n}, ${t}, ${u}, ${e})`.execute(tx)
      }
    })
  }

  /** The filter takes any time on PostgreSQL, and a text like those in the column on SQLite. */
  const timeFor = (micros: string): string =>
    engine.name === 'postgres' ? `${day}T08:30:00.${micros}Z` : timeAt(micros)

  test('every page of every walk in both directions equals the model', async (context) => {
    const pages = pagesOf(opened.database)
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(thing, { ...unique, maxLength: 40 }),
        sort,
        filters,
        fc.array(stepOn(thing), { minLength: 1, maxLength: 12 }),
        async (initial, sort, filters, steps) => {
          const order = modelOrder(sort, engine.name === 'postgres' ? 1 : -1)
          const table = new Map(initial.map((row) => [row.id, row]))
          await opened.database.transaction((tx) => sql`delete from things`.execute(tx))
          await change([], initial)
          const present = presenter(things.fields)
          let place: { at: Thing | undefined; back: boolean; cursor: string } | undefined
          for (const { limit, back, remove, put } of steps) {
            const page = await pages.byCursor.read(
              readQuery(things, {
                ...filters,
                ...(filters.since && { since: timeFor(filters.since) }),
                ...(sort.length > 0 && { sort: sort.join(',') }),
                limit: String(limit),
                ...(place && { cursor: place.cursor }),
              }),
            )
            const all = [...table.values()].filter((row) => passes(row, filters)).toSorted(order)
            const rest = all.filter((row) => {
              if (!place?.at) return true
              return place.back ? order(row, place.at) < 0 : order(row, place.at) > 0
            })
            const expected: Thing[] = place?.back ? rest.slice(-limit) : rest.slice(0, limit)
            assert.deepEqual(
              page.rows.map((row) => Number(present(row)['id'])),
              expected.map(({ id }) => id),
            )
            for (const [index, row] of page.rows.entries()) {
              const { a, b } = expected[index]!
              const shown = present(row)
              assert.deepEqual([shown['a'], shown['b']], [a, b])
              assert.equal(Math.fround(Number(shown['c'])), expected[index]!.c)
            }
            const more = rest.length > limit
            // A page next to a row leads back, also when its own rows are gone.
            const origin = place?.at !== undefined && all.length > 0
            assert.equal(page.nextCursor !== null, place?.back ? origin : more)
            assert.equal(page.previousCursor !== null, place?.back ? more : origin)
            const next =
              (back ? page.previousCursor : page.nextCursor) ?? page.nextCursor ?? page.previousCursor
            if (next === null) break
            const backward = next === page.previousCursor
            // The row of a cursor is changed and deleted like any other.
            place = { cursor: next, back: backward, at: backward ? expected[0] : expected.at(-1) }
            for (const id of [...remove, ...put.map(({ id }) => id)]) table.delete(id)
            for (const row of put) table.set(row.id, row)
            await change(remove, put)
          }
        },
      ),
      propertyRun(context),
    )
  })
})
