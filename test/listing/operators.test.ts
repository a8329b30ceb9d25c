// Filters by parts of texts, by what a value is not, and alternatives: each as a plain evaluation of the same rows.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { list } from '../../src/index.ts'
import type { FieldOptions } from '../../src/listing/config.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { onPostgres, postgres } from '../harness/engines.ts'
import { each, onEachEngine } from '../harness/index.ts'
import { readList, walk } from './seed.ts'
import { listService } from './service.ts'

const filters = {
  part: { kind: 'contains', field: 'name' },
  ipart: { kind: 'icontains', field: 'name' },
  begin: { kind: 'iprefix', field: 'name' },
  other: { kind: 'not', field: 'name' },
  without: { kind: 'notIn', field: 'name' },
  unlike: { kind: 'not', field: 'n' },
  outside: { kind: 'notIn', field: 'n' },
  least: { kind: 'atLeast', field: 'n' },
} as const
const things = list({
  path: '/things',
  table: 'things',
  access: 'public',
  fields: { id: { type: 'integer' }, name: { type: 'text' }, n: { type: 'integer' } },
  key: 'id',
  order: ['id'],
  sort: ['name'],
  limit: { max: 1_000 },
  pages: ['cursor', 'offset'],
  filters,
})
const either = list({
  ...things,
  path: '/either',
  or: { text: ['part', 'begin'], number: ['unlike', 'least'] },
})
/** As `things`, with what serves its filters. */
const indexed = list({
  ...things,
  path: '/indexed',
  table: 'indexed',
  filters: {
    part: { kind: 'contains', field: 'name', index: 'indexed_trigrams' },
    ipart: { kind: 'icontains', field: 'name', index: 'indexed_trigrams' },
    begin: filters.begin,
  },
})
const names = [
  'cotton',
  'Cotton',
  'COTTON sock',
  'a_b',
  'a%b',
  'a\\b',
  "it's",
  'say "no"',
  '',
  ' ',
  'x',
  '%',
  '_',
  '\\',
  'été',
  'Straße',
  '😀 smile',
  'a,b',
  'cot',
  'tton',
  '*',
  '[a]',
  '?',
  null,
]
type Row = { id: number; name: string | null; n: number | null }
const rows = names.flatMap((name, index): Row[] => [
  { id: index * 2, name, n: index % 5 },
  { id: index * 2 + 1, name, n: index % 3 === 0 ? null : -index },
])
// Both engines fold these, and SQLite no others.
const lower = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
const passes: Record<keyof typeof filters, (row: Row, text: string) => boolean> = {
  part: ({ name }, text) => text === '' || (name !== null && name.includes(text)),
  ipart: ({ name }, text) => text === '' || (name !== null && lower(name).includes(lower(text))),
  begin: ({ name }, text) => text === '' || (name !== null && lower(name).startsWith(lower(text))),
  other: ({ name }, text) => name !== text,
  without: ({ name }, text) => !text.split(';').includes(name ?? ';'),
  unlike: ({ n }, text) => n !== Number(text),
  outside: ({ n }, text) => n === null || !text.split(';').map(Number).includes(n),
  least: ({ n }, text) => n !== null && n >= Number(text),
}
const texts: Record<keyof typeof filters, readonly string[]> = {
  part: [
    'cot',
    'ott',
    'o',
    '%',
    '_',
    '\\',
    '"',
    "'",
    'a_b',
    '',
    'é',
    '😀',
    '*',
    '[a]',
    '"no"',
    'zzz',
    'on s',
  ],
  ipart: ['COT', 'otT', '%', 'A_B', 'X', '', 'STRA', 'NO"', 'zzz'],
  begin: ['c', 'COTTON', 'a', 'A%', '', '\\', '😀', 'é', 'zzz'],
  other: ['cotton', '', 'zzz', '%'],
  without: ['cotton;x', '', 'zzz', 'a,b;%'],
  unlike: ['1', '-2', '2.5', '99'],
  outside: ['1;2', '-2', '2.5', '2.5;1'],
  least: ['0', '-3'],
}

onEachEngine('operators of filters', (engine) => {
  const opened = listService(engine, [things, either, indexed], async (_database, run) => {
    const literal = (value: string | number | null) =>
      typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
    const values = rows.map(({ id, name, n }) => `(${id}, ${literal(name)}, ${n})`).join(', ')
    for (const table of ['things', 'indexed']) {
      await run(`create table ${table} (id integer primary key, name text, n integer)`)
      await run(`insert into ${table} values ${values}`)
    }
    if (engine.name === 'postgres') {
      await run('create extension if not exists pg_trgm')
      await run('create index indexed_parts on indexed using gin (name gin_trgm_ops)')
      await run('create index indexed_lower on indexed ((lower(name)) collate "C")')
    } else {
      await run(`create virtual table indexed_trigrams using fts5(name, content=indexed, tokenize='trigram')`)
      await run(`insert into indexed_trigrams (indexed_trigrams) values ('rebuild')`)
      await run('create index indexed_lower on indexed (lower(name))')
    }
  })
  const write = (name: string, text: string) =>
    text
      .split(/(?<=;)/)
      .map((one) => `${name}${text.includes(';') ? '[]' : ''}=${encodeURIComponent(one.replace(';', ''))}`)
      .join('&')
  const ids = async (path: string, query: string): Promise<unknown[]> =>
    (await readList(opened.service, `${path}?limit=1000&${query}`)).data.map(({ id }) => id)

  test('each filter is a plain evaluation, with and without an index', async () => {
    for (const name of Object.keys(filters) as (keyof typeof filters)[])
      for (const text of texts[name]) {
        const expected = rows.filter((row) => passes[name](row, text)).map(({ id }) => id)
        const query = text.includes(',') && !text.includes(';') ? `${name}[]=${text}` : write(name, text)
        assert.deepEqual(await ids('/things', query), expected, query)
        if (name in indexed.filters!) assert.deepEqual(await ids('/indexed', query), expected, query)
      }
  })

  test('filters of a group are alternatives; of the others each must hold', async () => {
    const pairs = (Object.keys(filters) as (keyof typeof filters)[]).flatMap((one) =>
      (Object.keys(filters) as (keyof typeof filters)[]).map((other) => [one, other] as const),
    )
    for (const [one, other] of pairs)
      for (const [text, second] of [
        [texts[one][0]!, texts[other][1]!],
        [texts[one][2 % texts[one].length]!, texts[other][0]!],
      ] as const) {
        if (one === other || text === '' || second === '') continue
        const group = [one, other].toSorted().join(' ')
        const isGroup = group === 'begin part' || group === 'least unlike'
        const expected = rows
          .filter((row) => {
            const [first, then] = [passes[one](row, text), passes[other](row, second)]
            return isGroup ? first || then : first && then
          })
          .map(({ id }) => id)
        const query = `${write(one, text)}&${write(other, second)}`
        assert.deepEqual(await ids('/either', query), expected, query)
      }
    // A value that no row has takes only its own alternative away.
    const all = await ids('/either', 'least=0')
    assert.deepEqual(await ids('/either', 'least=0&unlike=2.5'), each(rows, 'id'), 'everything is unlike 2.5')
    assert.ok(all.length < rows.length)
  })

  test('pages of a group go on where they ended, and its cursor is bound to it', async () => {
    const expected = await ids('/either', 'part=cot&begin=a&least=0')
    assert.deepEqual(
      each((await walk(opened.service, '/either?part=cot&begin=a&least=0&limit=2')).flat(), 'id'),
      expected,
    )
    const { pageInfo } = await readList(opened.service, '/either?part=cot&begin=a&limit=2')
    const foreign = await opened.service.fetch(`/either?part=cot&limit=2&cursor=${pageInfo.nextCursor}`)
    assert.equal(foreign.status, 400)
  })

  test('what cannot be read is an error', async () => {
    for (const query of [`part=${'x'.repeat(501)}`, 'ipart=%00', 'unlike=x', 'outside=1,x', 'begin=%00'])
      assert.equal((await opened.service.fetch(`/things?${query}`)).status, 400, query)
  })

  test('an index that serves a part is advised', async () => {
    const { database } = opened.service
    const [plain, served] = await Promise.all(
      [things, indexed].map((one) => checkList(database, readLists({ lists: [one] })[0]!)),
    )
    const advised = plain!.missing.flatMap(({ queries, statement }) =>
      queries.map((query) => [query, statement]),
    )
    for (const [parameter, statement] of [
      ['part', engine.name === 'postgres' ? /using gin \("name" gin_trgm_ops\)/ : /tokenize='trigram'/],
      ['ipart', engine.name === 'postgres' ? /gin_trgm_ops/ : /tokenize='trigram'/],
      [
        'begin',
        engine.name === 'postgres' ? /\(\(lower\("name"\)\) collate "C"\)/ : /\(\(lower\("name"\)\)\)/,
      ],
    ] as const)
      assert.ok(
        advised.some(([query, text]) => query === `${parameter}=…` && statement.test(text!)),
        `${parameter}: ${JSON.stringify(advised)}`,
      )
    assert.deepEqual(
      served!.missing.flatMap(({ queries }) => queries).filter((one) => /part|begin/.test(one)),
      [],
    )
    // The database takes the statements.
    for (const { queries, statement } of plain!.missing)
      if (/begin/.test(queries[0]!) || (engine.name === 'postgres' && /part/.test(queries[0]!)))
        for (const one of statement.replaceAll('concurrently ', '').split(';').filter(Boolean))
          await opened.run(one)
  })
})

const kinds = ['contains', 'icontains', 'prefix', 'iprefix'] as const
const columns = {
  bytes: 'text collate "C"',
  turkish: 'text collate "tr-x-icu"',
  loose: 'text collate any_case',
  folded: 'citext collate "C"',
  padded: 'char(8)',
  short: 'name',
  nested: 'shorter_text',
}
const fields: Record<string, FieldOptions> = {
  id: { type: 'integer' },
  ...Object.fromEntries(Object.keys(columns).map((name) => [name, { type: 'text' as const }])),
}
const typed = list({
  path: '/typed',
  table: 'typed',
  access: 'public',
  fields,
  key: 'id',
  filters: Object.fromEntries(
    Object.keys(columns).flatMap((field) => kinds.map((kind) => [`${field}_${kind}`, { kind, field }])),
  ),
})

describe('parts of texts with other types and collations', onPostgres, () => {
  const values = ['Äpfel', 'ISPARTA', 'İzmir', 'ıspanak', 'a\\b', 'ÉTÉ']
  const opened = listService(postgres!, [typed], async (_database, run) => {
    await run('create extension if not exists citext')
    await run('create domain short_text as varchar(20)', 'create domain shorter_text as short_text')
    await run(`create collation any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`)
    const declared = Object.entries(columns).map(([name, type]) => `${name} ${type}`)
    await run(`create table typed (id int primary key, ${declared.join(', ')})`)
    for (const [id, value] of values.entries())
      await run(`insert into typed values (${id}, ${declared.map(() => `'${value}'`).join(', ')})`)
  })
  const ids = async (filter: string, text: string): Promise<unknown[]> =>
    (await readList(opened.service, `/typed?${filter}=${encodeURIComponent(text)}`)).data.map(({ id }) => id)
  const check = async (): Promise<void> => {
    for (const column of Object.keys(columns))
      for (const kind of kinds)
        for (const [id, value] of values.entries())
          for (const text of [value, value.slice(0, 3)])
            assert.ok((await ids(`${column}_${kind}`, text)).includes(id), `${column}_${kind}=${text}`)
  }

  test('every text finds its own row, with the advised indexes, too, which the database takes', async () => {
    await check()
    const { database } = opened.service
    const missing = async () => (await checkList(database, readLists({ lists: [typed] })[0]!)).missing
    const bare = 'using gin (loose gin_trgm_ops)'
    await opened.run('create extension if not exists pg_trgm', `create index of_no_use on typed ${bare}`)
    assert.ok((await missing()).some(({ queries }) => queries.includes('loose_contains=…')))
    for (const { statement } of await missing())
      for (const one of statement.replaceAll('concurrently ', '').split(';').filter(Boolean))
        await opened.run(one)
    assert.deepEqual(await missing(), [])
    await check()
  })

  test('upper and lower case are those of the collation', async () => {
    for (const kind of ['iprefix', 'icontains']) {
      assert.deepEqual(await ids(`turkish_${kind}`, 'ısp'), [1, 3], kind)
      assert.deepEqual(await ids(`turkish_${kind}`, 'iz'), [2], kind)
      assert.deepEqual(await ids(`loose_${kind}`, 'äPF'), [0], kind)
    }
  })
})

test('invalid groups of filters stop the start', () => {
  const faults = (or: Record<string, string[]>) => {
    try {
      readLists({ lists: [list({ ...things, or })] })
    } catch (error) {
      return (error as Error).message
    }
    return ''
  }
  assert.match(faults({ a: ['part'] }), /`or\.a` must be an array of two or more/)
  assert.match(faults({ a: ['part', 'nosuch'] }), /`or` names nosuch, which is not a filter/)
  assert.match(faults({ a: ['part', 'begin'], b: ['begin', 'least'] }), /`or` names begin twice/)
  assert.equal(faults({ a: ['part', 'begin'] }), '')
})
