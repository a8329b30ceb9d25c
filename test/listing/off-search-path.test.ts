// The guide to existing tables sets the service's search path to its own schema. The extension citext is then in a schema off the
// path: PostgreSQL sorts its columns as citext, and compares them as text unless the operator names its schema.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { list } from '../../src/listing/config.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { ConfigurationError } from '../../src/config/environment.ts'
import { each, engines, startTestService, type TestService } from '../harness/index.ts'
import { readList, walk } from './seed.ts'

const text = { type: 'text' } as const
const lists = [
  list({
    path: '/nicks',
    table: 'shop.nicks',
    access: 'public',
    fields: { id: { type: 'integer' }, nick: text, folded: text, mail: text },
    key: 'id',
    sort: ['nick', 'folded', 'id'],
    pages: ['cursor', 'offset'],
    filters: {
      nick: 'equals',
      nicks: { kind: 'in', field: 'nick' },
      from: { kind: 'atLeast', field: 'nick' },
      below: { kind: 'below', field: 'nick' },
      begins: { kind: 'prefix', field: 'nick' },
    },
    expand: {
      person: { table: 'shop.people', from: 'mail', key: 'mail', fields: { name: text } },
      logins: {
        table: 'shop.logins',
        from: 'mail',
        key: 'mail',
        fields: { at: { type: 'integer' } },
        many: { order: ['at'] },
      },
    },
    exports: true,
  }),
  list({
    path: '/people',
    table: 'shop.people',
    access: 'public',
    fields: { mail: text, name: text },
    key: 'mail',
    pages: ['keyset'],
    where: () => ({ name: ['ADA', 'Bob', 'Eve'] }),
  }),
  list({
    path: '/people-by-cursor',
    table: 'shop.people',
    access: 'public',
    fields: { mail: text, name: text, kind: { type: 'text', hidden: true } },
    key: 'mail',
    where: () => ({ kind: 'USER' }),
  }),
]

const statements = [
  'create schema app',
  'create schema shop',
  'create extension citext schema public',
  'create domain shop.mail as public.citext',
  `create table shop.nicks (id int primary key, nick public.citext, folded shop.mail not null, mail public.citext)`,
  `insert into shop.nicks select i, (array['Ada', 'ada', 'ADA', 'Bob', 'bob', null])[i % 6 + 1], (array['x', 'X', 'y'])[i % 3 + 1],
    (array['ADA@X.ORG', 'bob@x.org', 'none@x.org'])[i % 3 + 1] from generate_series(1, 1200) i`,
  `create table shop.people (mail public.citext primary key, name public.citext not null, kind public.citext not null)`,
  `insert into shop.people values ('Ada@x.org', 'Ada', 'user'), ('BOB@x.org', 'bob', 'User'), ('eve@x.org', 'eve', 'user'),
    ('zoe@x.org', 'zoe', 'robot')`,
  'create table shop.logins (mail public.citext not null, at int not null)',
  `insert into shop.logins values ('ada@x.org', 1), ('ADA@x.org', 2), ('Bob@x.org', 3)`,
]

for (const engine of engines.filter(({ name }) => name === 'postgres')) {
  async function prepare(): Promise<{ url: string; drop: () => Promise<void> }> {
    const own = await engine.createDatabase()
    const database = await openDatabase(own.url)
    const name = new URL(own.url).pathname.slice(1)
    await database.transaction(async (tx) => {
      for (const statement of statements) await sql.raw(statement).execute(tx)
      await sql.raw(`alter database "${name}" set search_path = app`).execute(tx)
    })
    await database.close()
    return own
  }

  async function check(service: TestService, url: string): Promise<void> {
    const database = await openDatabase(url)
    const idsBy = async (rest: string): Promise<number[]> =>
      (await sql.raw<{ id: number }>(`select id from shop.nicks ${rest}`).execute(database.reader)).rows.map(
        ({ id }) => id,
      )
    const ids = (items: readonly Record<string, unknown>[]): unknown[] => items.map(({ id }) => id)
    try {
      for (const sort of [
        'nick',
        '-nick',
        'folded,nick',
        '-nick,folded',
        'nick,-folded',
        '-folded',
        'folded,-id',
      ]) {
        const keys = sort.includes('id')
          ? sort.split(',')
          : [...sort.split(','), sort.split(',').at(-1)!.startsWith('-') ? '-id' : 'id']
        const terms = keys.map((key) => (key.startsWith('-') ? `${key.slice(1)} desc` : key)).join(', ')
        const expected = await idsBy(`order by ${terms}`)
        assert.deepEqual(ids((await walk(service, `/nicks?sort=${sort}&limit=47`)).flat()), expected, sort)
        // More rows than one batch of an export.
        const exported = await (await service.fetch(`/nicks.ndjson?fields=id&sort=${sort}`)).text()
        assert.deepEqual(
          exported
            .trimEnd()
            .split('\n')
            .map((line) => (JSON.parse(line) as { id: number }).id),
          expected,
          sort,
        )
      }
      for (const [query, condition] of [
        ['nick=ADA', 'nick operator(public.=) $$ada$$'],
        ['nicks=ADA,BOB', 'nick operator(public.=) $$ada$$ or nick operator(public.=) $$bob$$'],
        ['from=BOB', 'nick operator(public.>=) $$bob$$'],
        ['below=BOB', 'nick operator(public.<) $$bob$$'],
        ['begins=AD', 'lower(nick::text) like $$ad%$$'],
      ] as const) {
        const expected = await idsBy(`where ${condition} order by id`)
        assert.ok(expected.length >= 400, query)
        assert.deepEqual(ids((await walk(service, `/nicks?${query}&limit=100`)).flat()), expected, query)
      }
    } finally {
      await database.close()
    }
    const { data } = await readList(service, '/nicks?fields=id&limit=3&expand=person,logins')
    assert.deepEqual(data, [
      { id: 1, person: { name: 'bob' }, logins: { data: [{ at: 3 }], hasMore: false } },
      { id: 2, person: null, logins: { data: [], hasMore: false } },
      { id: 3, person: { name: 'Ada' }, logins: { data: [{ at: 1 }, { at: 2 }], hasMore: false } },
    ])
    const people: unknown[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const response = await service.fetch(
        `/people?limit=1${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
      )
      const page = (await response.json()) as { data: { mail: string }[]; nextCursor: string | null }
      people.push(...page.data.map(({ mail }) => mail))
      cursor = page.nextCursor
      assert.ok(people.length < 9)
    }
    assert.deepEqual(people, ['Ada@x.org', 'BOB@x.org', 'eve@x.org'])
    const found = (await walk(service, '/people-by-cursor?limit=1')).flat()
    assert.deepEqual(each(found, 'mail'), ['Ada@x.org', 'BOB@x.org', 'eve@x.org'])
  }

  test('columns of the type citext are compared as they are sorted, with its schema off the search path', async (t) => {
    const own = await prepare()
    const service = await startTestService(engine, { databaseUrl: own.url, config: { listing: { lists } } })
    t.after(async () => {
      await service.stop(5_000)
      await own.drop()
    })
    await check(service, own.url)
  })

  test('counts of such an order are a fault at the start', async (t) => {
    const own = await prepare()
    t.after(() => own.drop())
    const kept = { ...lists[0]!, path: '/kept', order: ['folded'], keep: true }
    await assert.rejects(
      startTestService(engine, { databaseUrl: own.url, config: { listing: { lists: [kept] } } }),
      (error: unknown) => {
        assert.ok(error instanceof ConfigurationError)
        assert.match(
          error.faults.join(),
          /\/kept: `keep` needs an order of types on the search path: add the schema public/,
        )
        return true
      },
    )
  })
}
