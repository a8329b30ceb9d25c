// Rows by the claims of a user's access token: a browser calls a list directly, and sees its tenant's rows alone.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { Browser, onEachEngine, started, startOAuthProvider, startTestService } from '#test/harness/index.ts'
import { list } from '../../src/index.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { clients, tokensOf } from '../oauth2/harness.ts'

const invoices = {
  table: 'invoices',
  access: 'user',
  fields: { id: { type: 'integer' }, tenant: { type: 'text' }, owner: { type: 'text', nullable: true } },
  key: 'id',
  one: true,
  exports: true,
} as const
const lists = [
  list({ ...invoices, path: '/invoices', where: ({ claims }) => ({ tenant: claims['tenant'] }) }),
  list({ ...invoices, path: '/numbered', where: ({ claims }) => ({ id: claims['tenant'] }) }),
  list({
    ...invoices,
    path: '/mine',
    where: ({ user, claims }) => ({ tenant: claims['tenant'], owner: user?.id }),
  }),
]

onEachEngine('lists by claims', (engine) => {
  const provider = started(startOAuthProvider)
  const home = started(() => engine.createMigratedDatabase())
  const service = started(async () => {
    const database = await openDatabase(home.url)
    await database.transaction(async (tx) => {
      await sql
        .raw('create table invoices (id integer primary key, tenant text not null, owner text)')
        .execute(tx)
      await sql
        .raw(
          `insert into invoices values (1, 'blue', null), (2, 'red', null), (3, 'blue', null), (4, '1', null)`,
        )
        .execute(tx)
    })
    await database.close()
    return startTestService(engine, {
      databaseUrl: home.url,
      env: { ...provider.env('ACME'), CORS_ORIGINS: 'https://app.example.com' },
      config: {
        login: { clients, claims: ({ user }) => tenants[user.email ?? ''] ?? {} },
        listing: { lists },
      },
    })
  })
  const tenants: Record<string, Record<string, unknown>> = {
    'ada@example.com': { tenant: 'blue' },
    'bob@example.com': { tenant: 'red' },
    'eve@example.com': { tenant: { $ne: '' } },
    'all@example.com': { tenant: ['blue', 'red'] },
    'null@example.com': { tenant: [null] },
    'nested@example.com': { tenant: [['blue'], { tenant: 'blue' }, true] },
    'true@example.com': { tenant: true },
    'one@example.com': { tenant: 1 },
    'digit@example.com': { tenant: '1' },
    'mixed@example.com': { tenant: ['blue', 2, 1.5, 1e30, '', '9'.repeat(40)] },
  }
  const signIn = async (name: string): Promise<string> => {
    provider.profile = { id: name, displayName: name, emails: [{ value: `${name}@example.com` }] }
    return String((await tokensOf(service, new Browser(), { scope: 'openid' }))['access_token'])
  }
  const get = (path: string, token: string, more: Record<string, string> = {}) =>
    service.fetch(path, { headers: { authorization: `Bearer ${token}`, ...more } })
  const idsOf = async (path: string, token: string): Promise<unknown[]> => {
    const { data } = (await (await get(path, token)).json()) as { data: { id: number }[] }
    return data.map(({ id }) => id)
  }

  test('each user sees the rows of the claim, in pages, as one row, and exported', async () => {
    const [ada, bob] = [await signIn('ada'), await signIn('bob')]
    assert.deepEqual(await idsOf('/invoices', ada), [1, 3])
    assert.deepEqual(await idsOf('/invoices', bob), [2])
    assert.equal((await get('/invoices/1', bob)).status, 404)
    assert.equal((await get('/invoices/2', bob)).status, 200)
    assert.equal((await (await get('/invoices.csv', bob)).text()).trim().split('\n').length, 2)
    assert.deepEqual(await idsOf('/invoices', await signIn('all')), [1, 2, 3])
    const next = (await (await get('/invoices?limit=1', ada)).json()) as { pageInfo: { nextCursor: string } }
    assert.equal((await get(`/invoices?limit=1&cursor=${next.pageInfo.nextCursor}`, bob)).status, 400)
  })

  test('without the claim, or with one that is no value, there are no rows', async () => {
    assert.deepEqual(await idsOf('/invoices', await signIn('nobody')), [])
    assert.deepEqual(await idsOf('/invoices', await signIn('eve')), [])
    assert.equal((await service.fetch('/invoices')).status, 401)
  })

  test('a claim of another type than the field matches no row, and is no fault', async () => {
    for (const [name, byTenant, byNumber] of [
      ['null', [], []],
      ['nested', [], [1]],
      ['true', [], [1]],
      ['one', [4], [1]],
      ['digit', [4], [1]],
      ['ada', [1, 3], []],
      ['mixed', [1, 3], [2]],
    ] as const) {
      const token = await signIn(name)
      assert.deepEqual(await idsOf('/invoices', token), byTenant, name)
      assert.deepEqual(await idsOf('/numbered', token), byNumber, name)
    }
  })

  test('the user is known beside the claims', async () => {
    const ada = await signIn('ada')
    const session = (await (await get('/oauth2/userinfo', ada)).json()) as { sub: string }
    await service.database.transaction((tx) =>
      sql`update invoices set owner = ${session.sub} where id in (2, 3)`.execute(tx),
    )
    assert.deepEqual(await idsOf('/mine', ada), [3])
  })

  test('a page of a listed origin may call it', async () => {
    const origin = 'https://app.example.com'
    const preflight = await service.fetch('/invoices', {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization',
      },
    })
    assert.equal(preflight.headers.get('access-control-allow-origin'), origin)
    assert.match(preflight.headers.get('access-control-allow-headers')!, /authorization/i)
    const answer = await get('/invoices', await signIn('ada'), { origin })
    assert.equal(answer.headers.get('access-control-allow-origin'), origin)
    const foreign = await get('/invoices', await signIn('ada'), { origin: 'https://evil.example' })
    assert.equal(foreign.headers.get('access-control-allow-origin'), null)
  })
})
