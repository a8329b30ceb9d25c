// Where rows without a value come: every walk equals a plain sort of the rows, and every page is an index seek.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { list } from '../../src/index.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { explainList } from '../../src/listing/checking/explain.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { readOrder } from '../../src/listing/order.ts'
import { planPage } from '../../src/listing/plan.ts'
import { onEachEngine } from '../harness/engines.ts'
import { readList, walk } from './seed.ts'
import { listService } from './service.ts'

type Item = Record<string, unknown>
type Place = 'first' | 'last' | undefined
const places: Place[] = ['first', 'last', undefined]
const sortBy = (field: 'a' | 'b', nulls: Place) => (nulls ? { field, nulls } : field)
const combinations = places.flatMap((a) => places.map((b) => ({ a, b })))
const pathOf = ({ a, b }: { a: Place; b: Place }) => `/by-${a ?? 'engine'}-${b ?? 'engine'}`
const lists = combinations.map((place) =>
  list({
    path: pathOf(place),
    table: 'spread',
    access: 'public',
    fields: { id: { type: 'integer' }, a: { type: 'integer' }, b: { type: 'text' } },
    key: 'id',
    sort: [sortBy('a', place.a), sortBy('b', place.b), 'id'],
    order: ['-a'],
    pages: ['cursor', 'offset'],
    exports: true,
  }),
)
const rows = Array.from({ length: 23 }, (_, id) => ({
  id,
  a: id % 3 === 0 ? null : (id * 7) % 4,
  b: id % 4 === 1 ? null : String((id * 5) % 3),
}))
const sorts = ['', 'a', '-a', 'b', 'a,b', 'a,-b', '-a,b', '-a,-b', 'b,-a', '-b,-a,-id', 'id']

onEachEngine('the place of nulls', (engine) => {
  const opened = listService(engine, lists, (database) =>
    database.transaction(async (tx) => {
      await sql.raw('create table spread (id integer primary key, a integer, b text)').execute(tx)
      for (const { id, a, b } of rows) await sql`insert into spread values (${id}, ${a}, ${b})`.execute(tx)
    }),
  )
  const byDefault = (descending: boolean): Place =>
    (engine.name === 'postgres') !== descending ? 'last' : 'first'

  function sorted(sort: string, place: { a: Place; b: Place }): number[] {
    const keys = (sort || '-a').split(',').map((text) => ({
      name: text.replace('-', '') as keyof (typeof rows)[number],
      descending: text.startsWith('-'),
    }))
    if (keys.at(-1)!.name !== 'id') keys.push({ name: 'id', descending: keys.at(-1)!.descending })
    const compare = (one: (typeof rows)[number], other: (typeof rows)[number]): number => {
      for (const { name, descending } of keys) {
        const [x, y] = [one[name], other[name]]
        if (x === y) continue
        const nulls = (name === 'id' ? undefined : place[name]) ?? byDefault(descending)
        if (x === null || y === null) return (x === null) === (nulls === 'first') ? -1 : 1
        return x < y !== descending ? -1 : 1
      }
      return 0
    }
    return rows.toSorted(compare).map(({ id }) => id)
  }
  /** From the last row to the first, by cursors of previous pages. */
  async function walkBack(query: string): Promise<Item[]> {
    interface Page {
      data: Item[]
      pageInfo: { nextCursor: string | null; previousCursor: string | null }
    }
    const read = async (more: string) =>
      (await (await opened.service.fetch(`${query}&${more}`)).json()) as Page
    const { pageInfo } = await read('limit=22')
    let page = await read(`limit=22&cursor=${pageInfo.nextCursor}`)
    const found = [...page.data]
    while (page.pageInfo.previousCursor !== null) {
      page = await read(`limit=4&cursor=${page.pageInfo.previousCursor}`)
      found.unshift(...page.data)
    }
    return found
  }
  const idsOf = (items: Item[]) => items.map(({ id }) => id)

  for (const place of combinations)
    test(`a ${place.a ?? 'as the engine'}, b ${place.b ?? 'as the engine'}: by cursor, back, by number, exported`, async () => {
      const path = pathOf(place)
      for (const sort of sorts) {
        const expected = sorted(sort, place)
        for (const limit of [1, 5]) {
          const query = `${path}?limit=${limit}&sort=${sort}`
          assert.deepEqual(idsOf((await walk(opened.service, query)).flat()), expected, query)
        }
        const { data } = await readList(opened.service, `${path}?limit=100&sort=${sort}`)
        assert.deepEqual(idsOf(data), expected)
        assert.deepEqual(idsOf(await walkBack(`${path}?sort=${sort}`)), expected, `${path} back ${sort}`)
        const numbered: unknown[] = []
        for (let number = 1; number <= 5; number += 1)
          numbered.push(
            ...idsOf((await readList(opened.service, `${path}?limit=5&page=${number}&sort=${sort}`)).data),
          )
        assert.deepEqual(numbered, expected, `${path} by number ${sort}`)
        const lines = await (await opened.service.fetch(`${path}.ndjson?sort=${sort}&fields=id`)).text()
        assert.deepEqual(
          lines
            .trim()
            .split('\n')
            .map((line) => (JSON.parse(line) as Item)['id']),
          expected,
        )
      }
    })

  test('the advised indexes serve every order, and no page sorts', async () => {
    const { database } = opened.service
    const declared = readLists({
      lists: [lists.find(({ path }) => path === pathOf({ a: 'last', b: 'first' }))!],
    })[0]!
    const { missing } = await checkList(database, declared)
    for (const { statement } of missing)
      await database.transaction((tx) => sql.raw(statement.replace('concurrently ', '')).execute(tx))
    const checked = await checkList(database, declared)
    assert.deepEqual(checked.missing, [])
    // SQLite merges the few rows of each range, which its plan calls a sort.
    for (const { query, steps } of await explainList(database, checked.list))
      assert.doesNotMatch(steps.join(), /Sort|Seq Scan|SCAN/, `${query}: ${steps.join('; ')}`)
    if (database.engine !== 'sqlite') return
    for (const sort of ['a', '-a', 'b', '-b', 'id']) {
      const order = readOrder(checked.list, sort)
      const plan = planPage({ list: checked.list, filters: [], order, rows: 21, from: 'start' }, 'sqlite')
      const steps = database.readConnection.all<{ detail: string }>(`explain query plan ${plan.sql}`, [])
      const text = steps.map(({ detail }) => detail).join()
      assert.doesNotMatch(text, /TEMP B-TREE/, `${sort}: ${text}`)
    }
  })

  test('a cursor is bound to the place of nulls', async () => {
    const { pageInfo } = await readList(
      opened.service,
      `${pathOf({ a: 'first', b: undefined })}?limit=2&sort=a`,
    )
    const other = pathOf({ a: 'last', b: undefined })
    assert.equal((await opened.service.fetch(`${other}?sort=a&cursor=${pageInfo.nextCursor}`)).status, 400)
  })
})

test('another place of nulls than first and last stops the start', () => {
  const wrong = { ...lists[0]!, sort: [{ field: 'a', nulls: 'middle' }] }
  assert.throws(() => readLists({ lists: [wrong as never] }), /nulls: 'first' or 'last'/)
})
