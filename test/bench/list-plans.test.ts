// A list over a million rows, with the indexes that the check at the start advises: how the database reads the pages of each operator.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { Keyring } from '../../src/crypto/keyring.ts'
import { list } from '../../src/index.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { Presentation } from '../../src/listing/expansion.ts'
import type { ListDeclaration } from '../../src/listing/list.ts'
import { Pages } from '../../src/listing/pages/pages.ts'
import { readQuery } from '../../src/listing/query.ts'
import { createListReader, type ListReader } from '../../src/listing/standby-reader.ts'
import { Cursors } from '../../src/paging/cursor.ts'
import { asAdmin, onEachEngine } from '../harness/engines.ts'
import { listDatabase } from '../listing/model.ts'

const rows = 1_000_000
const declared = list({
  path: '/million',
  table: 'million',
  fields: {
    id: { type: 'integer' },
    name: { type: 'text' },
    state: { type: 'text' },
    n: { type: 'integer' },
    price: { type: 'numeric' },
    doc: { type: 'json' },
    tags: { type: 'json' },
    body: { type: 'text' },
    parent: { type: 'integer' },
  },
  key: 'id',
  sort: ['n', 'name', { field: 'price', nulls: 'last' }],
  pages: ['cursor', 'offset'],
  filters: {
    state: 'equals',
    states: { kind: 'in', field: 'state' },
    unlike: { kind: 'not', field: 'state' },
    without: { kind: 'notIn', field: 'state' },
    least: { kind: 'atLeast', field: 'n' },
    above: { kind: 'above', field: 'n' },
    most: { kind: 'atMost', field: 'n' },
    below: { kind: 'below', field: 'n' },
    begins: { kind: 'prefix', field: 'name' },
    ibegins: { kind: 'iprefix', field: 'name' },
    part: { kind: 'contains', field: 'name', index: 'million_trigrams' },
    ipart: { kind: 'icontains', field: 'name', index: 'million_trigrams' },
    city: { kind: 'equals', field: 'doc', member: 'address.city' },
    cities: { kind: 'in', field: 'doc', member: 'address.city' },
    tag: { kind: 'has', field: 'tags' },
    found: { kind: 'search', field: 'body' },
    free: { kind: 'null', field: 'price' },
  },
  or: { either: ['ibegins', 'state'] },
  expand: {
    upper: { table: 'million', from: 'parent', fields: { name: { type: 'text' } } },
    lower: {
      table: 'million',
      from: 'id',
      key: 'parent',
      fields: { id: { type: 'integer' } },
      many: { order: ['id'] },
    },
  },
})

/** Rows with a name of eight hexadecimal digits. Fifty have the same state, city, tag and word, and one in a thousand has no price. */
const table = {
  sqlite: [
    `create table million (id integer primary key, name text not null, state text not null, n integer not null, price numeric,
      doc text not null, tags text not null, body text not null, parent integer not null)`,
    `with recursive i(i) as (select 1 union all select i + 1 from i where i < ${rows})
      insert into million select i, printf('%08x', (i * 2654435761) % 4294967296), 's' || (i % 20000), (i * 7919) % ${rows},
        case when i % 1000 > 0 then i % 5000 / 10.0 end, json_object('address', json_object('city', 'c' || (i % 20000))),
        json_array('t' || (i % 20000)), 'word' || (i % 20000) || ' row', i / 10 from i`,
    'create virtual table million_trigrams using fts5(name, content=million, content_rowid=id, tokenize=trigram)',
    `insert into million_trigrams (million_trigrams) values ('rebuild')`,
    'create virtual table million_search using fts5(body, content=million, content_rowid=id)',
    `insert into million_search (million_search) values ('rebuild')`,
  ],
  postgres: [
    `create table million (id int primary key, name text collate "C" not null, state text not null, n int not null, price numeric,
      doc jsonb not null, tags text[] not null, body text not null, parent int not null)`,
    `insert into million select i, lpad(to_hex(i * 2654435761 % 4294967296), 8, '0'), 's' || (i % 20000), i * 7919 % ${rows},
        case when i % 1000 > 0 then i % 5000 / 10.0 end, json_build_object('address', json_build_object('city', 'c' || (i % 20000))),
        array['t' || (i % 20000)], 'word' || (i % 20000) || ' row', i / 10 from generate_series(1, ${rows}::bigint) i`,
  ],
}

/** By query: what its plans must show on SQLite and on PostgreSQL. Without SQLite's, it reads the rows in their order there. */
const plans: [query: string, sqlite: RegExp | undefined, postgres: RegExp][] = [
  ['', undefined, /million_pkey/],
  ['unlike=s1', undefined, /million_pkey/],
  ['without=s1,s2', undefined, /million_pkey/],
  ['state=s1', /INDEX million_by_state_id \(state=\?/, /Index Scan using million_by_state_id/],
  ['states=s1,s2', /INDEX million_by_state_id \(state=\?/, /million_by_state_id|million_pkey/],
  ['state=s1&page=3', /INDEX million_by_state_id \(state=\?/, /Scan using million_by_state_id/],
  ['sort=n', /INDEX million_by_n_id/, /Index Scan using million_by_n_id/],
  ['sort=-n', /INDEX million_by_n_id/, /Index Scan Backward using million_by_n_id/],
  ['sort=price', /INDEX million_by_price_id/, /Index Scan using million_by_price_id/],
  ['sort=-price', /INDEX million_by_price_id/, /Index Scan using million_by_price_desc_nulls_last/],
  ['least=999000&sort=n', /INDEX million_by_n_id \(n>\?/, /million_by_n_id.*Index Cond/],
  ['above=999000&sort=n', /INDEX million_by_n_id \(n>\?/, /million_by_n_id.*Index Cond/],
  ['most=1000&sort=-n', /INDEX million_by_n_id \(n<\?/, /million_by_n_id.*Index Cond/],
  ['below=1000&sort=-n', /INDEX million_by_n_id \(n<\?/, /million_by_n_id.*Index Cond/],
  ['below=50', undefined, /million_by_n_id.*Index Cond/],
  ['free=true&sort=price', /INDEX million_by_price_id \(price=\?/, /million_by_price_id.*Index Cond/],
  [
    'begins=abc&sort=name',
    /INDEX million_by_name_id \(name>\? AND name<\?/,
    /million_by_name_id.*Index Cond/,
  ],
  ['begins=abcd', /INDEX million_by_name_id \(name>\? AND name<\?/, /million_by_name_id.*Index Cond/],
  ['ibegins=ABCD', /INDEX million_lower_name \(<expr>>\? AND <expr><\?/, /million_lower_name.*Index Cond/],
  ['part=abcde', /million_trigrams VIRTUAL TABLE INDEX/, /million_trigrams_name.*Index Cond/],
  ['ipart=ABCDE', /million_trigrams VIRTUAL TABLE INDEX/, /million_trigrams_name.*Index Cond/],
  ['city=c1', /INDEX \S*address_city\S* \(<expr>=\?/, /address_city.*Index Cond/],
  ['cities=c1,c2', /INDEX \S*address_city\S* \(<expr>=\?/, /address_city.*Index Cond/],
  ['tag=t1', undefined, /million_elements_tags.*Index Cond/],
  ['found=word1', /million_search VIRTUAL TABLE INDEX/, /million_search_body.*Index Cond/],
  ['ibegins=ABCD&state=s1', /MULTI-INDEX OR/, /BitmapOr/],
  ['expand=upper,lower&limit=3', undefined, /million_by_parent_id.*Index Cond/],
]

onEachEngine('plans of lists over a million rows', (engine) => {
  const opened = listDatabase(engine)
  // The service's own connections would end such statements.
  async function run(statement: string): Promise<void> {
    const { url } = opened.home
    if (engine.name === 'postgres') return asAdmin(url, statement)
    const file = new DatabaseSync(url.slice('sqlite:'.length))
    file.exec(statement)
    file.close()
  }
  let million: ListDeclaration
  before(async () => {
    for (const statement of table[engine.name]) await run(statement)
    const [of] = readLists({ lists: [declared] })
    const { missing, faults } = await checkList(opened.database, of!)
    assert.deepEqual(faults, [])
    for (const { statement } of missing)
      for (const one of statement.split(';').filter((text) => text.trim() !== '')) await run(one)
    if (engine.name === 'postgres') await run('analyze million')
    const checked = await checkList(opened.database, of!)
    assert.deepEqual(checked.missing, [])
    million = checked.list
  })

  /** Explains each statement before it runs it: on PostgreSQL for its values, and as the plan for any values. */
  function explaining(seen: string[]): ListReader {
    const { database } = opened
    const reader = createListReader(database)
    return {
      ...reader,
      async read(plan, values, context) {
        const given = plan.slots.map((slot) => values[slot])
        if (database.engine === 'sqlite') {
          const steps = database.readConnection.all<{ detail: string }>(
            `explain query plan ${plan.sql}`,
            given as never,
          )
          seen.push(steps.map(({ detail }) => detail).join('\n'))
        } else {
          const texts = [`explain (costs off) ${plan.sql}`, `explain (costs off, generic_plan) ${plan.sql}`]
          for (const [index, text] of texts.entries()) {
            const found = await database.pool.query<Record<string, string>>(
              text,
              index === 0 ? given : undefined,
            )
            seen.push(found.rows.map((row) => row['QUERY PLAN']).join('\n'))
          }
        }
        return reader.read(plan, values, context)
      },
    }
  }

  for (const [query, sqlite, postgres] of plans)
    test(query === '' ? 'without parameters' : query, async () => {
      const wanted = engine.name === 'sqlite' ? sqlite : postgres
      const seen: string[] = []
      const reader = explaining(seen)
      const cursors = new Cursors(new Keyring(['a-master-secret-of-32-bytes-or-more']))
      const pages = new Pages(engine.name, reader, cursors)
      const parameters = Object.fromEntries(new URLSearchParams(query))
      const page = await pages.read(readQuery(million, parameters))
      assert.ok(page.rows.length > 0)
      await new Presentation(engine.name, reader).of(page.query, page.rows)
      if (page.style === 'cursor' && page.nextCursor !== null)
        await pages.read(readQuery(million, { ...parameters, cursor: page.nextCursor }))
      const all = seen.join('\n---\n')
      if (wanted) assert.match(all.replaceAll('\n', ' '), wanted, all)
      assert.doesNotMatch(all, /Seq Scan/)
      if (wanted) assert.doesNotMatch(all, /SCAN million(?!\w| USING)/, all)
    })
})
