// Authorization requests that an attacker changes, pushes, swaps, repeats or fills.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { before, test } from 'node:test'
import { Browser, listening, onEachEngine, started } from '#test/harness/index.ts'
import { newPkce, codeGrant } from '../login/harness.ts'
import { postForm } from '../oauth2/app-sessions.ts'
import { allow, authorizeUrl, callback, hiddenFields, secret, token } from '../oauth2/harness.ts'
import {
  assertErrorAtApp,
  assertPageOfRefusal,
  assertRecorded,
  startAttackedProvider,
} from './provider-harness.ts'

const evil = { id: 'evil', redirectUris: ['https://evil.example/callback'] }
const audiences = ['https://a.example', 'https://b.example']
const partner = { id: 'partner', redirectUris: [callback], firstParty: false, audiences }
const invalidUri = { code: 'invalid-request-uri' }

onEachEngine('authorization requests of an attacker', (engine) => {
  let victim: Browser
  const attacked = started(() =>
    startAttackedProvider(engine, {
      clients: [
        { id: 'spa', redirectUris: [callback] },
        { id: 'web', redirectUris: [callback], secret },
        partner,
        evil,
      ],
    }),
  )
  before(async () => {
    victim = await attacked.browserOf('victim')
  })

  const push = (more: Record<string, string | undefined> = {}): Promise<Response> =>
    attacked.service.fetch('/oauth2/par', {
      method: 'POST',
      body: authorizeUrl(attacked.service, more).searchParams,
    })
  async function pushed(more: Record<string, string | undefined> = {}): Promise<string> {
    const answer = await push(more)
    assert.equal(answer.status, 201)
    return ((await answer.json()) as { request_uri: string }).request_uri
  }
  const byReference = (clientId: string, requestUri: string, more: Record<string, string> = {}): URL => {
    const url = new URL('/oauth2/authorize', attacked.service.baseUrl)
    url.search = new URLSearchParams({ client_id: clientId, request_uri: requestUri, ...more }).toString()
    return url
  }
  const locationOf = (answer: Response): URL =>
    new URL(answer.headers.get('location')!, attacked.service.baseUrl)

  /** A page without a redirect. It names the app of the address, and a link leads there. */
  const assertOver = (browser: Browser, url: URL): Promise<void> =>
    assertRecorded(attacked, { action: 'app.refused', ...invalidUri }, async () => {
      const page = await browser.go(url, { headers: { accept: 'text/html' } })
      const targets = [page.headers.get('location'), page.headers.get('refresh')]
      assert.deepEqual([page.status, ...targets], [400, null, null])
    })

  test("another app's pushed request, and after that its own app can still use it", async () => {
    const requestUri = await pushed()
    await assertOver(victim, byReference('evil', requestUri))
    const answer = await victim.go(byReference('spa', requestUri))
    assert.ok(locationOf(answer).searchParams.get('code'))
  })

  test('a pushed request twice, twenty times at once, and after its 90 seconds', async () => {
    const used = await pushed()
    assert.equal((await victim.go(byReference('spa', used))).status, 303)
    await assertPageOfRefusal(attacked, { browser: victim, url: byReference('spa', used), ...invalidUri })
    const raced = await pushed()
    const answers = await Promise.all(Array.from({ length: 20 }, () => victim.go(byReference('spa', raced))))
    assert.equal(answers.filter(({ status }) => status === 303).length, 1)
    const late = await pushed()
    attacked.pass(90_000)
    await assertPageOfRefusal(attacked, { browser: victim, url: byReference('spa', late), ...invalidUri })
  })

  test('parameters beside request_uri change nothing', async () => {
    const requestUri = await pushed({ state: 'pushed-state', scope: 'openid' })
    const answer = await victim.go(
      byReference('spa', requestUri, {
        redirect_uri: 'https://evil.example/callback',
        state: 'evil-state',
        scope: 'openid email profile groups',
        code_challenge: newPkce().challenge,
        response_mode: 'form_post',
        prompt: 'none',
      }),
    )
    const location = locationOf(answer)
    assert.equal(location.origin + location.pathname, callback)
    assert.equal(location.searchParams.get('state'), 'pushed-state')
    const row = await attacked.service.database.reader
      .selectFrom('authorization_codes')
      .select('scope')
      .orderBy('expires_at', 'desc')
      .executeTakeFirstOrThrow()
    assert.equal(row.scope, 'openid')
  })

  test('request_uri at http addresses is not fetched, and made-up ones are unknown', async () => {
    let calls = 0
    const trap = createServer((_request, response) => {
      calls += 1
      response.end()
    })
    await using opened = await listening(trap)
    const { port } = opened
    const prefix = 'urn:ietf:params:oauth:request_uri:'
    for (const requestUri of [
      `http://127.0.0.1:${port}/request.jwt`,
      `https://127.0.0.1:${port}/request.jwt`,
      'file:///etc/passwd',
      'http://169.254.169.254/latest/meta-data',
      'URN:ietf:params:oauth:request_uri:x',
    ]) {
      const foreign = { code: 'invalid-redirect-uri', url: byReference('spa', requestUri) }
      await assertPageOfRefusal(attacked, { browser: victim, ...foreign })
      const url = authorizeUrl(attacked.service, { request_uri: requestUri })
      await assertErrorAtApp(attacked, { browser: victim, url, error: 'request_uri_not_supported' })
    }
    for (const made of ['', 'x', 'A'.repeat(5_000), '\u0000', `' or '1'='1`]) {
      const url = byReference('spa', prefix + made)
      await assertPageOfRefusal(attacked, { browser: victim, url, ...invalidUri })
    }
    const nested = await push({ request_uri: `http://127.0.0.1:${port}/` })
    assert.equal(nested.status, 400)
    for (const [more, error] of [
      [{ request: 'eyJhbGciOiJub25lIn0.e30.' }, 'request_not_supported'],
      [{ registration: '{"redirect_uris":["https://evil.example"]}' }, 'registration_not_supported'],
    ] as const)
      await assertErrorAtApp(attacked, {
        browser: victim,
        url: authorizeUrl(attacked.service, more),
        error,
      })
    assert.equal(calls, 0)
  })

  /** Begins a sign-in for the app; the request then waits for the person of this browser. */
  async function park(browser: Browser): Promise<URL> {
    const start = await browser.go(authorizeUrl(attacked.service))
    return new URL(locationOf(start).searchParams.get('return_to')!, attacked.service.baseUrl)
  }

  test('a request that waits: for another app, and after its use', async () => {
    const browser = new Browser()
    const waiting = await park(browser)
    const requestUri = waiting.searchParams.get('request_uri')!
    await attacked.browserOf('waiting', browser)
    await assertOver(browser, byReference('evil', requestUri))
    assert.ok(locationOf(await browser.go(waiting)).searchParams.get('code'))
    attacked.pass(10_000)
    await assertPageOfRefusal(attacked, { browser, url: waiting, ...invalidUri })
    const late = new Browser()
    const url = await park(late)
    await attacked.browserOf('late', late)
    attacked.pass(20 * 60_000)
    await assertPageOfRefusal(attacked, { browser: late, url, ...invalidUri })
  })

  test('a request that waits in the browser of another person', async () => {
    const url = await park(new Browser())
    await assertPageOfRefusal(attacked, { browser: victim, url, ...invalidUri })
  })

  test('twenty uses of a waiting request at once give one code', async () => {
    const browser = new Browser()
    const waiting = await park(browser)
    await attacked.browserOf('hasty', browser)
    const answers = await Promise.all(Array.from({ length: 20 }, () => browser.go(waiting)))
    const codes = answers.map((answer) => locationOf(answer).searchParams.get('code'))
    assert.ok(codes[0])
    assert.equal(new Set(codes).size, 1)
  })

  test("a consent for the attacker's request cannot be moved to another request", async () => {
    const page = await victim.go(authorizeUrl(attacked.service, { client_id: 'partner', scope: 'openid' }))
    assert.equal(page.status, 200)
    const mine = hiddenFields(await page.text()) as { client_id: string; request_uri: string; proof: string }
    const wider = authorizeUrl(attacked.service, { client_id: 'partner', scope: 'openid email' })
    const other = hiddenFields(await (await victim.go(wider)).text())['request_uri']!
    for (const forged of [
      { ...mine, request_uri: other },
      { ...mine, proof: '' },
      { ...mine, proof: mine.proof.slice(0, 8) },
      { ...mine, proof: `${mine.proof}AAAA` },
      { ...mine, client_id: 'evil' },
    ])
      await assertRecorded(attacked, { action: 'app.refused', code: 'invalid-consent' }, async () => {
        const answer = await postForm(attacked.service, victim, '/oauth2/consent', {
          ...forged,
          decision: 'allow',
        })
        assert.equal(answer.status, 400)
      })
  })

  test('a consent for one API does not cover another', async () => {
    const browser = await attacked.browserOf('consenting')
    const ask = (resource: string, more: Record<string, string> = {}): Promise<Response> =>
      browser.go(authorizeUrl(attacked.service, { client_id: 'partner', resource, ...more }))
    await allow(attacked.service, browser, await (await ask('https://a.example')).text())
    assert.ok(locationOf(await ask('https://a.example')).searchParams.get('code'))
    assert.match(await (await ask('https://b.example')).text(), /APIs: <code>https:\/\/b\.example/)
    const silent = locationOf(await ask('https://b.example', { prompt: 'none' }))
    assert.equal(silent.searchParams.get('error'), 'consent_required')
  })

  test('a megabyte, ten thousand parameters, and repeated ones', async () => {
    const base = authorizeUrl(attacked.service).searchParams.toString()
    const many = Array.from({ length: 10_000 }, (_, index) => `p${index}=`).join('&')
    const fewer = Array.from({ length: 60 }, (_, index) => `p${index}=1`).join('&')
    const post = (path: string, body: string, more: Record<string, string> = {}): Promise<Response> =>
      attacked.service.fetch(path, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...more },
      })
    const page = await post('/oauth2/authorize', `${base}&x=${'x'.repeat(1_000_000)}`, {
      accept: 'text/html',
    })
    assert.match(await page.text(), /The app that sent you here made an invalid request\./)
    for (const path of ['/oauth2/par', '/oauth2/authorize'])
      await assertRecorded(attacked, undefined, async () => {
        // RFC 9126, section 2.3.
        assert.equal((await post(path, `${base}&x=${'x'.repeat(1_000_000)}`)).status, 413)
        assert.equal((await post(path, `${base}&${many}`)).status, 413)
      })
    const entry = { action: 'app.refused', code: 'invalid_request', target: 'app:spa' }
    await assertRecorded(attacked, entry, async () => {
      assert.equal((await post('/oauth2/par', `${base}&${fewer}`)).status, 400)
    })
    const url = new URL(`${authorizeUrl(attacked.service).href}&${fewer}`)
    await assertErrorAtApp(attacked, { browser: victim, url, error: 'invalid_request' })
    for (const name of [
      'scope',
      'state',
      'code_challenge',
      'response_type',
      'prompt',
      'nonce',
      'x',
      '__proto__',
    ]) {
      const twice = new URL(`${authorizeUrl(attacked.service, { nonce: 'n' }).href}&${name}=1&${name}=2`)
      await assertErrorAtApp(attacked, { browser: victim, url: twice, error: 'invalid_request' })
    }
  })

  test('NUL, lone surrogates, broken percent signs and long values are errors of the request, never of the service', async () => {
    for (const name of [
      'state',
      'nonce',
      'scope',
      'login_hint',
      'id_token_hint',
      'provider',
      'acr_values',
      'max_age',
    ])
      for (const value of [
        '%00',
        '%ED%A0%80',
        '%',
        '%zz',
        'a'.repeat(5_000),
        '%0d%0aSet-Cookie:%20a=b',
        '%F0%9F%98%80',
      ]) {
        attacked.pass(61_000)
        const url = `${authorizeUrl(attacked.service, { [name]: undefined }).href}&${name}=${value}`
        const answer = await victim.go(url)
        assert.ok([200, 303, 400].includes(answer.status), `${name}=${value.slice(0, 20)}: ${answer.status}`)
        assert.equal(answer.headers.getSetCookie().filter((line) => line.startsWith('a=')).length, 0)
        const location = answer.headers.get('location')
        if (location) assert.doesNotMatch(location, /[\r\n\0]/)
      }
  })

  test('state and redirect URI cannot write headers or markup', async () => {
    const state = `"><script>alert(1)</script>\r\nSet-Cookie: a=b\r\n\r\n<img src=x onerror=alert(1)>`
    const answer = await victim.go(authorizeUrl(attacked.service, { state }))
    assert.equal(locationOf(answer).searchParams.get('state'), state)
    assert.doesNotMatch(answer.headers.get('location')!, /[<>"\r\n]/)
    const form = await victim.go(authorizeUrl(attacked.service, { state, response_mode: 'form_post' }))
    const html = await form.text()
    assert.doesNotMatch(html, /<script>|<img src=x/)
    assert.match(form.headers.get('content-security-policy')!, /script-src 'self'.*frame-ancestors 'none'/)
    assert.equal(form.headers.get('referrer-policy'), 'no-referrer')
    for (const more of [
      { client_id: state },
      { redirect_uri: state },
      { client_id: 'spa', redirect_uri: `${callback}${state}` },
    ])
      await assertPageOfRefusal(attacked, {
        url: authorizeUrl(attacked.service, more),
        code: more.client_id === state ? 'invalid-client-id' : 'invalid-redirect-uri',
      })
  })

  test('errors carry iss and state, also of every unsupported wish', async () => {
    for (const [more, error] of [
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ response_type: 'code id_token' }, 'unsupported_response_type'],
      [{ response_type: '' }, 'invalid_request'],
      [{ response_mode: 'fragment' }, 'invalid_request'],
      [{ response_mode: 'web_message' }, 'invalid_request'],
      [{ scope: 'admin' }, 'invalid_scope'],
      [{ scope: 'events:read users:write' }, 'invalid_scope'],
      [{ scope: '__proto__ constructor' }, 'invalid_scope'],
      [{ resource: 'https://api.example' }, 'invalid_target'],
      [{ prompt: 'none login' }, 'invalid_request'],
      [{ max_age: '-1' }, 'invalid_request'],
      [{ max_age: '1e3' }, 'invalid_request'],
    ] as const) {
      const url = authorizeUrl(attacked.service, more)
      const target = await assertErrorAtApp(attacked, { browser: victim, url, error })
      assert.equal(target.searchParams.get('state'), 'the-state')
    }
  })

  test('a scope that the app is not registered for is left out of the tokens', async () => {
    const pkce = newPkce()
    const url = authorizeUrl(attacked.service, { scope: 'openid admin users:write' }, pkce)
    const code = locationOf(await victim.go(url)).searchParams.get('code')!
    const { body } = await token(attacked.service, codeGrant(code, pkce))
    assert.equal(body['scope'], 'openid')
  })
})
