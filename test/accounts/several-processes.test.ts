// What one process takes back is refused by every other one, at the very next request.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { Browser, each, type Engine, onPostgres, postgres, type TestDatabase } from '#test/harness/index.ts'
import { type OAuthProvider, startOAuthProvider } from '#test/harness/oauth-provider.ts'
import { startTestService, type TestService } from '#test/harness/service.ts'
import { createRecordAudit } from '../../src/accounts/audit/audit.ts'
import { SigningKeys } from '../../src/accounts/tokens/signing-keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { Keyring } from '../../src/crypto/keyring.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { eventually } from '../receiving/harness.ts'
import { appTokens, signIn, spa, whoAmI } from '../login/harness.ts'

// One SQLite file has one service; that the command line counts at once there is shown in test/cli/users.test.ts.

describe('two services on one PostgreSQL', onPostgres, () => {
  const engine = postgres as Engine
  let provider: OAuthProvider
  let database: TestDatabase
  let first: TestService
  let second: TestService
  /** Milliseconds by which the clock of both is ahead. */
  let ahead = 0
  const clock = { ...systemClock, now: () => systemClock.now() + ahead }
  before(async () => {
    provider = await startOAuthProvider()
    database = await engine.createMigratedDatabase()
    const env = {
      ...provider.env('ACME'),
      ...provider.env('OTHER'),
      ADMIN_IDENTITIES: 'other:boss',
      SESSION_IDLE: '3600',
    }
    const options = { env, databaseUrl: database.url, parts: { clock } }
    first = await startTestService(engine, options)
    second = await startTestService(engine, options)
  })
  after(async () => {
    await first.close()
    await second.close()
    await database.drop()
    await provider.close()
  })

  async function signedIn(id: string): Promise<string> {
    const browser = new Browser()
    provider.profile = { id, displayName: id }
    await signIn(first, browser)
    return browser.cookies(first.baseUrl).get('postern_session')!
  }
  const ask = (
    service: TestService,
    token: string,
    path = '/auth/session',
    method = 'GET',
  ): Promise<Response> => service.fetch(path, { method, headers: { cookie: `postern_session=${token}` } })
  /** Asks both processes so often that a process with a cache of sessions has this one in it. */
  async function warm(token: string): Promise<void> {
    for (let time = 0; time < 5; time += 1)
      for (const service of [first, second]) assert.equal((await ask(service, token)).status, 200)
  }
  const refused = async (token: string, what: string): Promise<void> => {
    const answers = await Promise.all([second, first, second].map((service) => ask(service, token)))
    assert.deepEqual(each(answers, 'status'), [401, 401, 401], what)
  }

  test('a session that one process saw in use is live for the others, also for calls in the background', async () => {
    const token = await signedIn('busy')
    await warm(token)
    ahead += 50 * 60_000
    const usedAt = clock.now()
    assert.equal((await ask(second, token)).status, 200)
    await eventually(async () => {
      const sessions = first.database.reader.selectFrom('sessions')
      const { at } = await sessions
        .select((eb) => eb.fn.max('last_seen_at').as('at'))
        .executeTakeFirstOrThrow()
      return at >= usedAt
    }, 'the use is stored')
    ahead += 11 * 60_000
    const headers = { cookie: `postern_session=${token}`, 'postern-background': 'true' }
    assert.equal((await first.fetch('/auth/session', { headers })).status, 200)
    ahead += 50 * 60_000
    assert.equal((await first.fetch('/auth/session', { headers })).status, 401)
  })

  test('signing out', async () => {
    for (let round = 0; round < 10; round += 1) {
      const token = await signedIn('out')
      await warm(token)
      assert.equal((await ask(first, token, '/auth/logout', 'POST')).status, 204)
      await refused(token, `round ${round}`)
    }
  })

  test('revoking one session from another device, and all others', async () => {
    const [mine, other, third] = [await signedIn('dev'), await signedIn('dev'), await signedIn('dev')]
    for (const token of [mine, other, third]) await warm(token)
    const { data } = (await (await ask(first, mine, '/auth/sessions')).json()) as { data: { id: string }[] }
    const { session } = (await (await ask(first, other)).json()) as { session: { id: string } }
    assert.ok(data.some(({ id }) => id === session.id))
    assert.equal((await ask(first, mine, `/auth/sessions/${session.id}`, 'DELETE')).status, 204)
    await refused(other, 'one')
    await warm(third)
    assert.equal((await ask(first, mine, '/auth/sessions', 'DELETE')).status, 204)
    await refused(third, 'all others')
    await warm(mine)
  })

  test('an admin revokes one session of a user, and all of them', async () => {
    const [one, two] = [await signedIn('ended'), await signedIn('ended')]
    for (const token of [one, two]) await warm(token)
    const { user, session } = (await (await ask(first, one)).json()) as {
      user: { id: string }
      session: { id: string }
    }
    const path = `/users/${user.id}/sessions`
    assert.equal((await first.admin(`${path}/${session.id}`, { method: 'DELETE' })).status, 204)
    await refused(one, 'one')
    await warm(two)
    assert.equal((await first.admin(path, { method: 'DELETE' })).status, 204)
    await refused(two, 'all')
  })

  test('blocking and a change of role', async () => {
    for (const json of [{ blocked: true }, { role: 'admin' }]) {
      const token = await signedIn(`u-${Object.keys(json)[0]}`)
      await warm(token)
      const { user } = (await (await ask(first, token)).json()) as { user: { id: string } }
      assert.equal((await first.admin(`/users/${user.id}`, { method: 'PATCH', json })).status, 200)
      await refused(token, JSON.stringify(json))
    }
  })

  test('linking and unlinking: the previous token, and sessions of the unlinked identity', async () => {
    const browser = new Browser()
    provider.profile = { id: 'links', displayName: 'links' }
    await signIn(first, browser)
    const cookie = (): string => browser.cookies(first.baseUrl).get('postern_session')!
    const link = async (id: string): Promise<void> => {
      const headers = { origin: first.baseUrl }
      const start = await browser.go(new URL('/auth/other/link', first.baseUrl), { method: 'POST', headers })
      provider.profile = { id, displayName: id }
      const back = await browser.go(start.headers.get('location')!)
      const answer = await browser.go(back.headers.get('location')!)
      assert.equal(answer.headers.get('location'), '/dashboard')
    }
    const unlink = async (): Promise<void> => {
      const url = new URL('/auth/identities/other', first.baseUrl)
      assert.equal((await browser.go(url, { method: 'DELETE' })).status, 204)
    }
    let before = cookie()
    await warm(before)
    await link('linked')
    await refused(before, 'the token from before the link')
    await warm(cookie())
    const other = new Browser()
    provider.profile = { id: 'linked', displayName: 'linked' }
    await signIn(first, other, '/auth/other')
    const byLinked = other.cookies(first.baseUrl).get('postern_session')!
    await warm(byLinked)
    await unlink()
    await refused(byLinked, 'a session that began by the unlinked identity')
    await link('boss')
    before = cookie()
    await warm(before)
    await unlink()
    await refused(before, 'the token of an admin who unlinked what made them one')
    await warm(cookie())
  })

  test('signing in again in the same browser', async () => {
    const browser = new Browser()
    provider.profile = { id: 'again', displayName: 'again' }
    await signIn(first, browser)
    const before = browser.cookies(first.baseUrl).get('postern_session')!
    await warm(before)
    await signIn(first, browser)
    assert.ok(await whoAmI(first, browser))
    await refused(before, 'the token of before')
  })
})

test(
  'PostgreSQL: a process that only verifies access tokens refuses a withdrawn signing key',
  onPostgres,
  async () => {
    await using stack = new AsyncDisposableStack()
    const provider = stack.adopt(await startOAuthProvider(), (it) => it.close())
    const database = stack.adopt(await postgres!.createMigratedDatabase(), (it) => it.drop())
    const config = { login: { clients: [spa] } }
    const options = { env: provider.env('ACME'), databaseUrl: database.url, config }
    const first = stack.adopt(await startTestService(postgres!, options), (it) => it.close())
    // Tokens name the service that issued them, so both have its address.
    const shared = { ...options, env: { ...options.env, BASE_URL: first.baseUrl } }
    const second = stack.adopt(await startTestService(postgres!, shared), (it) => it.close())
    const commandLine = stack.adopt(await openDatabase(database.url), (it) => it.close())
    const keys = new SigningKeys({
      database: commandLine,
      keyring: new Keyring(['test-master-secret-of-32-bytes-or-more']),
      clock: systemClock,
      rotation: 90 * 86_400_000,
      record: createRecordAudit(systemClock),
    })
    for (let round = 0; round < 5; round += 1) {
      const body = await appTokens(first)
      const headers = { authorization: `Bearer ${String(body['access_token'])}` }
      const status = async (service: TestService): Promise<number> =>
        (await service.fetch('/auth/session', { headers })).status
      for (let time = 0; time < 1 + 5 * round; time += 1)
        for (const service of [second, first]) assert.equal(await status(service), 200)
      await keys.rotate('now', { actor: 'cli' })
      assert.deepEqual([await status(second), await status(first)], [401, 401], `round ${round}`)
    }
  },
)

test(
  'PostgreSQL: a process without notifications caches nothing, and others do not wait for it',
  onPostgres,
  async () => {
    await using stack = new AsyncDisposableStack()
    const provider = stack.adopt(await startOAuthProvider(), (it) => it.close())
    const database = stack.adopt(await postgres!.createMigratedDatabase(), (it) => it.drop())
    const options = { env: provider.env('ACME'), databaseUrl: database.url }
    const first = stack.adopt(await startTestService(postgres!, options), (it) => it.close())
    const second = stack.adopt(await startTestService(postgres!, options), (it) => it.close())
    const admin = stack.adopt(new pg.Client({ connectionString: database.url }), (it) => it.end())
    await admin.connect()
    /** Ends the listening sessions, and waits for that: on a busy machine, a process may hear of it after the server released the locks. */
    const cut = async (): Promise<void> => {
      const { rows } = await admin.query<{ pid: number }>(
        `select pid, pg_terminate_backend(pid) from pg_stat_activity
         where application_name = 'postern-listen' and datname = current_database()`,
      )
      const pids = rows.map(({ pid }) => pid)
      await eventually(async () => {
        const left = await admin.query('select from pg_stat_activity where pid = any($1)', [pids])
        return left.rowCount === 0
      })
    }
    for (let round = 0; round < 3; round += 1) {
      const browser = new Browser()
      await signIn(first, browser)
      const cookie = `postern_session=${browser.cookies(first.baseUrl).get('postern_session')!}`
      const status = async (service: TestService): Promise<number> =>
        (await service.fetch('/auth/session', { headers: { cookie } })).status
      for (let time = 0; time < 10; time += 1)
        for (const service of [first, second]) assert.equal(await status(service), 200)
      await cut()
      assert.equal(await status(second), 200)
      const answer = await first.fetch('/auth/logout', { method: 'POST', headers: { cookie } })
      assert.equal(answer.status, 204)
      assert.equal(await status(second), 401)
      assert.equal(await status(first), 401)
    }
  },
)
