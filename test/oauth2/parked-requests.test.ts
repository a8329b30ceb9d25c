// An authorization request that waits for a sign-in or a consent belongs to the browser that started it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser, onEachEngine, started, startedService, startOAuthProvider } from '../harness/index.ts'
import { signIn } from '../login/harness.ts'
import { authorizeUrl, callback, clients, toApp } from './harness.ts'

onEachEngine('a parked authorization request', (engine) => {
  const provider = started(startOAuthProvider)
  const service = startedService(engine, () => ({
    env: provider.env('ACME'),
    config: { login: { clients } },
  }))

  /** Starts a request without a session; gives the address at which it goes on after the sign-in. */
  async function park(browser: Browser): Promise<URL> {
    const answer = await browser.go(authorizeUrl(service))
    assert.equal(answer.status, 303)
    const login = new URL(answer.headers.get('location')!, service.baseUrl)
    return new URL(login.searchParams.get('return_to')!, service.baseUrl)
  }
  async function signedIn(): Promise<Browser> {
    const browser = new Browser()
    provider.profile = { id: 'victim' }
    await signIn(service, browser)
    return browser
  }

  test('cannot be finished in the browser of a victim: an attacker who sends the link gets no code', async () => {
    const link = await park(new Browser())
    const victim = await signedIn()
    const answer = await victim.go(link, { headers: { accept: 'text/html' } })
    assert.equal(answer.status, 400)
    assert.equal(answer.headers.get('location'), null)
    assert.match(await answer.text(), /started in another browser/)
    const stored = await service.database.reader.selectFrom('authorization_codes').selectAll().execute()
    assert.deepEqual(stored, [])
  })

  test('goes on in the browser that started it, in several tabs', async () => {
    const browser = new Browser()
    const [first, second] = [await park(browser), await park(browser)]
    provider.profile = { id: 'owner' }
    await signIn(service, browser)
    for (const link of [second, first])
      assert.ok((await toApp(service, browser, link)).searchParams.get('code'))
  })

  test('of each of several tabs that begin at once in a browser without a cookie', async () => {
    for (const tabs of [3, 8]) {
      provider.profile = { id: 'restored' }
      const browser = new Browser()
      const starts = Array.from({ length: tabs }, () => authorizeUrl(service, { provider: 'acme' }))
      const parked = await Promise.all(starts.map((start) => browser.go(start)))
      const names = parked.map((answer) => answer.headers.getSetCookie()[0]!.split('=')[0])
      assert.equal(new Set(names).size, tabs)
      const ends = parked.map((answer) => new URL(answer.headers.get('location')!, service.baseUrl))
      for (const end of ends.toReversed())
        assert.ok((await toApp(service, browser, end)).searchParams.get('code'))
      const later = await browser.go(authorizeUrl(service, { prompt: 'login' }))
      assert.equal(later.headers.getSetCookie().length, 1)
      assert.ok(names.includes(later.headers.getSetCookie()[0]!.split('=')[0]), 'an existing cookie is used')
    }
  })

  test('of a browser with too many cookies: the oldest are removed, and the newest still count', async () => {
    const browser = new Browser()
    const parked = await Promise.all(
      Array.from({ length: 50 }, () => browser.go(authorizeUrl(service, { provider: 'acme' }))),
    )
    const ours = () => [...browser.cookies(service.baseUrl).keys()].filter((name) => /browser-/.test(name))
    assert.equal(ours().length, 50)
    const order = ours()
    await browser.go(authorizeUrl(service, { provider: 'acme' }))
    assert.deepEqual(ours(), order.slice(10))
    provider.profile = { id: 'many' }
    const newest = parked.find((answer) => answer.headers.getSetCookie()[0]!.startsWith(order.at(-1)!))!
    const end = new URL(newest.headers.get('location')!, service.baseUrl)
    assert.ok((await toApp(service, browser, end)).searchParams.get('code'))
  })

  test('stores nothing that is wrong, and of what is right only the parameters that are read', async () => {
    const requests = () =>
      service.database.reader.selectFrom('authorization_requests').select('parameters').execute()
    const before = (await requests()).length
    const post = (more: Record<string, string>) =>
      service.fetch('/oauth2/authorize', {
        method: 'POST',
        body: authorizeUrl(service, more).searchParams,
        redirect: 'manual',
      })
    const junk = 'x'.repeat(8_000)
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`p${index}`, '1']))
    for (const wrong of [
      { code_challenge_method: 'plain', junk },
      { response_type: 'token', junk },
      { state: junk },
      { id_token_hint: `${junk}${junk}` },
      { prompt: junk },
      { provider: junk },
      many,
    ]) {
      const answer = await post(wrong)
      const error = new URL(answer.headers.get('location')!).searchParams.get('error')
      assert.ok(['invalid_request', 'unsupported_response_type'].includes(error!), error!)
    }
    assert.equal((await requests()).length, before)
    assert.equal((await post({ junk, prompt: 'login' })).status, 303)
    const stored = await requests()
    assert.equal(stored.length, before + 1)
    assert.ok(!stored.some(({ parameters }) => parameters.includes('junk')))
    const more = junk.slice(0, 4_000)
    const long = {
      scope: `openid ${more}`,
      prompt: 'login '.repeat(700),
      acr_values: `gold ${more}`,
      login_hint: more,
      ui_locales: `de ${more}`,
    }
    assert.equal((await post(long)).status, 303)
    const sizes = (await requests()).map(({ parameters }) => parameters.length)
    assert.ok(Math.max(...sizes) < 2_000, sizes.join(' '))
  })

  test('that a form of another site began belongs to the browser that goes on with it', async () => {
    // The form comes without cookies, so it cannot be bound yet.
    const posted = await service.fetch('/oauth2/authorize', {
      method: 'POST',
      body: authorizeUrl(service).searchParams,
    })
    const next = new URL(posted.headers.get('location')!, service.baseUrl)
    const browser = new Browser()
    const answer = await browser.go(next)
    assert.equal(answer.status, 303)
    assert.match(answer.headers.get('location')!, /^\/login/)
    const victim = await signedIn()
    assert.equal((await victim.go(next)).status, 400)
    await signIn(service, browser)
    assert.ok((await toApp(service, browser, next)).href.startsWith(callback))
  })

  test('of a browser without cookies is refused', async () => {
    const link = await park(new Browser())
    assert.equal((await service.fetch(link.pathname + link.search)).status, 400)
  })

  test('a request cannot be taken over with the cookie alone, nor consented to elsewhere', async () => {
    const link = await park(new Browser())
    const other = new Browser()
    await park(other)
    assert.equal((await other.go(link)).status, 400)
  })
})
