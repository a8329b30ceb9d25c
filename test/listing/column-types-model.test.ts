// Walks over columns whose order only the database knows: collations, case, enums, padded texts. Every page must be a part of
// the order in which the database sorts all rows that the caller may see, by cursor as by number.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { list } from '../../src/index.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { readLists } from '../../src/listing/declaration.ts'
import type { ListDeclaration } from '../../src/listing/list.ts'
import type { Pages } from '../../src/listing/pages/pages.ts'
import { readQuery, type Query } from '../../src/listing/query.ts'
import { onEachEngine } from '../harness/engines.ts'
import { propertyRun } from '../harness/properties.ts'
import { listDatabase, longestWalk, pagesOf } from './model.ts'

const names = ['local', 'folded', 'padded', 'state', 'fine', 'day', 'at'] as const
type Name = (typeof names)[number]
type Values = Record<Name, string | null> & { id: number; owner: string | null }

const columns: Record<'sqlite' | 'postgres', Record<Name, string>> = {
  postgres: {
    local: 'text collate "en-x-icu"',
    folded: 'citext',
    padded: 'char(3)',
    state: 'state',
    fine: 'boolean',
    day: 'date',
    at: 'timestamp',
  },
  sqlite: {
    local: 'text collate nocase',
    folded: 'text collate rtrim',
    padded: 'text',
    state: 'text',
    fine: 'boolean',
    day: 'text',
    at: 'text',
  },
}
const declared = list({
  path: '/kinds',
  table: 'kinds',
  fields: {
    id: { type: 'integer' },
    local: { type: 'text' },
    folded: { type: 'text' },
    padded: { type: 'text' },
    state: { type: 'enum', values: ['open', 'done', 'Off'] },
    fine: { type: 'boolean' },
    day: { type: 'date' },
    at: { type: 'timestamp' },
    owner: { type: 'text', hidden: true },
  },
  key: 'id',
  sort: [...names],
  order: ['state', '-local'],
  pages: ['cursor', 'offset'],
  filters: { state: 'in', fine: 'flag' },
  where: (caller) => ({ owner: caller.userId ?? null }),
})

const texts = fc.constantFrom(null, '', 'a', 'A', 'ab', 'Ab', 'a-b', 'b', 'é', 'E', 'z', 'Z', '_', 'ß', '😀')
const row: fc.Arbitrary<Values> = fc.record({
  id: fc.integer({ min: 0, max: 60 }),
  local: texts,
  folded: texts,
  padded: fc.constantFrom(null, '', 'a', 'a ', ' a', 'A', 'b'),
  state: fc.constantFrom(null, 'open', 'done', 'Off'),
  fine: fc.constantFrom(null, '0', '1'),
  day: fc.constantFrom(null, '0001-01-01', '2026-01-31', '9999-12-31'),
  at: fc.constantFrom(null, '2026-01-31 08:30:00', '2026-01-31 08:30:00.000137', '2026-01-31 08:30:00.5'),
  owner: fc.constantFrom(null, 'ada', 'bob'),
})
const unique = { selector: ({ id }: Values) => id }
const key = fc.constantFrom<string>(...names, ...names.map((name) => `-${name}`))

interface Case {
  initial: Values[]
  sort: string[]
  filters: Partial<Record<'state' | 'fine', string>>
  owner: string | null
  limit: number
  /** What happens between two pages. */
  later: { remove: number[]; put: Values[] }
}
const cases: fc.Arbitrary<Case> = fc.record({
  initial: fc.uniqueArray(row, { ...unique, maxLength: 30 }),
  sort: fc.array(key, { maxLength: 4 }),
  filters: fc.record(
    { state: fc.constantFrom('open', 'done,Off', 'open,open'), fine: fc.constantFrom('true', 'false') },
    { requiredKeys: [] },
  ),
  owner: fc.constantFrom(null, 'ada', 'bob'),
  limit: fc.integer({ min: 1, max: 5 }),
  later: fc.record({
    remove: fc.array(fc.nat(60), { maxLength: 6 }),
    put: fc.uniqueArray(row, { ...unique, maxLength: 4 }),
  }),
})

onEachEngine('columns whose order is the database’s own', (engine) => {
  let kinds: ListDeclaration
  const opened = listDatabase(engine, async (database) => {
    const of = Object.entries(columns[engine.name]).map(([name, type]) => `"${name}" ${type}`)
    await database.transaction(async (tx) => {
      for (const statement of [
        ...(engine.name === 'postgres'
          ? ['create extension citext', `create type state as enum ('open', 'done', 'Off')`]
          : []),
        `create table kinds (id int not null primary key, owner text, ${of.join(', ')})`,
      ])
        await sql.raw(statement).execute(tx)
    })
    const checked = await checkList(database, readLists({ lists: [declared] })[0]!)
    assert.deepEqual(checked.faults, [])
    kinds = checked.list
  })

  async function change(remove: readonly number[], put: readonly Values[]): Promise<void> {
    const gone = [...remove, ...put.map(({ id }) => id)]
    await opened.database.transaction(async (tx) => {
      if (gone.length > 0) await sql`delete from kinds where id in (${sql.join(gone)})`.execute(tx)
      for (const { id, owner, local, folded, padded, state, fine, day, at } of put)
        await sql`insert into kinds (id, owner, local, folded, padded, state, fine, day, at)
          values (${id}, ${owner}, ${local}, ${folded}, ${padded}, ${state}, ${fine}, ${day}, ${at})`.execute(
          tx,
        )
    })
  }

  /** The ids of all rows of the owner that pass, as the database sorts them without a cursor. */
  async function sorted({ owner, sort, filters }: Case): Promise<number[]> {
    const nameOf = (text: string): string => text.replace('-', '')
    // Of a repeated field, the first one counts.
    const first = (sort.length > 0 ? sort : ['state', '-local']).filter(
      (text, index, all) => all.findIndex((one) => nameOf(one) === nameOf(text)) === index,
    )
    const terms = [...first, first.at(-1)!.startsWith('-') ? '-id' : 'id']
      .map((text) => (text.startsWith('-') ? `"${text.slice(1)}" desc` : `"${text}"`))
      .join(', ')
    const conditions = [
      owner === null ? sql`owner is null` : sql`owner = ${owner}`,
      ...(filters.state === undefined ? [] : [sql`state in (${sql.join(filters.state.split(','))})`]),
      ...(filters.fine === undefined ? [] : [sql`fine = ${filters.fine === 'true' ? '1' : '0'}`]),
    ]
    const { rows } = await sql<{ id: unknown }>`select id from kinds
      where ${sql.join(conditions, sql` and `)} order by ${sql.raw(terms)}`.execute(opened.database.reader)
    return rows.map(({ id }) => Number(id))
  }

  const idsOf = (rows: readonly (readonly unknown[])[]): number[] => rows.map(([id]) => Number(id))

  const readCase = ({ sort, filters, owner, limit }: Case, more: Record<string, string> = {}): Query =>
    readQuery(
      kinds,
      { ...filters, ...(sort.length > 0 && { sort: sort.join(',') }), limit: String(limit), ...more },
      owner === null ? undefined : { kind: 'session', role: 'user', userId: owner },
    )

  /** Walks to the end and back. */
  async function walk(pages: Pages, asked: Case): Promise<Record<'forward' | 'backward', number[]>> {
    const forward: number[][] = []
    let back: string | null = null
    for (let cursor: string | null | undefined; cursor !== null;) {
      assert.ok(forward.length < longestWalk, 'the walk does not end')
      const page = await pages.byCursor.read(readCase(asked, cursor === undefined ? {} : { cursor }))
      forward.push(idsOf(page.rows))
      back = page.previousCursor
      cursor = page.nextCursor
    }
    const backward: number[][] = [forward.at(-1)!]
    while (back !== null) {
      assert.ok(backward.length < longestWalk, 'the walk back does not end')
      const page = await pages.byCursor.read(readCase(asked, { cursor: back }))
      backward.unshift(idsOf(page.rows))
      back = page.previousCursor
    }
    return { forward: forward.flat(), backward: backward.flat() }
  }

  /** A cursor goes on after its row, whatever becomes of that row and of the others. */
  async function goOnAfterChange(pages: Pages, asked: Case, expected: readonly number[]): Promise<void> {
    const { remove, put } = asked.later
    const { rows, nextCursor } = await pages.byCursor.read(readCase(asked))
    if (nextCursor === null) return
    const touched = new Set([...remove, ...put.map(({ id }) => id)])
    await change(remove, put)
    const after = await pages.byCursor.read(readCase(asked, { cursor: nextCursor, limit: '100' }))
    const rest = new Set(idsOf(after.rows))
    for (const id of idsOf(rows)) assert.ok(touched.has(id) || !rest.has(id), `${id} came again`)
    for (const id of expected.slice(asked.limit))
      assert.ok(touched.has(id) || rest.has(id), `${id} was left out`)
    const now = await sorted(asked)
    assert.deepEqual(
      [...rest],
      now.filter((id) => rest.has(id)),
    )
  }

  test('walks forward and back and pages by number are parts of the whole order', async (context) => {
    const pages = pagesOf(opened.database)
    await fc.assert(
      fc.asyncProperty(cases, async (asked) => {
        await opened.database.transaction((tx) => sql`delete from kinds`.execute(tx))
        await change([], asked.initial)
        const expected = await sorted(asked)
        assert.deepEqual(await walk(pages, asked), { forward: expected, backward: expected })
        const { limit } = asked
        const second = await pages.byOffset.read(readCase(asked, { page: '2' }))
        assert.deepEqual(idsOf(second.rows), expected.slice(limit, 2 * limit))
        assert.equal(second.total, expected.length)
        await goOnAfterChange(pages, asked, expected)
      }),
      propertyRun(context),
    )
  })
})
