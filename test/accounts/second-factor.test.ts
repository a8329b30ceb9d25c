// Admins who have to show a second factor (ADMIN_MFA).
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { Browser, engines, started, startOAuthProvider, startTestService } from '#test/harness/index.ts'
import { startOpenIdForger } from '#test/harness/openid-forger.ts'
import { appCode, exchange, newPkce, signIn, whoAmI } from '../login/harness.ts'

const stepUp = '/auth/acme?second_factor=true'

describe('a second factor of admins', () => {
  const forger = started(startOpenIdForger)
  const plain = started(startOAuthProvider)
  const service = started(async () => {
    const console = {
      id: 'console',
      admin: true,
      redirectUris: ['https://console.example.com/callback'],
    }
    return startTestService(engines[0]!, {
      env: {
        ...forger.env('ACME'),
        ...plain.env('PLAIN'),
        ADMIN_IDENTITIES: 'acme:subject-1,plain:boss',
        ADMIN_MFA: 'required',
        ADMIN_ACR_VALUES: 'gold,urn:okta:loa:2fa:any',
      },
      config: { login: { clients: [console] } },
    })
  })
  beforeEach(() => {
    forger.claims = (claims) => claims
  })

  const tells = (more: Record<string, unknown>): void => {
    forger.claims = (claims) => ({ ...claims, ...more })
  }
  async function signedIn(more: Record<string, unknown>, path = '/auth/acme'): Promise<Browser> {
    tells(more)
    const browser = new Browser()
    await signIn(service, browser, path)
    return browser
  }
  /** A call for admins. */
  const audit = (browser: Browser): Promise<Response> => browser.go(new URL('/audit', service.baseUrl))

  for (const [what, claims] of [
    ['no word of it', {}],
    ['a password alone', { amr: ['pwd'], acr: '1' }],
    ['another acr', { acr: 'silver' }],
    ['two values as one text', { acr: 'silver gold' }],
    ['amr as a text', { amr: 'mfa' }],
    ['a longer name', { amr: ['mfa2'], acr: 'golden' }],
  ] as [string, Record<string, unknown>][]) {
    test(`with ${what} an admin has the role user and gets the step-up address`, async () => {
      const browser = await signedIn(claims)
      const answer = await audit(browser)
      assert.equal(answer.status, 403)
      const problem = (await answer.json()) as { code: string; detail: string }
      assert.equal(problem.code, 'second-factor-needed')
      assert.ok(problem.detail.includes(stepUp))
      const session = await browser.go(new URL('/auth/session', service.baseUrl))
      const me = (await session.json()) as { user: { role: string }; stepUp: string }
      assert.equal(me.user.role, 'user')
      assert.equal(me.stepUp, stepUp)
    })
  }

  for (const [what, claims] of [
    ['amr mfa', { amr: ['pwd', 'otp', 'mfa'] }],
    ['an acr that is configured', { acr: 'gold' }],
    ['an authentication context of Microsoft', { acrs: ['c2', 'gold'] }],
  ] as [string, Record<string, unknown>][]) {
    test(`with ${what} an admin has the role admin`, async () => {
      const browser = await signedIn(claims)
      assert.equal((await audit(browser)).status, 200)
      assert.equal((await whoAmI(service, browser))!.role, 'admin')
    })
  }

  test('the step-up requests a second factor from the provider, after which the role is admin', async () => {
    const browser = await signedIn({ amr: ['pwd'] })
    const start = await browser.go(new URL(stepUp, service.baseUrl))
    const asked = new URL(start.headers.get('location')!).searchParams
    assert.equal(asked.get('acr_values'), 'gold urn:okta:loa:2fa:any')
    assert.equal(asked.get('prompt'), 'login')
    tells({ acr: 'gold' })
    await signIn(service, browser, stepUp)
    assert.equal((await audit(browser)).status, 200)
  })

  test('a provider without acr and amr gives no admin role', async () => {
    plain.profile = { id: 'boss' }
    const browser = new Browser()
    await signIn(service, browser, '/auth/plain')
    assert.equal((await audit(browser)).status, 403)
  })

  test("an app's token carries the admin role by the same rule", async () => {
    for (const [claims, status] of [
      [{}, 403],
      [{ amr: ['mfa'] }, 200],
    ] as const) {
      tells(claims)
      const pkce = newPkce()
      const redirectUri = 'https://console.example.com/callback'
      const { body } = await exchange(service, {
        grant_type: 'authorization_code',
        client_id: 'console',
        code: await appCode(service, pkce, { client_id: 'console', redirect_uri: redirectUri }),
        code_verifier: pkce.verifier,
        redirect_uri: redirectUri,
      })
      const headers = { authorization: `Bearer ${String(body['access_token'])}` }
      const answer = await service.fetch('/audit', { headers })
      assert.equal(answer.status, status)
      // RFC 9470: the app learns what to ask for at the authorization endpoint.
      const challenge =
        'Bearer error="insufficient_user_authentication", acr_values="gold urn:okta:loa:2fa:any"'
      assert.equal(answer.headers.get('www-authenticate'), status === 403 ? challenge : null)
    }
  })

  test('users and API keys need no second factor', async () => {
    forger.userinfo['sub'] = 'somebody'
    const browser = await signedIn({ sub: 'somebody' })
    forger.userinfo['sub'] = 'subject-1'
    assert.equal((await audit(browser)).status, 403)
    const session = await browser.go(new URL('/auth/session', service.baseUrl))
    assert.equal('stepUp' in ((await session.json()) as object), false)
    assert.equal((await service.admin('/audit')).status, 200)
  })
})
