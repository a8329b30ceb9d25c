// The hook `login.claims`.
import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { decodeJwt } from 'jose'
import { Browser, onEachEngine, started, startedService, startOAuthProvider } from '#test/harness/index.ts'
import type { ClaimsContext } from '../../src/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { basic, callback, clients, secret, token, tokensOf } from './harness.ts'

type Claims = Record<string, unknown>
type Teams = { teams: { user_id: string; team: string } }

onEachEngine('the hook login.claims', (engine) => {
  let hook: (context: ClaimsContext) => unknown = () => undefined
  const logged: string[] = []
  let hangs = false
  const provider = started(startOAuthProvider)
  const service = startedService(engine, () => ({
    env: provider.env('ACME'),
    parts: {
      log: createLog('error', { write: (line: string) => void logged.push(line) }),
      // The time limit of a hook that hangs is over at once.
      clock: {
        ...systemClock,
        after: (ms: number, call: () => void) => systemClock.after(hangs && ms === 2_000 ? 300 : ms, call),
      },
    },
    config: {
      login: {
        clients: [...clients, { id: 'job', secret, clientCredentials: true, redirectUris: [callback] }],
        claims: (context) => hook(context) as Claims,
      },
    },
  }))
  before(() =>
    service.database.transaction(async (tx) => {
      await tx.schema.createTable('teams').addColumn('user_id', 'text').addColumn('team', 'text').execute()
      await tx.withTables<Teams>().insertInto('teams').values({ user_id: 'of all', team: 'blue' }).execute()
    }),
  )
  beforeEach(() => {
    hook = () => undefined
    logged.length = 0
    hangs = false
  })

  const toldBy = async (body: Claims): Promise<{ status: number; claims: Claims }> => {
    const headers = { authorization: `Bearer ${String(body['access_token'])}` }
    const answer = await service.fetch('/oauth2/userinfo', { headers })
    return { status: answer.status, claims: (await answer.json()) as Claims }
  }
  const refresh = (body: Claims) => {
    const fields = { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) }
    return token(service, { ...fields, client_id: 'spa' })
  }

  test('its claims are in each id_token, each access token and at userinfo', async () => {
    const asked: unknown[] = []
    hook = async ({ user, client, scopes, tx }) => {
      asked.push([user.email, user.role, client, scopes])
      const { team } = await (tx as unknown as ClaimsContext<Teams>['tx'])
        .selectFrom('teams')
        .select('team')
        .executeTakeFirstOrThrow()
      return { team, 'https://example.com/plan': { seats: 3 }, none: null, missing: undefined, roles: ['x'] }
    }
    const own = { team: 'blue', 'https://example.com/plan': { seats: 3 }, roles: ['x'] }
    const first = await tokensOf(service, new Browser(), { scope: 'openid email' })
    const { body: second } = await refresh(first)
    for (const body of [first, second]) {
      const tokens = [body['id_token'], body['access_token']].map((jwt) => decodeJwt(String(jwt)))
      for (const claims of [...tokens, (await toldBy(body)).claims]) {
        assert.deepEqual({ ...claims, ...own }, claims)
        assert.ok(!('none' in claims) && !('missing' in claims))
      }
    }
    const call = ['ada@example.com', 'user', 'spa', ['openid', 'email']]
    assert.deepEqual(asked, [call, call, call, call])
    const introspected = await service.fetch('/oauth2/introspect', {
      method: 'POST',
      headers: basic('web'),
      body: new URLSearchParams({
        token: String((await tokensOf(service, new Browser(), { client_id: 'web' }))['access_token']),
      }),
    })
    assert.equal(((await introspected.json()) as Claims)['team'], 'blue')
    const count = asked.length
    const job = await token(service, { grant_type: 'client_credentials' }, basic('job'))
    assert.equal(job.status, 200)
    assert.equal(asked.length, count, 'there is no user')
  })

  test('if it fails, the request fails, the log says why, and the refresh token remains valid', async () => {
    let current = await tokensOf(service, new Browser())
    const deep = (levels: number): unknown => (levels === 0 ? 1 : { in: deep(levels - 1) })
    let deepest: unknown = 1
    for (let level = 0; level < 100_000; level += 1) deepest = { in: deepest }
    const cyclic: Claims = {}
    cyclic['self'] = cyclic
    const registered = ['sub', 'iss', 'aud', 'exp', 'scope', 'client_id', 'sid', 'act', 'email', 'groups']
    for (const [returned, message] of [
      ...registered.map((name) => [() => ({ [name]: 'forged' }), `${name}, which is a registered claim`]),
      [() => JSON.parse('{"__proto__":{"admin":true}}') as unknown, 'the name __proto__'],
      [() => JSON.parse('{"a":{"__proto__":1}}') as unknown, 'the name __proto__'],
      [() => ({ text: 'é'.repeat(2100) }), 'more than 4096 bytes'],
      [
        () => Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`c${at}`, at])),
        'more than 50 claims',
      ],
      [() => ({ a: deep(10) }), 'more than 10 levels'],
      [() => ({ a: deepest }), 'more than 4096 bytes'],
      [() => cyclic, 'not JSON'],
      [() => ({ n: 1n }), 'not JSON'],
      [() => ['a'], 'must return an object'],
      [() => 'text', 'must return an object'],
      [
        () => {
          throw new Error('the hook of the product failed')
        },
        'the hook of the product failed',
      ],
      [() => new Promise(() => undefined), 'did not end within 2000 ms'],
    ] as [() => unknown, string][]) {
      hook = returned
      hangs = message.startsWith('did not end')
      logged.length = 0
      const failed = await refresh(current)
      assert.deepEqual([failed.status, failed.body['code']], [500, 'internal'], message)
      assert.ok(!JSON.stringify(failed.body).includes(message), 'the app is not told why')
      assert.ok(logged.join('').includes(message), `${message}: ${logged.join('')}`)
      assert.equal((await toldBy(current)).status, 500)
    }
    hangs = false
    hook = () => ({ a: deep(9) })
    const again = await refresh(current)
    assert.equal(again.status, 200, 'the token is not used up')
    current = again.body
    assert.equal((await toldBy(current)).status, 200)
  })

  test('an access token with as many claims as it may have is accepted', async () => {
    hook = () => ({ text: 'x'.repeat(4_080) })
    const body = await tokensOf(service, new Browser())
    const headers = { authorization: `Bearer ${String(body['access_token'])}` }
    assert.equal((await service.fetch('/auth/session', { headers })).status, 200)
  })

  test('its tx is read-only, and ends with it', async () => {
    const body = await tokensOf(service, new Browser())
    let late: ClaimsContext<Teams>['tx'] | undefined
    for (const statement of [
      (tx: ClaimsContext<Teams>['tx']) =>
        tx.insertInto('teams').values({ user_id: 'x', team: 'red' }).execute(),
      (tx: ClaimsContext<Teams>['tx']) => tx.updateTable('teams').set({ team: 'red' }).execute(),
    ]) {
      hook = async ({ tx }) => {
        late = tx as unknown as ClaimsContext<Teams>['tx']
        await statement(late)
        return {}
      }
      assert.equal((await toldBy(body)).status, 500)
      assert.match(logged.join(''), /login\.claims must only read with its tx/)
    }
    await assert.rejects(late!.selectFrom('teams').selectAll().execute(), /was rolled back already/)
    hook = async ({ tx }) => ({
      team: await (tx as unknown as ClaimsContext<Teams>['tx']).selectFrom('teams').selectAll().execute(),
    })
    assert.deepEqual((await toldBy(body)).claims['team'], [{ user_id: 'of all', team: 'blue' }])
  })

  test('many runs of a hook that hangs do not delay other requests', async () => {
    const body = await tokensOf(service, new Browser())
    hook = async ({ tx }) => {
      await (tx as unknown as ClaimsContext<Teams>['tx']).selectFrom('teams').selectAll().execute()
      return new Promise(() => undefined)
    }
    hangs = true
    const hanging = Array.from({ length: 5 }, () => toldBy(body))
    await service.database.transaction((tx) =>
      tx.withTables<Teams>().insertInto('teams').values({ user_id: 'y', team: 'green' }).execute(),
    )
    for (const { status } of await Promise.all(hanging)) assert.equal(status, 500)
    hook = () => undefined
    assert.equal((await toldBy(body)).status, 200)
  })
})
