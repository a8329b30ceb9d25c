// The same callback twice: a double click at the provider, the "Back" button, a prefetch, a HEAD. The person gets the outcome again,
// and nothing is exchanged or created twice. Others get what they always got.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Browser, onEachEngine, onPostgres, postgres, rowsOf, started } from '#test/harness/index.ts'
import { startedService, startTestService, type TestService } from '#test/harness/service.ts'
import { startOAuthProvider } from '#test/harness/oauth-provider.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import {
  accountsOf,
  appStart,
  assertFails,
  counts,
  exchange,
  newPkce,
  spa,
  upToCallback,
  whoAmI,
  codeGrant,
} from '../login/harness.ts'
import { authorizeUrl, callback, toApp } from '../oauth2/harness.ts'

const locationOf = (answer: Response): string => answer.headers.get('location')!
const html = { accept: 'text/html' }

/** What a browser does that gives up a navigation: the request is made, and its answer is lost. */
async function lost(browser: Browser, url: URL | string): Promise<Response> {
  const copy = new Browser()
  for (const [name, value] of browser.cookies(url)) copy.cookies(url).set(name, value)
  return copy.go(url)
}

/** Makes the provider hold the answer to an exchange until `answer` is called. `asked` resolves when the exchange arrives. */
function holdExchange(provider: Awaited<ReturnType<typeof startOAuthProvider>>) {
  const asked = Promise.withResolvers<void>()
  let held: Parameters<NonNullable<typeof provider.token>>[1]
  provider.token = (_request, response) => {
    held = response
    asked.resolve()
  }
  const body = JSON.stringify({ access_token: 'provider-access-token-4711', token_type: 'Bearer' })
  return {
    asked: asked.promise,
    answer: () => void held.writeHead(200, { 'content-type': 'application/json' }).end(body),
  }
}

onEachEngine('the same callback twice', (engine) => {
  let shift = 0
  const provider = started(startOAuthProvider)
  const service = startedService(engine, () => ({
    env: { ...provider.env('ACME'), ...provider.env('OTHER') },
    config: { login: { clients: [{ ...spa, redirectUris: [callback], name: 'The shop' }] } },
    parts: { clock: { ...systemClock, now: () => Date.now() + shift } },
  }))
  const exchanges = (): number => provider.tokenRequests().length

  test('a lost answer: the second one signs in, with one exchange and one session', async () => {
    const browser = new Browser()
    const back = await upToCallback(service, browser, '/auth/acme?return_to=/here')
    const before = [exchanges(), (await counts(service)).sessions] as const
    const first = await lost(browser, back)
    const second = await browser.go(back)
    assert.deepEqual([locationOf(first), locationOf(second)], ['/here', '/here'])
    assert.deepEqual([exchanges(), (await counts(service)).sessions], [before[0] + 1, before[1] + 1])
    assert.ok(await whoAmI(service, browser))
    const signIns = await rowsOf(service, 'audit_log', { action: 'user.signed_in' })
    assert.equal(signIns.length, (await counts(service)).sessions)
  })

  test('the same while the first one runs', async () => {
    const browser = new Browser()
    const back = await upToCallback(service, browser, '/auth/acme?return_to=/here')
    const before = exchanges()
    const { asked, answer } = holdExchange(provider)
    const first = lost(browser, back)
    await asked
    const second = browser.go(back)
    provider.token = undefined
    answer()
    assert.deepEqual((await Promise.all([first, second])).map(locationOf), ['/here', '/here'])
    assert.equal(exchanges(), before + 1)
    assert.ok(await whoAmI(service, browser))
  })

  test('"Back" after the sign-in: the session stays as it is', async () => {
    const browser = new Browser()
    const back = await upToCallback(service, browser, '/auth/acme?return_to=/here')
    await browser.go(back)
    const before = await accountsOf(service)
    const again = await browser.go(back)
    assert.equal(locationOf(again), '/here')
    assert.deepEqual(
      again.headers.getSetCookie().filter((line) => /session/.test(line)),
      [],
    )
    assert.deepEqual(await accountsOf(service), before)
  })

  test('a failure is shown as the same failure, under the same number', async () => {
    const browser = new Browser()
    const back = await upToCallback(service, browser, '/auth/acme?return_to=/here')
    back.searchParams.set('error', 'access_denied')
    const first = locationOf(await browser.go(back))
    assert.match(first, /^\/login\?error=access-denied&id=.*return_to=%2Fhere$/)
    assert.equal(locationOf(await browser.go(back)), first)
    back.searchParams.delete('error')
    const before = exchanges()
    assert.equal(locationOf(await browser.go(back)), first, 'also with another answer')
    assert.equal(exchanges(), before)
    assert.equal(await whoAmI(service, browser), undefined)
  })

  test('another browser, and the same one after ten seconds, are refused as always', async () => {
    const browser = new Browser()
    const back = await upToCallback(service, browser, '/auth/acme?return_to=/here')
    const other = new Browser()
    await upToCallback(service, other)
    await browser.go(back)
    const asked = exchanges()
    await assertFails(service, other, back, 'sign-in-expired')
    await assertFails(service, new Browser(), back, 'sign-in-expired')
    shift += 10_000
    const before = await accountsOf(service)
    const late = await browser.go(back)
    assert.match(locationOf(late), /^\/login\?error=sign-in-expired&.*return_to=%2Fhere$/)
    assert.equal(exchanges(), asked)
    assert.deepEqual(await accountsOf(service), before)
  })

  test('a session that ended meanwhile does not come back', async () => {
    const browser = new Browser()
    const back = await upToCallback(service, browser)
    await browser.go(back)
    const own = { origin: service.baseUrl, 'sec-fetch-site': 'same-origin' }
    await browser.go(new URL('/auth/logout', service.baseUrl), { method: 'POST', headers: own })
    await assertFails(service, browser, back, 'sign-in-expired')
  })

  test('an app gets the same code, and after it has used it, a page leads back to it', async () => {
    const pkce = newPkce()
    const browser = new Browser()
    const start = appStart(pkce, { redirect_uri: callback })
    const back = await upToCallback(service, browser, start)
    const first = locationOf(await lost(browser, back))
    assert.equal(locationOf(await browser.go(back)), first)
    const fields = codeGrant(new URL(first).searchParams.get('code')!, pkce)
    const { status, body } = await exchange(service, fields)
    assert.equal(status, 200, JSON.stringify(body))
    const finished = await browser.go(back)
    assert.equal(finished.status, 200)
    assert.match(await finished.text(), /href="https:\/\/app\.example\.com\/">Back to The shop</)
    const codes = await rowsOf(service, 'authorization_codes', { challenge: pkce.challenge })
    assert.equal(codes.length, 1)
    const refresh = {
      grant_type: 'refresh_token',
      client_id: 'spa',
      refresh_token: String(body['refresh_token']),
    }
    assert.equal((await exchange(service, refresh)).status, 200, 'the sign-in goes on')
  })

  test('an app behind /oauth2/authorize gets one code, whichever navigation is lost', async () => {
    const browser = new Browser()
    const start = await browser.go(authorizeUrl(service, { provider: 'acme' }))
    const back = await upToCallback(service, browser, locationOf(start))
    await lost(browser, back)
    const parked = new URL(locationOf(await browser.go(back)), service.baseUrl)
    const first = locationOf(await lost(browser, parked))
    assert.match(first, /[?&]code=/)
    assert.equal(locationOf(await browser.go(parked)), first)
    const stranger = new Browser()
    await upToCallback(service, stranger)
    assert.equal((await stranger.go(parked)).status, 400)
  })

  test('a sign-in that took too long keeps the way back', async () => {
    const browser = new Browser()
    const back = await upToCallback(service, browser, '/auth/acme?return_to=/here')
    const app = await upToCallback(service, browser, appStart(newPkce(), { redirect_uri: callback }))
    const start = await browser.go(authorizeUrl(service))
    const login = new URL(locationOf(start), service.baseUrl)
    shift += 10 * 60_000 + 1
    const before = exchanges()
    assert.match(locationOf(await browser.go(back)), /^\/login\?error=sign-in-expired&.*return_to=%2Fhere$/)
    const { searchParams } = new URL(locationOf(await browser.go(app)))
    assert.deepEqual(
      [searchParams.get('error'), searchParams.get('state')],
      ['temporarily_unavailable', 'app-state'],
    )
    assert.equal(exchanges(), before)
    shift += 10 * 60_000
    const parked = new URL(login.searchParams.get('return_to')!, service.baseUrl)
    const over = await browser.go(parked, { headers: html })
    assert.equal(over.status, 400)
    const page = await over.text()
    assert.match(page, /<h1>This sign-in is no longer valid<\/h1>/)
    assert.match(page, /href="https:\/\/app\.example\.com\/">Back to The shop</)
  })

  test('HEAD and prefetches use nothing up, at no address that acts', async () => {
    const browser = new Browser()
    const back = await upToCallback(service, browser)
    const signedIn = new Browser()
    await signedIn.go(await upToCallback(service, signedIn))
    const pushed = async (): Promise<URL> => {
      const body = authorizeUrl(service).searchParams
      const answer = await service.fetch('/oauth2/par', { method: 'POST', body })
      const { request_uri: uri } = (await answer.json()) as { request_uri: string }
      return new URL(`/oauth2/authorize?client_id=spa&request_uri=${uri}`, service.baseUrl)
    }
    const request = await pushed()
    const addresses: [browser: Browser, url: URL][] = [
      [browser, back],
      [browser, new URL('/auth/acme', service.baseUrl)],
      [signedIn, authorizeUrl(service)],
      [signedIn, request],
      [signedIn, new URL('/oauth2/end-session', service.baseUrl)],
      ...['start', 'sign-in?host=a.example&browser=x', 'callback?code=x'].map((path): [Browser, URL] => [
        signedIn,
        new URL(`/.postern/${path}`, service.baseUrl),
      ]),
    ]
    const tables = ['flows', 'authorization_requests', 'authorization_codes', 'sessions'] as const
    const rows = async () =>
      Promise.all(tables.map((table) => service.database.reader.selectFrom(table).selectAll().execute()))
    const before = JSON.stringify(await rows())
    for (const [who, url] of addresses) {
      const head = await who.go(url, { method: 'HEAD' })
      assert.deepEqual([head.status, head.headers.get('allow')?.includes('HEAD')], [405, false], url.pathname)
      for (const headers of [
        { 'sec-purpose': 'prefetch' },
        { 'sec-purpose': 'prefetch;prerender' },
        { purpose: 'prefetch' },
        { 'x-moz': 'prefetch' },
        { 'x-purpose': 'preview' },
      ] as Record<string, string>[]) {
        const answer = await who.go(url, { headers })
        assert.equal(answer.status, 425, url.pathname)
        assert.match(answer.headers.get('cache-control')!, /no-store/)
        assert.deepEqual(answer.headers.getSetCookie(), [])
      }
    }
    assert.equal(JSON.stringify(await rows()), before)
    assert.equal(locationOf(await browser.go(back)), '/dashboard')
    assert.match(locationOf(await signedIn.go(request)), /code=/)
    assert.ok((await toApp(service, signedIn, authorizeUrl(service))).searchParams.get('code'))
  })
})

describe('the same callback at two processes', onPostgres, () => {
  const provider = started(startOAuthProvider)
  const database = started(async () => {
    const made = await postgres!.createMigratedDatabase()
    return { url: made.url, close: () => made.drop() }
  })
  const start = (): Promise<TestService> => {
    const env = { ...provider.env('ACME'), BASE_URL: 'http://gate.test', ALLOW_PRIVATE_NETWORK: 'true' }
    return startTestService(postgres!, { env, databaseUrl: database.url })
  }
  const [first, second] = [started(start), started(start)]

  test('the second waits for the outcome of the first', async () => {
    const begun = await first.app.inject('/auth/acme')
    const [cookie] = [begun.headers['set-cookie']].flat().map((line) => line!.split(';')[0]!)
    const approved = await fetch(begun.headers['location'] as string, { redirect: 'manual' })
    const { pathname, search } = new URL(approved.headers.get('location')!)
    const back = { url: pathname + search, headers: { cookie: cookie! } }
    const { asked, answer } = holdExchange(provider)
    const running = first.app.inject(back)
    await asked
    const waiting = second.app.inject(back)
    answer()
    const answers = await Promise.all([running, waiting])
    assert.deepEqual(
      answers.map(({ headers }) => headers['location']),
      ['/dashboard', '/dashboard'],
    )
    assert.equal(provider.tokenRequests().length, 1)
    const tokens = answers.map(
      ({ headers }) => /postern_session=([^;]+)/.exec(String(headers['set-cookie']))![1],
    )
    assert.equal(tokens[0], tokens[1])
    assert.equal((await counts(first)).sessions, 1)
  })
})
