// Row-level security of PostgreSQL: a list's statements run with settings for the caller, which policies read.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import { Browser, each, scoped, started, startedService, startOAuthProvider } from '#test/harness/index.ts'
import { asAdmin, onPostgres, postgres, sqlite } from '#test/harness/engines.ts'
import { hasPgbouncer, startPgbouncer } from '#test/harness/pgbouncer.ts'
import { list, type List } from '../../src/listing/config.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { explainList } from '../../src/listing/checking/explain.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { clients, tokensOf } from '../oauth2/harness.ts'

const common = {
  table: 'invoices',
  access: 'user',
  fields: { id: { type: 'integer' }, total: { type: 'integer' }, person: { type: 'integer' } },
  key: 'id',
} as const
const settings: List['settings'] = ({ claims, user }) => ({
  'app.tenant': claims['tenant'],
  'app.user_id': user?.id,
})
const invoices = list({
  ...common,
  path: '/invoices',
  settings,
  pages: ['cursor', 'offset'],
  sort: ['total'],
  one: true,
  exports: true,
  summaries: { sum: ['total'] },
  expand: {
    contact: { table: 'people', from: 'person', fields: { name: { type: 'text' } } },
    lines: {
      table: 'lines',
      from: 'id',
      key: 'invoice',
      fields: { id: { type: 'integer' } },
      many: { order: ['id'] },
    },
  },
})
const lists = [
  invoices,
  list({ ...common, path: '/estimated', settings, pages: ['offset'], count: 'estimate' }),
  list({ ...common, path: '/strange', table: 'strange', settings }),
  list({ ...common, path: '/refused', settings: () => false }),
  // The database rejects the prefix, which belongs to an extension.
  list({ ...common, path: '/reserved', settings: () => ({ 'plpgsql.tenant': 'blue' }) }),
]
const tenant = `nullif(current_setting('app.tenant', true), '')`
const statements = [
  'create table invoices (id int primary key, tenant text not null, total int not null, person int not null)',
  `insert into invoices select n, case when n % 2 = 0 then 'blue' else 'red' end, n, n % 2 + 1 from generate_series(1, 2400) n`,
  'create table lines (id int primary key, invoice int not null, tenant text not null)',
  // A line of tenant blue belongs to an invoice of tenant red.
  `insert into lines select n, n / 2, case when n = 3 then 'blue' when (n / 2) % 2 = 0 then 'blue' else 'red' end
    from generate_series(2, 4801) n`,
  'create index on lines (invoice, id)',
  'create table people (id int primary key, name text not null, tenant text not null)',
  `insert into people values (1, 'Blue', 'blue'), (2, 'Red', 'red')`,
  ...['invoices', 'lines', 'people'].flatMap((table) => [
    `alter table ${table} enable row level security, force row level security`,
    `create policy tenants on ${table} using (tenant = ${tenant})`,
  ]),
  'create table strange (id int primary key, total int not null, person int not null)',
  'insert into strange values (1, 1, 1)',
  'alter table strange enable row level security, force row level security',
  `create policy numbers on strange using (id = current_setting('app.tenant')::int)`,
  'analyze invoices',
]

/** A database whose owner has no other privileges. */
async function ownedDatabase() {
  const home = await postgres!.createDatabase()
  const role = `owner_${randomBytes(6).toString('hex')}`
  const url = new URL(home.url)
  url.username = role
  await asAdmin(home.url, `create role ${role} login ${url.password && `password '${url.password}'`}`)
  await asAdmin(home.url, `alter database ${url.pathname.slice(1)} owner to ${role}`)
  await asAdmin(home.url, `alter schema public owner to ${role}`)
  await asAdmin(url.href, statements.join(';'))
  return scoped({
    url: url.href,
    admin: home.url,
    role,
    async drop() {
      await home.drop()
      await asAdmin(process.env['TEST_DATABASE_URL']!, `drop role ${role}`)
    },
  })
}

const claims: Record<string, Record<string, unknown>> = {
  'ada@example.com': { tenant: 'blue' },
  'bob@example.com': { tenant: 'red' },
  'eve@example.com': { tenant: { $ne: '' } },
  'mal@example.com': { tenant: `blue', true), set_config('role', 'postgres` },
  'zed@example.com': { tenant: 'blue\u0000' },
  'arr@example.com': { tenant: ['blue', 'red'] },
  'num@example.com': { tenant: 1 },
}

for (const way of hasPgbouncer ? ['directly', 'by PgBouncer'] : ['directly'])
  describe(`row-level security, ${way}`, onPostgres, () => {
    const provider = started(startOAuthProvider)
    const home = started(ownedDatabase)
    const pooler = started(async () =>
      way === 'directly'
        ? scoped({ url: home.url, close: async () => undefined })
        : scoped(await startPgbouncer(home.url, { mode: 'transaction', sessions: 4, inTurn: true })),
    )
    const service = startedService(postgres!, () => ({
      databaseUrl: pooler.url,
      env: { ...provider.env('ACME'), DATABASE_SESSION_URL: home.url },
      config: {
        login: { clients, claims: ({ user }) => claims[user.email ?? ''] ?? {} },
        listing: { lists },
      },
    }))
    const tokens = new Map<string, string>()
    async function read(path: string, name: string, headers: Record<string, string> = {}): Promise<Response> {
      let token = tokens.get(name)
      if (token === undefined) {
        provider.profile = { id: name, displayName: name, emails: [{ value: `${name}@example.com` }] }
        token = String((await tokensOf(service, new Browser(), { scope: 'openid' }))['access_token'])
        tokens.set(name, token)
      }
      return service.fetch(path, { headers: { authorization: `Bearer ${token}`, ...headers } })
    }
    interface Item {
      id: number
      contact: { name: string } | null
      lines: { data: { id: number }[] }
    }
    const items = async (path: string, name: string): Promise<Item[]> => {
      const response = await read(path, name)
      assert.equal(response.status, 200, `${path} ${name}`)
      return ((await response.json()) as { data: Item[] }).data
    }
    const ids = async (path: string, name: string) => (await items(path, name)).map(({ id }) => id)
    /** Checks that no connection of the pool keeps a setting. */
    async function isClean(): Promise<void> {
      const { pool } = service.database as Extract<typeof service.database, { engine: 'postgres' }>
      const found = await Promise.all(
        Array.from({ length: 30 }, async () => {
          const { rows } = await pool.query<Record<string, unknown>>(
            `select count(*)::int as rows, coalesce(current_setting('app.tenant', true), '') as tenant,
              current_setting('transaction_read_only') as locked from invoices`,
          )
          return rows[0]
        }),
      )
      for (const one of found) assert.deepEqual(one, { rows: 0, tenant: '', locked: 'off' })
    }

    test('pages, totals, expansions, summaries and one row are those of the policies', async () => {
      assert.deepEqual(await ids('/invoices?limit=3', 'ada'), [2, 4, 6])
      assert.deepEqual(await ids('/invoices?limit=3&sort=-total', 'bob'), [2399, 2397, 2395])
      for (const path of ['/invoices?page=2&limit=2', '/estimated?page=2&limit=2']) {
        const page = (await (await read(path, 'bob')).json()) as {
          data: Item[]
          pagination: { total: number; estimated: boolean }
        }
        assert.deepEqual(each(page.data, 'id'), [5, 7])
        const { total, estimated } = page.pagination
        assert.ok(estimated ? total < 2400 : total === 1200, `${path}: ${total}`)
      }
      const [blue] = await items('/invoices?limit=1&expand=contact,lines', 'ada')
      assert.deepEqual([blue!.contact, blue!.lines.data], [{ name: 'Blue' }, [{ id: 4 }, { id: 5 }]])
      const [red] = await items('/invoices?limit=1&expand=contact,lines', 'bob')
      assert.deepEqual([red!.contact, red!.lines.data], [{ name: 'Red' }, [{ id: 2 }]])
      const summary = (await (await read('/invoices/summary?sum=total&count=1', 'bob')).json()) as {
        data: object[]
      }
      assert.deepEqual(summary.data, [{ by: {}, count: 1200, sum: { total: 1_440_000 } }])
      assert.deepEqual(
        await Promise.all(
          ['/invoices/2', '/invoices/3'].map(async (path) => (await read(path, 'bob')).status),
        ),
        [404, 200],
      )
    })

    test('a walk and an export of several batches have each row of the tenant once', async () => {
      const expected = Array.from({ length: 1200 }, (_, index) => 2 * index + 2)
      const lines = (await (await read('/invoices.ndjson?expand=lines', 'ada')).text()).trim().split('\n')
      assert.deepEqual(
        lines.map((line) => (JSON.parse(line) as Item).id),
        expected,
      )
      assert.ok(lines.every((line) => (JSON.parse(line) as Item).lines.data.length === 2))
      const walked: number[] = []
      for (let cursor = ''; ;) {
        const page = (await (await read(`/invoices?limit=100${cursor}`, 'ada')).json()) as {
          data: Item[]
          pageInfo: { nextCursor: string | null }
        }
        walked.push(...page.data.map(({ id }) => id))
        if (page.pageInfo.nextCursor === null) break
        cursor = `&cursor=${page.pageInfo.nextCursor}`
        // Another tenant's cursor is only a position: the reader gets its own rows after it.
        const foreign = await ids(`/invoices?limit=1${cursor}`, 'bob')
        assert.ok(foreign.every((id) => id % 2 === 1))
      }
      assert.deepEqual(walked, expected)
    })

    test('equal requests of different callers share nothing', async () => {
      const [blue, red] = [await read('/invoices?limit=1', 'ada'), await read('/invoices?limit=1', 'bob')]
      const tag = blue.headers.get('etag')!
      assert.notEqual(tag, red.headers.get('etag'))
      assert.equal((await read('/invoices?limit=1', 'bob', { 'if-none-match': tag })).status, 200)
      assert.equal((await read('/invoices?limit=1', 'ada', { 'if-none-match': tag })).status, 304)
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, index) => {
          const name = index % 3 === 0 ? 'ada' : 'bob'
          return ids(`/invoices?limit=2&page=${(index % 5) + 1}`, name).then(
            (found) => [name, ...found] as const,
          )
        }),
      )
      for (const [name, ...found] of answers)
        assert.ok(
          found.length === 2 && found.every((id) => id % 2 === (name === 'ada' ? 0 : 1)),
          `${name}: ${found.join()}`,
        )
      await isClean()
    })

    test('without a usable value, there are no rows', async () => {
      for (const name of ['nobody', 'eve', 'zed']) {
        assert.deepEqual(await ids('/invoices', name), [], name)
        const { data } = (await (await read('/invoices/summary?count=1', name)).json()) as { data: object[] }
        assert.deepEqual(data, [{ by: {}, count: 0 }])
        assert.equal(await (await read('/invoices.ndjson', name)).text(), '')
        assert.equal((await read('/invoices/2', name)).status, 404)
      }
      // The database gets these values, and no row has them.
      for (const name of ['mal', 'arr', 'num']) assert.deepEqual(await ids('/invoices', name), [], name)
      assert.deepEqual(await ids('/refused', 'ada'), [])
      const byKey = (await (await service.admin('/invoices?page=1')).json()) as {
        data: []
        pagination: { total: number }
      }
      assert.deepEqual([byKey.data, byKey.pagination.total], [[], 0])
      assert.equal((await service.fetch('/invoices')).status, 401)
    })

    test('after an error or an aborted request, no connection keeps a setting', async () => {
      for (let round = 0; round < 5; round += 1) {
        assert.equal((await read('/strange', 'ada')).status, 500)
        assert.equal((await read('/reserved', 'ada')).status, 500)
        assert.deepEqual(await ids('/strange', 'num'), [1])
        const broken = new AbortController()
        const url = new URL('/invoices.ndjson', service.baseUrl)
        const headers = { authorization: `Bearer ${tokens.get('ada')}` }
        const response = await fetch(url, { headers, signal: broken.signal })
        await response.body!.getReader().read()
        broken.abort()
      }
      await isClean()
      assert.deepEqual(await ids('/invoices?limit=1', 'bob'), [1])
    })
  })

describe('the check of row-level security', onPostgres, () => {
  const home = started(ownedDatabase)
  const check = async (url: string, of: List) => {
    await using database = scoped(await openDatabase(url))
    const checked = await checkList(database, readLists({ lists: [of] })[0]!)
    if (checked.faults.length > 0) return { unprotected: checked.faults, plans: [] }
    return { unprotected: [], plans: await explainList(database, checked.list) }
  }

  test('policies without effect prevent startup, and the fault has the statement that fixes them', async () => {
    const { unprotected, plans } = await check(home.url, invoices)
    assert.deepEqual(unprotected, [])
    assert.match(plans[0]!.steps.join(), /invoices_pkey/)
    const bypassed = (await check(home.admin, invoices)).unprotected
    assert.equal(bypassed.length, 3)
    assert.match(bypassed[0]!, /bypasses the policies of "invoices": alter role \w+ nosuperuser nobypassrls;/)
    for (const [change, expected] of [
      [
        'alter table invoices no force row level security',
        /: alter table "invoices" enable row level security, force row level security;$/,
      ],
      [
        'alter table invoices disable row level security',
        /"invoices" enable row level security, force row level/,
      ],
    ] as const) {
      await asAdmin(home.url, change)
      const [why, ...more] = (await check(home.url, invoices)).unprotected
      assert.match(why!, expected)
      assert.deepEqual(more, [])
      await asAdmin(home.url, why!.slice(why!.indexOf(': ') + 2))
      assert.deepEqual((await check(home.url, invoices)).unprotected, [])
    }
    await asAdmin(home.url, 'create view seen as select * from invoices')
    const view = { ...common, path: '/seen', table: 'seen', settings }
    const [why] = (await check(home.url, list(view))).unprotected
    assert.match(why!, /alter view "seen" set \(security_invoker = true\);/)
    await asAdmin(home.url, why!.slice(why!.indexOf(': ') + 2))
    assert.deepEqual((await check(home.url, list(view))).unprotected, [])
    assert.deepEqual(
      (await check(home.admin, list({ ...view, settings: undefined as never }))).unprotected,
      [],
    )
  })

  test('settings that cannot work prevent startup', async () => {
    if (sqlite) {
      await using file = await sqlite.createDatabase()
      await using other = scoped(await openDatabase(file.url))
      await other.transaction((tx) =>
        sql.raw('create table invoices (id integer primary key, total int, person int)').execute(tx),
      )
      const { faults } = await checkList(
        other,
        readLists({ lists: [list({ ...common, path: '/a', settings })] })[0]!,
      )
      assert.match(faults.join(), /`settings` needs PostgreSQL/)
    }
    await using database = scoped(await openDatabase(home.url))
    const faults = async (given: List['settings']) =>
      (await checkList(database, readLists({ lists: [{ ...invoices, settings: given! }] })[0]!)).faults.join()
    assert.match(await faults(() => ({ role: 'postgres' })), /names have a dot .*, such as app.user_id/)
    assert.match(await faults(() => ({ [`app.${'x'.repeat(60)}`]: 1 })), /at most 63 letters/)
    assert.match(await faults(() => ({ "app.a', true); drop table x; --": 1 })), /letters, digits and _/)
    assert.match(
      await faults((async () => ({ 'app.a': 1 })) as never),
      /must return false, or up to 20 settings/,
    )
    assert.match(
      await faults(() => Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`app.s${index}`, 1]))),
      /up to 20 settings/,
    )
    const wrong = (more: Partial<List>) => () => readLists({ lists: [{ ...invoices, ...more }] })
    assert.throws(wrong({ keep: true }), /`settings` and `keep` cannot be combined/)
    assert.throws(wrong({ settings: {} as never }), /`settings` must be a function/)
  })
})
