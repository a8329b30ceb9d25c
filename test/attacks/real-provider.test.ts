// Sign-ins through a real OpenID provider: consent and denial, other keys, a clock that goes wrong, codes that are not
// one's own; and two services behind one address, of which one begins what the other finishes.
import assert from 'node:assert/strict'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import { Browser, listening, started } from '#test/harness/index.ts'
import { onEachEngine, onPostgres, postgres, type TestDatabase } from '#test/harness/engines.ts'
import { startedService, startTestService, type TestService } from '#test/harness/service.ts'
import { startRealProvider, type RealProvider } from '#test/harness/real-provider.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { appStart, assertFails, assertRefused, exchange, newPkce, spa, whoAmI } from '../login/harness.ts'
import { begin, beginLink } from './harness.ts'

const second = 1_000
const minute = 60 * second

const environment = (provider: RealProvider): Record<string, string> =>
  Object.fromEntries(
    ['REAL', 'AGAIN'].flatMap((name) => [
      [`${name}_CLIENT_ID`, provider.client.id],
      [`${name}_CLIENT_SECRET`, provider.client.secret],
      [`${name}_ISSUER`, provider.issuer],
    ]),
  )
const callbacks = (baseUrl: string): string[] =>
  ['real', 'again'].map((name) => `${baseUrl}/auth/${name}/callback`)

onEachEngine('a real OpenID provider', (engine) => {
  const provider = started(startRealProvider)
  const service = startedService(engine, () => ({ env: environment(provider) }))
  before(() => provider.register(callbacks(service.baseUrl)))
  beforeEach(() => {
    provider.exchanges.length = 0
    provider.skew(0)
  })

  /** From the button to the callback, which is not called yet. */
  const upTo = async (browser: Browser, person: string, consents?: boolean): Promise<URL> =>
    provider.visit(browser, await begin(service, browser, '/auth/real'), person, consents)
  async function signsIn(browser: Browser, person: string): Promise<void> {
    const answer = await browser.go(await upTo(browser, person))
    assert.equal(answer.headers.get('location'), '/dashboard')
    assert.equal((await whoAmI(service, browser))!.email, `${person}@example.com`)
  }

  test('consent: signs in, and the next time without a prompt, as the same user', async () => {
    const browser = new Browser()
    await signsIn(browser, 'ada')
    const first = (await whoAmI(service, browser))!
    await browser.go(new URL('/auth/logout', service.baseUrl), { method: 'POST' })
    await signsIn(browser, 'ada')
    assert.deepEqual(await whoAmI(service, browser), first)
    assert.deepEqual(provider.exchanges, [200, 200])
  })

  test('denial: nobody is signed in, and no code is exchanged', async () => {
    const browser = new Browser()
    await assertFails(service, browser, await upTo(browser, 'denies', false), 'access-denied')
    assert.deepEqual(provider.exchanges, [])
  })

  test('linking: a second account by consent; a denial changes nothing', async () => {
    const browser = new Browser()
    await signsIn(browser, 'links')
    // The same browser here, and one there that nobody has signed in with yet.
    const other = new Browser()
    for (const [name, value] of browser.cookies(service.baseUrl))
      other.cookies(service.baseUrl).set(name, value)
    const denied = await provider.visit(
      other,
      await beginLink(service, other, '/auth/again/link'),
      'links-2',
      false,
    )
    await assertRefused(service, other, denied, 'access-denied')
    const linked = await provider.visit(other, await beginLink(service, other, '/auth/again/link'), 'links-2')
    assert.equal((await other.go(linked)).headers.get('location'), '/dashboard')
    assert.equal((await whoAmI(service, other))!.email, 'links@example.com')
  })

  test('new keys: before a sign-in, and during one', async () => {
    await signsIn(new Browser(), 'keys')
    provider.rotate()
    await signsIn(new Browser(), 'keys')
    const browser = new Browser()
    const callback = await upTo(browser, 'keys')
    provider.rotate()
    assert.equal((await browser.go(callback)).headers.get('location'), '/dashboard')
  })

  test('new keys: concurrent sign-ins all succeed', async () => {
    const browsers = Array.from({ length: 6 }, () => new Browser())
    const waiting: URL[] = []
    for (const [index, browser] of browsers.entries()) waiting.push(await upTo(browser, `many-${index}`))
    provider.rotate()
    const answers = await Promise.all(browsers.map((browser, index) => browser.go(waiting[index]!)))
    for (const answer of answers) assert.equal(answer.headers.get('location'), '/dashboard')
  })

  // Its id_tokens are valid for a minute, and a minute of difference is tolerated.
  for (const [name, skew, good] of [
    ['20 seconds ahead', 20 * second, true],
    ['20 seconds behind', -20 * second, true],
    ['50 seconds ahead', 50 * second, true],
    ['100 seconds behind', -100 * second, true],
    ['130 seconds behind', -130 * second, false],
    ['an hour behind', -60 * minute, false],
  ] as const) {
    test(`a clock that is ${name} ${good ? 'does no harm' : 'makes its tokens old: nobody is signed in'}`, async () => {
      provider.skew(skew)
      const browser = new Browser()
      if (good) await signsIn(browser, 'clock')
      else await assertFails(service, browser, await upTo(browser, 'clock'), 'provider-answer-invalid')
    })
  }

  test('foreign codes, used codes and requests without a challenge are refused by the provider, too', async () => {
    const [attacker, victim] = [new Browser(), new Browser()]
    const stolen = (await upTo(victim, 'victim')).searchParams.get('code')!
    const own = await upTo(attacker, 'attacker')
    own.searchParams.set('code', stolen)
    await assertFails(service, attacker, own, 'provider-refused')

    await signsIn(victim, 'victim')
    const callback = await upTo(victim, 'victim')
    const used = callback.searchParams.get('code')!
    assert.equal((await victim.go(callback)).headers.get('location'), '/dashboard')
    const again = await upTo(victim, 'victim')
    again.searchParams.set('code', used)
    await assertRefused(service, victim, again, 'provider-refused')

    const stripped = await begin(service, attacker, '/auth/real')
    for (const name of ['code_challenge', 'code_challenge_method']) stripped.searchParams.delete(name)
    const answered = await provider.visit(attacker, stripped, 'attacker')
    await assertFails(service, attacker, answered, 'provider-refused')
  })
})

onEachEngine('a real OpenID provider, some time after the authentication', (engine) => {
  let shift = 0
  const provider = started(startRealProvider)
  const service = started(() => {
    const clock = { ...systemClock, now: () => Date.now() + shift }
    const env = { ...environment(provider), RECENT_SIGN_IN: '60' }
    return startTestService(engine, { env, parts: { clock } })
  })
  before(() => provider.register(callbacks(service.baseUrl)))

  test('a sign-in without a prompt is no recent sign-in; one with the password is', async () => {
    const browser = new Browser()
    const passes = async (path: string): Promise<void> => {
      const callback = await provider.visit(browser, await begin(service, browser, path), 'ada')
      assert.equal((await browser.go(callback)).headers.get('location'), '/dashboard')
    }
    const links = async (): Promise<number> => {
      const url = new URL('/auth/again/link', service.baseUrl)
      return (await browser.go(url, { method: 'POST', headers: { origin: service.baseUrl } })).status
    }
    await passes('/auth/real')
    assert.equal(await links(), 303, 'right after the password')
    shift = 5 * minute
    provider.skew(shift)
    const silent = await browser.follow(await begin(service, browser, '/auth/real'), (next) =>
      next.href.startsWith(provider.issuer),
    )
    assert.equal(silent.next?.origin, service.baseUrl, 'nobody was asked for anything')
    await browser.go(silent.next)
    assert.equal(await links(), 403)
    const asked = await begin(service, browser, '/auth/real?reauthenticate=true')
    const shown = await browser.follow(asked, (next) => next.origin === provider.issuer)
    assert.match(await shown.response.text(), /name="prompt" value="login"/)
    await passes('/auth/real?reauthenticate=true')
    assert.equal(await links(), 303)
  })

  test('a browser that removes prompt and max_age from the address gets no proof', async () => {
    shift = 0
    provider.skew(0)
    const browser = new Browser()
    const first = await provider.visit(browser, await begin(service, browser, '/auth/real'), 'eve')
    await browser.go(first)
    shift = 5 * minute
    provider.skew(shift)
    const asked = await begin(service, browser, '/auth/real?reauthenticate=true')
    asked.searchParams.delete('prompt')
    asked.searchParams.set('max_age', '31536000')
    const callback = await provider.visit(browser, asked, 'eve')
    await assertRefused(service, browser, callback, 'reauthentication-unproven')
  })
})

describe('two services behind one address, on one PostgreSQL', onPostgres, () => {
  let provider: RealProvider
  let database: TestDatabase
  let services: TestService[]
  let opened: Awaited<ReturnType<typeof listening>>
  /** Which of them gets the next request; or they take turns. */
  let turn: 0 | 1 | 'each' = 0
  let count = 0
  const front = createServer((incoming, outgoing) => {
    const { port } = services[turn === 'each' ? (count += 1) % 2 : turn]!.app.server.address() as AddressInfo
    const { method, url, headers } = incoming
    const passed = httpRequest({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  })
  before(async () => {
    provider = await startRealProvider()
    database = await postgres!.createMigratedDatabase()
    opened = await listening(front)
    const env = { ...environment(provider), BASE_URL: opened.url }
    provider.register(callbacks(env.BASE_URL))
    const options = { env, databaseUrl: database.url, config: { login: { clients: [spa] } } }
    // Their clocks do not quite agree either.
    const ahead = { ...systemClock, now: () => Date.now() + 5 * second }
    services = [
      await startTestService(postgres!, options),
      await startTestService(postgres!, { ...options, parts: { clock: ahead } }),
    ]
  })
  after(async () => {
    for (const service of services) await service.close()
    await database.drop()
    await opened.close()
    await provider.close()
  })

  for (const [beginsAt, endsAt] of [
    [0, 1],
    [1, 0],
  ] as const) {
    const names = ['the first', 'the second']
    const at = `begun at ${names[beginsAt]}, finished at ${names[endsAt]}`

    test(`a sign-in ${at}: both processes accept the session, and refuse the used state elsewhere`, async () => {
      const service = services[0]!
      const browser = new Browser()
      turn = beginsAt
      const asked = await begin(service, browser, '/auth/real')
      const callback = await provider.visit(browser, asked, `person-${beginsAt}`)
      turn = endsAt
      assert.equal((await browser.go(callback)).headers.get('location'), '/dashboard')
      for (turn of [0, 1] as const) {
        assert.equal((await whoAmI(service, browser))!.name, `person-${beginsAt}`)
        await assertRefused(service, new Browser(), callback, 'sign-in-expired')
        assert.equal((await browser.go(callback)).headers.get('location'), '/dashboard', 'the outcome again')
      }
    })

    test(`a link ${at}, with new keys in between`, async () => {
      const service = services[0]!
      const browser = new Browser()
      turn = beginsAt
      const first = await provider.visit(
        browser,
        await begin(service, browser, '/auth/real'),
        `linker-${beginsAt}`,
      )
      assert.equal((await browser.go(first)).headers.get('location'), '/dashboard')
      const callback = await provider.visit(
        browser,
        await beginLink(service, browser, '/auth/again/link'),
        'ignored',
      )
      provider.rotate()
      turn = endsAt
      const linked = await browser.go(callback)
      assert.equal(linked.headers.get('location'), '/dashboard')
      for (turn of [0, 1] as const) assert.equal((await whoAmI(service, browser))!.name, `linker-${beginsAt}`)
    })

    test(`an app's sign-in ${at}: its code works at one of them, once, and refreshing at both at once is no reuse`, async () => {
      const service = services[0]!
      const pkce = newPkce()
      const browser = new Browser()
      turn = beginsAt
      const asked = await begin(service, browser, appStart(pkce).replace('/acme', '/real'))
      const callback = await provider.visit(browser, asked, `app-${beginsAt}`)
      turn = endsAt
      const code = new URL((await browser.go(callback)).headers.get('location')!).searchParams.get('code')!
      const fields = {
        grant_type: 'authorization_code',
        client_id: 'spa',
        code,
        code_verifier: pkce.verifier,
        redirect_uri: spa.redirectUris[0]!,
      }
      turn = beginsAt
      const { status, body } = await exchange(service, fields)
      assert.equal(status, 200)
      const refresh = {
        grant_type: 'refresh_token',
        client_id: 'spa',
        refresh_token: String(body['refresh_token']),
      }
      turn = 'each'
      const both = await Promise.all([exchange(service, refresh), exchange(service, refresh)])
      for (const answer of both) assert.equal(answer.status, 200)
      turn = endsAt
      assert.equal((await exchange(service, fields)).body['error'], 'invalid_grant')
      for (turn of [0, 1] as const) {
        const headers = { authorization: `Bearer ${String(both[turn].body['access_token'])}` }
        assert.equal(
          (await service.fetch('/auth/session', { headers })).status,
          401,
          'a code used twice ends it all',
        )
      }
    })
  }

  test('twenty callbacks of one sign-in, spread over both: all share one outcome', async () => {
    const service = services[0]!
    const browser = new Browser()
    const callback = await provider.visit(browser, await begin(service, browser, '/auth/real'), 'raced')
    turn = 'each'
    const answers = await Promise.all(Array.from({ length: 20 }, () => browser.go(callback)))
    const targets = answers.map((answer) => answer.headers.get('location'))
    assert.deepEqual(targets, Array(20).fill('/dashboard'))
    const cookies = answers.map(
      (answer) => /postern_session=[^;]+/.exec(answer.headers.get('set-cookie') ?? '')?.[0],
    )
    assert.equal(new Set(cookies.filter((cookie) => cookie !== undefined)).size, 1)
    assert.ok(await whoAmI(service, browser))
  })
})
