// Groups 19, 23 and 24: what a provider says is wrong, half a configuration, and addresses in a profile.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Browser, engines, started, startedService, startTestService } from '#test/harness/index.ts'
import { startOAuthProvider } from '#test/harness/oauth-provider.ts'
import { assertFails, signIn, upToCallback, whoAmI } from '../login/harness.ts'
import { assertProblem } from './harness.ts'

describe('errors of providers and configurations', () => {
  const plain = started(startOAuthProvider)
  const service = startedService(engines[0]!, () => ({ env: plain.env('ACME') }))

  const errors: [error: string, code: string][] = [
    ['access_denied', 'access-denied'],
    ['server_error', 'provider-unavailable'],
    ['temporarily_unavailable', 'provider-unavailable'],
    ['invalid_scope', 'provider-refused'],
    ['ACCESS_DENIED', 'provider-refused'],
    ['<script>alert(1)</script>', 'provider-refused'],
    ['"><img src=x onerror=alert(1)>', 'provider-refused'],
    ['\r\nLocation: https://evil.example', 'provider-refused'],
    ['\0', 'provider-refused'],
    ['sign-in-expired&error=x', 'provider-refused'],
    ['x'.repeat(4_000), 'provider-refused'],
  ]
  for (const [error, code] of errors) {
    test(`error=${JSON.stringify(error.slice(0, 40))} becomes ${code} without showing the text, with or without a code`, async () => {
      for (const withCode of [false, true]) {
        const browser = new Browser()
        const callback = await upToCallback(service, browser)
        if (!withCode) callback.searchParams.delete('code')
        callback.searchParams.set('error', error)
        callback.searchParams.set('error_description', `described<b>${error}`)
        callback.searchParams.set('error_uri', 'https://evil.example/')
        const exchanged = plain.tokenRequests().length
        const location = (await browser.go(callback)).headers.get('location')!
        assert.match(location, new RegExp(`^/login\\?error=${code}&id=[\\w-]+&provider=acme$`))
        const page = await (await browser.go(new URL(location, service.baseUrl))).text()
        assert.ok(!/described|evil|<script>alert|onerror/.test(page))
        assert.equal(plain.tokenRequests().length, exchanged)
        assert.equal(await whoAmI(service, browser), undefined)
      }
    })
  }

  test('an error without a valid state consumes no state and is not attributed to the provider', async () => {
    const [browser, other] = [new Browser(), new Browser()]
    const callback = await upToCallback(service, browser)
    const denied = new URL(callback)
    denied.searchParams.set('error', 'access_denied')
    await upToCallback(service, other)
    await assertFails(service, other, denied, 'sign-in-expired')
    denied.searchParams.delete('state')
    await assertFails(service, browser, denied, 'sign-in-expired')
    assert.equal((await browser.go(callback)).headers.get('location'), '/dashboard')
  })

  test('a provider without a client id is not available', async () => {
    for (const env of [
      { HALF_CLIENT_SECRET: 'x' },
      { HALF_ISSUER: plain.url },
      { HALF_CLIENT_ID: '', HALF_ISSUER: plain.url },
    ] as Record<string, string>[]) {
      const starting = startTestService(engines[0]!, { env: { ...plain.env('ACME'), ...env } })
      const gate = await starting.catch((error: unknown) => {
        assert.equal((error as Error).name, 'ConfigurationError')
      })
      if (!gate) continue
      await assertProblem(await gate.fetch('/auth/half'), 404, 'unknown-provider')
      await assertProblem(await gate.fetch('/auth/half/callback?code=c&state=s'), 404, 'unknown-provider')
      assert.equal(await signIn(gate, new Browser()), '/dashboard', 'the others go on')
      await gate.close()
    }
  })

  test('addresses in a profile are never fetched', async () => {
    const link = `${plain.url}/picture.png`
    plain.profile = {
      id: 'pictured',
      displayName: link,
      picture: link,
      avatar_url: link,
      photos: [{ value: link }],
      image: link,
      website: link,
      emails: [{ value: link }],
    }
    const browser = new Browser()
    assert.equal(await signIn(service, browser), '/dashboard')
    await browser.go(new URL('/auth/session', service.baseUrl))
    await browser.go(new URL('/login', service.baseUrl))
    assert.ok(plain.requests.every(({ url }) => url.pathname !== '/picture.png'))
  })
})
