// What one process takes back is refused by every other one, at the very next request.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { Browser } from '#test/harness/browser.ts'
import { engines, type Engine, type TestDatabase } from '#test/harness/engines.ts'
import { startOAuthProvider, type OAuthProvider } from '#test/harness/oauth-provider.ts'
import { startTestService, type TestService } from '#test/harness/service.ts'
import { signIn, whoAmI } from '../login/harness.ts'

// One SQLite file has one service; that the command line counts at once there is shown in test/cli/users.test.ts.
const postgres = engines.find(({ name }) => name === 'postgres')

describe('two services on one PostgreSQL', { skip: !postgres }, () => {
  const engine = postgres as Engine
  let provider: OAuthProvider
  let database: TestDatabase
  let first: TestService
  let second: TestService
  before(async () => {
    provider = await startOAuthProvider()
    database = await engine.createDatabase()
    const options = { env: provider.env('ACME'), databaseUrl: database.url }
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
  /** Asks both often enough that whoever keeps sessions keeps this one. */
  async function warm(token: string): Promise<void> {
    for (let time = 0; time < 5; time += 1)
      for (const service of [first, second]) assert.equal((await ask(service, token)).status, 200)
  }
  const refused = async (token: string, what: string): Promise<void> => {
    const answers = await Promise.all([second, first, second].map((service) => ask(service, token)))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [401, 401, 401],
      what,
    )
  }

  test('signing out', async () => {
    for (let round = 0; round < 10; round += 1) {
      const token = await signedIn('out')
      await warm(token)
      assert.equal((await ask(first, token, '/auth/logout', 'POST')).status, 204)
      await refused(token, `round ${round}`)
    }
  })

  test('ending one from another device, and ending all others', async () => {
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

  test('blocking, and another role', async () => {
    for (const json of [{ blocked: true }, { role: 'admin' }]) {
      const token = await signedIn(`u-${Object.keys(json)[0]}`)
      await warm(token)
      const { user } = (await (await ask(first, token)).json()) as { user: { id: string } }
      assert.equal((await first.admin(`/users/${user.id}`, { method: 'PATCH', json })).status, 200)
      await refused(token, JSON.stringify(json))
    }
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
  'PostgreSQL: a process that cannot hear the others keeps nothing, reads, and is not waited for',
  { skip: !postgres },
  async () => {
    await using stack = new AsyncDisposableStack()
    const provider = stack.adopt(await startOAuthProvider(), (it) => it.close())
    const database = stack.adopt(await postgres!.createDatabase(), (it) => it.drop())
    const options = { env: provider.env('ACME'), databaseUrl: database.url }
    const first = stack.adopt(await startTestService(postgres!, options), (it) => it.close())
    const second = stack.adopt(await startTestService(postgres!, options), (it) => it.close())
    const admin = stack.adopt(new pg.Client({ connectionString: database.url }), (it) => it.end())
    await admin.connect()
    const cut = async (): Promise<void> => {
      await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = 'postern-revocations' and datname = current_database()`,
      )
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
