// Fields with a collation: it applies to orders and ranges in every walk, but not to equality.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { list } from '../../src/index.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { explainList } from '../../src/listing/checking/explain.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { onEachEngine } from '../harness/engines.ts'
import { allWalks, readList } from './seed.ts'
import { listService } from './service.ts'

const names = [
  'zoo',
  'ähre',
  'Zoo',
  'ahre',
  'a',
  null,
  'A',
  'Öl',
  'öl',
  'ol',
  '',
  'a ',
  'ZOO',
  'b',
  'B',
  null,
]
const rows = names.map((name, id) => ({ id, name }))

/** A comparison for each collation. */
const collations = {
  postgres: {
    'de-x-icu': new Intl.Collator('de').compare,
    // Texts that differ only in case are equal, so the key determines their order.
    any_case: new Intl.Collator('und', { sensitivity: 'accent' }).compare,
    C: (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other)),
  },
  sqlite: {
    nocase: (one: string, other: string) => collations.postgres.C(folded(one), folded(other)),
    rtrim: (one: string, other: string) => collations.postgres.C(one.trimEnd(), other.trimEnd()),
    binary: (one: string, other: string) => collations.postgres.C(one, other),
  },
}
const folded = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())

const listWith = (collation: string) =>
  list({
    path: `/by-${collation}`,
    table: 'people',
    access: 'public',
    fields: {
      id: { type: 'integer' },
      name: { type: 'text', collation },
      upper: { type: 'text', column: 'name', collation, nullable: true },
    },
    key: 'id',
    sort: ['name', { field: 'upper', nulls: 'last' }],
    filters: {
      is: { kind: 'equals', field: 'name' },
      from: { kind: 'atLeast', field: 'name' },
      below: { kind: 'below', field: 'name' },
    },
    pages: ['cursor', 'offset'],
    limit: { max: 100 },
    exports: true,
  })

onEachEngine('collations', (engine) => {
  const known: Record<string, (one: string, other: string) => number> = collations[engine.name]
  const lists = Object.keys(known).map(listWith)
  const opened = listService(engine, lists, async (database, run) => {
    if (engine.name === 'postgres')
      await run(
        `create collation any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`,
      )
    await run('create table people (id integer primary key, name text)')
    await database.transaction(async (tx) => {
      for (const { id, name } of rows) await sql`insert into people values (${id}, ${name})`.execute(tx)
    })
  })

  function sorted(collation: string, descending: boolean, nullsLast: boolean): number[] {
    const compare = (one: string | null, other: string | null): number => {
      if (one === null || other === null)
        return one === other ? 0 : ((one === null) === nullsLast) !== descending ? 1 : -1
      return known[collation]!(one, other)
    }
    const turn = descending ? -1 : 1
    return rows
      .toSorted((one, other) => turn * (compare(one.name, other.name) || one.id - other.id))
      .map(({ id }) => id)
  }

  for (const [index, collation] of Object.keys(known).entries()) {
    const { path } = lists[index]!
    test(`${collation}: every walk is in its order, and ties are in key order`, async () => {
      for (const descending of [false, true])
        for (const field of ['name', 'upper']) {
          const nullsLast = field === 'upper' || (engine.name === 'postgres') !== descending
          const expected = sorted(collation, descending, nullsLast)
          const sort = `sort=${descending ? '-' : ''}${field}`
          for (const [way, ids] of Object.entries(await allWalks(opened.service, path, sort, 3)))
            assert.deepEqual(ids, expected, `${sort}: ${way}`)
        }
    })

    test(`${collation}: ranges follow it, and equality does not`, async () => {
      const found = async (query: string) =>
        (await readList(opened.service, `${path}?limit=100&${query}`)).data.map(({ id }) => id)
      const passing = (pass: (name: string) => boolean) =>
        rows.filter(({ name }) => name !== null && pass(name)).map(({ id }) => id)
      for (const text of ['a', 'A', 'ZOO', 'öl', '']) {
        const value = encodeURIComponent(text)
        assert.deepEqual(
          await found(`is=${value}`),
          passing((name) => name === text),
        )
        const compare = known[collation]!
        assert.deepEqual(
          await found(`from=${value}`),
          passing((name) => compare(name, text) >= 0),
        )
        assert.deepEqual(
          await found(`below=${value}`),
          passing((name) => compare(name, text) < 0),
        )
        // With a filter and a sort by the field, pages match the plain evaluation.
        const below = new Set(passing((name) => compare(name, text) < 0))
        const { forward } = await allWalks(opened.service, path, `sort=name&below=${value}`, 2)
        assert.deepEqual(
          forward,
          sorted(collation, false, true).filter((id) => below.has(id)),
        )
      }
    })

    test(`${collation}: only an index with it serves the order`, async () => {
      const { run } = opened
      const { database } = opened.service
      const declared = readLists({ lists: [lists[index]!] })[0]!
      if (collation !== 'binary') await run('create index if not exists plain on people (name, id)')
      const { missing } = await checkList(database, declared)
      const advised = missing.find(({ queries }) => queries.includes('sort=name'))!
      if (collation !== 'binary') assert.ok(advised.statement.includes(`("name" collate "${collation}"`))
      for (const { statement } of missing) await run(statement.replace('concurrently ', ''))
      const checked = await checkList(database, declared)
      assert.deepEqual(checked.missing, [])
      const explained = await explainList(database, checked.list)
      for (const { query, steps } of explained.filter((one) => one.query.startsWith('sort=')))
        assert.doesNotMatch(steps.join(), /Sort|Seq Scan|SCAN/, `${query}: ${steps.join('; ')}`)
    })
  }

  test('a collation that the database does not have stops the start, as does one of a key or of a number', async () => {
    const { database } = opened.service
    const unknown = readLists({ lists: [listWith('xx-x-icu')] })[0]!
    assert.match((await checkList(database, unknown)).faults.join(), /^there is no collation xx-x-icu: /)
    const faultOf = (fields: object) => {
      try {
        readLists({ lists: [{ ...lists[0]!, fields: { ...lists[0]!.fields, ...fields } }] })
        return ''
      } catch (error) {
        return (error as Error).message
      }
    }
    assert.match(faultOf({ id: { type: 'text', collation: 'C' } }), /key id must not have a `collation`/)
    assert.match(faultOf({ n: { type: 'integer', collation: 'C' } }), /only a text can have/)
    assert.match(faultOf({ n: { type: 'text', collation: 'C" desc' } }), /must be a name such as/)
    const counted = { ...lists[0]!, order: ['name'], keep: true } as never
    const { faults } = await checkList(database, readLists({ lists: [counted] })[0]!)
    assert.match(faults.join(), /`keep` needs an order/)
  })
})
