// GET /{list}/summary: the values of groups, as a plain evaluation of the same rows, and nothing that the list would not show.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import { list } from '../../src/index.ts'
import { readLists } from '../../src/listing/declaration.ts'
import type { List } from '../../src/listing/config.ts'
import { onEachEngine, startTestService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { createTables } from './declared.ts'
import { readList } from './seed.ts'
import { listService } from './service.ts'

const numbers = ['small', 'big', 'exact', 'double'] as const
const dates = ['at', 'ms', 'stamp', 'day'] as const
const sales = list({
  path: '/sales',
  table: 'sales',
  access: 'public',
  fields: {
    id: { type: 'integer' },
    kind: { type: 'text', nullable: true },
    open: { type: 'boolean', nullable: true },
    small: { type: 'integer', nullable: true },
    big: { type: 'bigint', nullable: true },
    exact: { type: 'numeric', nullable: true },
    double: { type: 'number', nullable: true },
    at: { type: 'time', nullable: true },
    ms: { type: 'milliseconds', nullable: true },
    stamp: { type: 'timestamp', nullable: true },
    day: { type: 'date', nullable: true },
    owner: { type: 'text', hidden: true },
  },
  key: 'id',
  limit: { max: 1_000 },
  filters: {
    kind: 'in',
    least: { kind: 'atLeast', field: 'small' },
    owned: { kind: 'equals', field: 'owner' },
  },
  summaries: {
    by: ['kind', 'open', 'small', 'big', ...dates],
    sum: numbers,
    avg: numbers,
    min: [...numbers, ...dates],
    max: [...numbers, ...dates],
  },
})
const { summaries: _, ...unsummarized } = sales
const few = { by: ['kind'], sum: ['small'] } as const
const lists: List[] = [
  sales,
  list({
    ...sales,
    path: '/own',
    access: 'user',
    summaries: few,
    where: (caller) => ({ owner: caller?.userId }),
  }),
  list({ ...sales, path: '/bobs', summaries: few, one: true, where: () => ({ owner: 'bob' }) }),
  list({ ...sales, path: '/lenient', strict: false, summaries: few }),
  list({ ...unsummarized, path: '/without' }),
  list({
    path: '/words',
    table: 'words',
    access: 'public',
    fields: { word: { type: 'text' }, n: { type: 'integer' } },
    key: 'word',
    one: true,
  }),
  list({
    path: '/many',
    table: 'many',
    access: 'public',
    fields: { id: { type: 'integer' }, name: { type: 'text' } },
    key: 'id',
    summaries: { by: ['id', 'name'] },
  }),
  list({
    path: '/large',
    table: 'large',
    access: 'public',
    fields: { id: { type: 'integer' }, x: { type: 'number' } },
    key: 'id',
    summaries: { sum: ['x'], avg: ['x'] },
  }),
  list({
    path: '/slow',
    table: 'slow',
    access: 'public',
    fields: { id: { type: 'integer' } },
    key: 'id',
    summaries: { sum: ['id'] },
  }),
]

interface Sale {
  id: number
  kind: string | null
  open: boolean | null
  small: number | null
  big: string | null
  exact: string | null
  double: number | null
  at: string | null
  ms: number | null
  stamp: string | null
  day: string | null
  owner: string
}
const kinds = [null, '', 'a', 'A', 'é', '😀', "it's", '10', '9', 'a,b']
const days = ['2025-12-31', '2026-01-01', '2026-01-31', '2026-02-28', '2024-02-29']
const from = <T>(values: readonly T[], index: number): T => values[index % values.length]!
const rows = Array.from({ length: 240 }, (_, index): Sale => {
  const day = from(days, index * 3)
  const time = from(['00:00:00.000', '23:59:59.999', '12:30:00.500'], index)
  const moment = index % 11 === 0 ? null : `${day}T${time}`
  return {
    id: index,
    kind: from(kinds, index),
    open: from([true, false, null], index),
    small: from([null, 3, -2, 0, 32_767], index * 7),
    big: from(
      [null, '9223372036854775807', '-9007199254740993', '9223372036854775806', '4294967296'],
      index * 3,
    ),
    exact: from(['0.25', null, '100.5', '-3', '2.5'], index * 7),
    double: from([0.5, null, -1.25, 1e10], index),
    at: moment && `${moment}000Z`,
    ms: moment === null ? null : Date.parse(`${moment}Z`),
    stamp: moment && `${moment.replace('T', ' ')}000+00:00`,
    day: index % 13 === 0 ? null : day,
    owner: from(['ada', 'bob', 'cy'], index),
  }
})
const ddl = {
  sqlite: `create table sales (id integer primary key, kind text collate nocase, open boolean, small integer, big integer,
    exact numeric, double real, at text, ms integer, stamp text, day text, owner text not null)`,
  postgres: `create table sales (id integer primary key, kind text, open boolean, small integer, big bigint,
    exact numeric, double double precision, at text, ms bigint, stamp timestamptz, day date, owner text not null)`,
}
/** A view whose rows never end. */
const slow = {
  sqlite:
    'create view slow as with recursive n (id) as (select 1 union all select id + 1 from n) select id from n',
  postgres: `create view slow as select id from generate_series(1, 3) as n (id) where pg_sleep(60) is not null`,
}

type Group = { by: Record<string, unknown> } & Record<string, unknown>
interface Answer {
  data: Group[]
  hasMore: boolean
}

onEachEngine('summaries of lists', (engine) => {
  const opened = listService(engine, lists, async (database) => {
    const flag = (value: boolean | null) =>
      database.engine === 'sqlite' && value !== null ? Number(value) : value
    const more = [
      'create table words (word text primary key, n integer not null)',
      `insert into words values ('summary', 1), ('other', 2)`,
      'create table large (id integer primary key, x double precision not null)',
      'insert into large values (1, 1e308), (2, 1e308)',
      'create table many (id integer primary key, name text not null)',
      engine.name === 'sqlite'
        ? `with recursive n (i) as (select 0 union all select i + 1 from n where i < 9999) insert into many select i, 'n' || i from n`
        : `insert into many select i, 'n' || i from generate_series(0, 9999) as i`,
      slow[database.engine],
    ]
    await database.transaction(async (tx) => {
      for (const statement of [ddl[database.engine], ...more]) await sql.raw(statement).execute(tx)
      for (const row of rows) {
        const values = Object.values({ ...row, open: flag(row.open) })
        await sql`insert into sales values (${sql.join(values)})`.execute(tx)
      }
    })
  })
  const get = (path: string, init?: RequestInit) => opened.service.fetch(path, init)
  const read = async (path: string): Promise<Answer> => {
    const response = await get(path)
    assert.equal(response.status, 200, `${path}: ${await response.clone().text()}`)
    return (await response.json()) as Answer
  }
  const shownOf = (group: Group) => JSON.stringify(Object.values(group.by))

  /** Groups in memory; `keyOf` returns what `by` shows of a row. */
  function grouped(keyOf: (row: Sale) => unknown, passing: readonly Sale[] = rows): Map<string, Sale[]> {
    return Map.groupBy(passing, (row) => JSON.stringify([keyOf(row)]))
  }

  const keys: Record<string, (row: Sale) => unknown> = {
    kind: ({ kind }) => kind,
    open: ({ open }) => open,
    small: ({ small }) => small,
    big: ({ big }) => big,
  }
  for (const field of dates)
    for (const [unit, length, rest] of [
      ['day', 10, ''],
      ['month', 7, '-01'],
      ['year', 4, '-01-01'],
    ] as const)
      keys[`${field}:${unit}`] = ({ at, day }) => {
        const value = field === 'day' ? day : at
        return value && `${value.slice(0, length)}${rest}`
      }

  for (const [name, keyOf] of Object.entries(keys))
    test(`groups by ${name} with exact sums`, async () => {
      const { data, hasMore } = await read(`/sales/summary?by=${name}&sum=big,exact,small&count=1`)
      const expected = grouped(keyOf)
      assert.equal(hasMore, false)
      assert.deepEqual(data.map(shownOf).toSorted(), [...expected.keys()].toSorted())
      for (const group of data) {
        const members = expected.get(shownOf(group))!
        const total = (values: (string | number | null)[], scale = 1): number | null => {
          const known = values.filter((value) => value !== null)
          return known.length === 0
            ? null
            : known.reduce<number>((sum, one) => sum + Number(one) * scale, 0) / scale
        }
        const bigs = members.flatMap(({ big }) => big ?? [])
        assert.equal(group['count'], members.length)
        const sums = group['sum'] as Record<string, unknown>
        assert.equal(
          sums['big'],
          bigs.length === 0 ? null : String(bigs.reduce((sum, one) => sum + BigInt(one), 0n)),
        )
        assert.equal(sums['small'], total(members.map(({ small }) => small)))
        const exact = total(
          members.map(({ exact }) => exact),
          100,
        )
        assert.ok(sums['exact'] === null ? exact === null : Number(sums['exact']) === exact)
      }
      const values = data.map(({ by }) => by[name])
      if (name.includes(':'))
        assert.deepEqual(
          values.slice(0, -1),
          values.slice(0, -1).toSorted((a, b) => (String(a) < String(b) ? -1 : 1)),
          'in order',
        )
      assert.equal(values.indexOf(null), values.length - 1, 'null is the last group')
    })

  test('texts are groups by their bytes, in that order, and two fields at once', async () => {
    const { data } = await read('/sales/summary?by=kind,open')
    const pairs = new Set(rows.map(({ kind, open }) => JSON.stringify([kind, open])))
    assert.deepEqual(new Set(data.map(shownOf)), pairs)
    assert.equal(data.length, pairs.size)
    const texts = [...new Set(data.map(({ by }) => by['kind']))].filter((kind) => kind !== null)
    assert.deepEqual(
      texts,
      texts.toSorted((a, b) => Buffer.compare(Buffer.from(a as string), Buffer.from(b as string))),
    )
  })

  test('least, greatest and average values are shown as items show them', async () => {
    const { data } = await read(
      `/sales/summary?min=${[...numbers, ...dates].join()}&max=${[...numbers, ...dates].join()}&avg=small,exact,double`,
    )
    const items = (await readList(opened.service, '/sales?limit=1000')).data
    const [{ min, max, avg, by, count }] = data as [Group]
    assert.deepEqual([data.length, by, count], [1, {}, undefined])
    for (const [name, sorted] of [
      ...numbers.map(
        (one) =>
          [
            one,
            (a: unknown, b: unknown) =>
              Number(
                BigInt(Math.sign(Number(a) - Number(b))) ||
                  (one === 'big' ? BigInt(String(a)) - BigInt(String(b)) : 0n),
              ),
          ] as const,
      ),
      ...dates.map((one) => [one, (a: unknown, b: unknown) => (String(a) < String(b) ? -1 : 1)] as const),
    ]) {
      const values = items
        .map((item) => item[name])
        .filter((value) => value !== null)
        .toSorted(sorted)
      assert.equal((min as Record<string, unknown>)[name], values[0], `min ${name}`)
      assert.equal((max as Record<string, unknown>)[name], values.at(-1), `max ${name}`)
    }
    const averages = avg as Record<string, unknown>
    for (const name of ['small', 'exact', 'double'] as const) {
      const values = rows.flatMap((row) => (row[name] === null ? [] : Number(row[name])))
      const expected = values.reduce((sum, one) => sum + one, 0) / values.length
      assert.ok(Math.abs(Number(averages[name]) - expected) < 1e-9 * Math.abs(expected), name)
    }
    assert.equal(typeof averages['exact'], 'string')
  })

  test('filters apply, and a summary of no rows is one line without groups', async () => {
    const { data } = await read('/sales/summary?by=open&kind=a,A&least=0&owned=bob')
    const passing = rows.filter(
      ({ kind, small, owner }) =>
        (kind === 'a' || kind === 'A') && small !== null && small >= 0 && owner === 'bob',
    )
    const expected = grouped(({ open }) => open, passing)
    assert.deepEqual(
      new Map(data.map((group) => [shownOf(group), group['count']])),
      new Map([...expected].map(([key, members]) => [key, members.length])),
    )
    const none = { data: [{ by: {}, count: 0, sum: { small: null } }], hasMore: false }
    assert.equal((await get('/sales/summary?owned=%00')).status, 400)
    assert.deepEqual(await read('/sales/summary?owned=nobody&count=1&sum=small'), none)
    assert.deepEqual(await read('/sales/summary?owned=nobody&by=kind'), { data: [], hasMore: false })
    assert.deepEqual(await read('/lenient/summary?owned=%00&count=1&sum=small'), none)
  })

  test('other rows, hidden fields and undeclared fields stay unknown', async () => {
    const bobs = rows.filter(({ owner }) => owner === 'bob')
    const { data } = await read('/bobs/summary?by=kind&count=1')
    assert.deepEqual(
      new Map(data.map((group) => [shownOf(group), group['count']])),
      new Map([...grouped(({ kind }) => kind, bobs)].map(([key, members]) => [key, members.length])),
    )
    assert.equal((await get('/own/summary')).status, 401)
    const own = (await (await opened.service.admin('/own/summary?sum=small&count=1')).json()) as Answer
    assert.deepEqual(own.data, [{ by: {}, count: 0, sum: { small: null } }])
    const wrong = [
      'by=owner',
      'sum=owner',
      'by=id',
      'by=at',
      'by=at:hour',
      'by=kind:day',
      'sum=kind',
      'min=open',
      'by=kind;drop table sales',
      'by="kind"',
      'sum=small) from sales--',
      'by=constructor',
      'by=__proto__',
      'count=2',
      'count=1&count=1',
      'limit=1',
      'sort=kind',
      'fields=kind',
      'kinds=a',
      'least=x',
    ]
    for (const query of wrong) {
      const response = await get(`/sales/summary?${query.replaceAll(' ', '%20')}`)
      const problem = (await response.json()) as { code: string; detail: string }
      assert.deepEqual([response.status, problem.code], [400, 'invalid-parameter'], query)
      if (query.includes('owner')) assert.ok(!problem.detail.includes('owner, '), problem.detail)
    }
    assert.equal((await get('/lenient/summary?by=owner')).status, 400, 'also where the list is lenient')
    assert.equal((await get('/lenient/summary?by=kind&unknown=1')).status, 200)
  })

  test('without a declaration `summary` is a key', async () => {
    assert.equal((await get('/without/summary')).status, 404)
    assert.deepEqual(await (await get('/words/summary')).json(), { word: 'summary', n: 1 })
    assert.equal((await get('/bobs/1')).status, 200, 'and beside a summary, other keys are found')
  })

  test('ten thousand groups are cut and say so', async () => {
    const { data, hasMore } = await read('/many/summary?by=id')
    assert.deepEqual([data.length, hasMore], [1_000, true])
    assert.deepEqual(
      data.map(({ by }) => by['id']),
      Array.from({ length: 1_000 }, (_, index) => index),
    )
    const byName = await read('/many/summary?by=name')
    assert.equal(byName.hasMore, true)
    assert.deepEqual(byName, await read('/many/summary?by=name'), 'always the same ones')
  })

  test('a slow statement is ended, and other requests do not wait for it', async () => {
    let isEnded = false
    const pending = get('/slow/summary?sum=id').finally(() => (isEnded = true))
    await new Promise((resolve) => setTimeout(resolve, 300))
    assert.equal((await get('/sales?limit=1')).status, 200)
    assert.ok(!isEnded, 'a page waited')
    const response = await pending
    const { code, detail } = (await response.json()) as { code: string; detail: string }
    assert.deepEqual([response.status, code], [422, 'too-slow'])
    assert.match(detail, /longer than 5 seconds and was stopped/)
    assert.deepEqual((await read('/many/summary')).data, [{ by: {}, count: 10_000 }])
  })

  test('a sum that overflows is null, or an error that says so', async () => {
    for (const query of ['sum=x', 'avg=x']) {
      const response = await get(`/large/summary?${query}`)
      if (engine.name === 'sqlite') {
        const { data } = (await response.json()) as Answer
        assert.deepEqual(Object.values(data[0]!).at(-1), { x: null }, query)
        continue
      }
      const { code, detail } = (await response.json()) as { code: string; detail: string }
      assert.deepEqual([response.status, code], [400, 'invalid-parameter'], query)
      assert.match(detail, /sum or average is too large/)
    }
  })

  test('it has an entity tag that changes with the rows, and HEAD', async () => {
    const response = await get('/words?limit=1')
    assert.equal(response.status, 200)
    const first = await get('/many/summary?by=name&count=1')
    const headers = { 'if-none-match': first.headers.get('etag')! }
    assert.equal((await get('/many/summary?by=name&count=1', { headers })).status, 304)
    assert.equal((await get('/many/summary?by=name&count=1', { method: 'HEAD' })).status, 200)
    await opened.service.database.transaction((tx) => sql`insert into many values (-1, 'n0')`.execute(tx))
    assert.equal((await get('/many/summary?by=name&count=1', { headers })).status, 200)
  })

  test('the catalogue and the OpenAPI document have it', async () => {
    const { paths } = (await (await get('/openapi.json')).json()) as { paths: object }
    assert.ok('/sales/summary' in paths && !('/without/summary' in paths))
    const { data } = (await (await opened.service.admin('/lists')).json()) as AnswerTo<'GET /lists'>
    const summariesOf = (path: string) => data.find((one) => one.path === path)!.summaries
    assert.deepEqual(summariesOf('/bobs'), { by: ['kind'], sum: ['small'], avg: [], min: [], max: [] })
    assert.equal(summariesOf('/without'), null)
    assert.ok(summariesOf('/sales')?.['by']?.includes('at:month'))
  })

  test('a path that is taken stops the start', async () => {
    const home = await engine.createMigratedDatabase()
    await createTables(home.url, [ddl[engine.name]])
    const taken = list({ ...sales, path: '/sales/summary' })
    await assert.rejects(
      startTestService(engine, { databaseUrl: home.url, config: { listing: { lists: [sales, taken] } } }),
      /\/sales: `summaries` is not possible/,
    )
    await home.drop()
  })
})

describe('declarations of summaries', () => {
  const faultsOf = (change: object): string => {
    try {
      readLists({ lists: [{ ...sales, ...change }] })
    } catch (error) {
      return (error as Error).message
    }
    return ''
  }

  test('what cannot be summarized is a fault', () => {
    assert.equal(faultsOf({}), '')
    assert.match(faultsOf({ summaries: { by: ['owner'] } }), /names owner, which is hidden/)
    assert.match(faultsOf({ summaries: { sum: ['owner'] } }), /names owner, which is hidden/)
    assert.match(faultsOf({ summaries: { by: ['nothing'] } }), /names nothing, which is not a field/)
    assert.match(faultsOf({ summaries: { sum: ['kind'] } }), /names kind, which has the type text/)
    assert.match(faultsOf({ summaries: { by: ['double'] } }), /names double, which has the type number/)
    assert.match(faultsOf({ summaries: { median: ['small'] } }), /has no `median`/)
    assert.match(faultsOf({ summaries: { by: 'kind' } }), /must be an array/)
    assert.match(faultsOf({ summaries: true }), /must be an object/)
    assert.match(faultsOf({ filters: { min: { kind: 'atLeast', field: 'small' } } }), /the filter min/)
  })
})
