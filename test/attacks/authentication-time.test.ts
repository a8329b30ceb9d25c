// Group 11: a sign-in that only looks recent. What counts is when the provider authenticated the person, by its own word.
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { Browser, engines, started, startOAuthProvider, startTestService } from '#test/harness/index.ts'
import { startOpenIdForger } from '#test/harness/openid-forger.ts'
import { assertRefused, signIn, upToCallback, whoAmI } from '../login/harness.ts'
import { assertProblem, begin } from './harness.ts'

const year2001 = 1_000_000_000
const again = '/auth/acme?reauthenticate=true&return_to=/settings'

describe('the time of an authentication', () => {
  const forger = started(startOpenIdForger)
  const plain = started(startOAuthProvider)
  const start = (more = {}) =>
    startTestService(engines[0]!, { env: { ...forger.env('ACME'), ...plain.env('PLAIN'), ...more } })
  const service = started(() => start())
  const strict = started(() => start({ RECENT_SIGN_IN_PROOF: 'required' }))
  beforeEach(() => {
    forger.claims = (claims) => claims
  })

  const authTime = (value: unknown): void => {
    forger.claims = ({ auth_time: _own, ...claims }) => ({
      ...claims,
      ...(value !== undefined && { auth_time: value }),
    })
  }
  const seconds = (): number => Math.floor(Date.now() / 1000)
  const link = (browser: Browser, at = service): Promise<Response> =>
    browser.go(new URL('/auth/plain/link', at.baseUrl), { method: 'POST', headers: { origin: at.baseUrl } })
  const unlink = (browser: Browser): Promise<Response> =>
    browser.go(new URL('/auth/identities/plain', service.baseUrl), { method: 'DELETE' })

  const pretended: [what: string, value: () => unknown][] = [
    ['of 2001', () => year2001],
    ['of an hour ago', () => seconds() - 3_600],
    ['of tomorrow', () => seconds() + 86_400],
    ['in milliseconds', () => Date.now()],
    ['as a text', () => String(seconds())],
  ]
  for (const [what, value] of pretended) {
    test(`an auth_time ${what} is no recent sign-in, so linking and unlinking are refused`, async () => {
      const browser = new Browser()
      const sent = value()
      authTime(sent)
      if (typeof sent === 'string') {
        // openid-client takes numbers only: the sign-in itself fails.
        assert.match(await signIn(service, browser), /provider-answer-invalid/)
        return
      }
      assert.equal(await signIn(service, browser), '/dashboard', 'an ordinary sign-in goes on')
      const refused = await link(browser)
      const problem = (await refused.clone().json()) as { detail: string }
      await assertProblem(refused, 403, 'reauthentication-needed')
      assert.match(problem.detail, /\/auth\/acme\?reauthenticate=true/)
      await assertProblem(await unlink(browser), 403, 'reauthentication-needed')
    })

    test(`after a request to reauthenticate, an auth_time ${what} is refused`, async () => {
      const browser = new Browser()
      authTime(seconds())
      await signIn(service, browser)
      const sent = value()
      authTime(sent)
      const code = typeof sent === 'string' ? 'provider-answer-invalid' : 'reauthentication-unproven'
      await assertRefused(service, browser, await upToCallback(service, browser, again), code)
    })
  }

  test('a provider without auth_time is accepted by default, and refused where a proof is required', async () => {
    authTime(undefined)
    const browser = new Browser()
    assert.equal(await signIn(service, browser), '/dashboard')
    assert.equal((await link(browser)).status, 303)
    const other = new Browser()
    assert.equal(await signIn(strict, other), '/dashboard')
    await assertProblem(await link(other, strict), 403, 'reauthentication-needed')
  })

  test('the time of the authentication is stored, and never a future time', async () => {
    const rows = async () =>
      service.database.reader
        .selectFrom('sessions')
        .select(['authenticated_at', 'authentication_proof'])
        .orderBy('id', 'desc')
        .executeTakeFirstOrThrow()
    authTime(year2001)
    await signIn(service, new Browser())
    assert.deepEqual(
      { ...(await rows()) },
      {
        authenticated_at: year2001 * 1000,
        authentication_proof: 'verified',
      },
    )
    authTime(seconds() + 30)
    await signIn(service, new Browser())
    assert.ok((await rows()).authenticated_at <= Date.now())
  })

  test('the provider is asked to reauthenticate only when necessary, and the call then continues', async () => {
    const ordinary = await begin(service, new Browser())
    assert.equal(ordinary.searchParams.get('prompt'), null)
    assert.equal(ordinary.searchParams.get('max_age'), '31536000', 'so that auth_time comes at all')
    const browser = new Browser()
    authTime(year2001)
    await signIn(service, browser)
    const asked = await begin(service, browser, again)
    assert.equal(asked.searchParams.get('prompt'), 'login')
    assert.equal(asked.searchParams.get('max_age'), '0')
    authTime(seconds())
    assert.equal(await signIn(service, browser, again), '/settings')
    assert.equal((await link(browser)).status, 303)
  })

  test('a page is redirected to /login, whose buttons request reauthentication', async () => {
    const browser = new Browser()
    authTime(year2001)
    await signIn(service, browser)
    const headers = { origin: service.baseUrl, 'sec-fetch-dest': 'document' }
    const url = new URL('/auth/plain/link?return_to=/settings', service.baseUrl)
    const led = await browser.go(url, { method: 'POST', headers })
    const page = await (await browser.go(new URL(led.headers.get('location')!, service.baseUrl))).text()
    assert.ok(page.includes('href="/auth/acme?reauthenticate=true&amp;return_to=%2Fsettings"'), page)
    assert.ok(
      !(await (await browser.go(new URL('/login', service.baseUrl))).text()).includes('reauthenticate'),
    )
  })

  test('without proof by the provider, the time of the sign-in counts unless a proof is required', async () => {
    for (const [at, status] of [
      [service, 303],
      [strict, 403],
    ] as const) {
      const browser = new Browser()
      plain.profile = { id: 'plain' }
      const start = await begin(at, browser, '/auth/plain?reauthenticate=true')
      assert.equal(start.searchParams.get('prompt'), null)
      assert.equal(start.searchParams.get('max_age'), null)
      await signIn(at, browser, '/auth/plain?reauthenticate=true')
      assert.ok(await whoAmI(at, browser))
      const path = new URL('/auth/acme/link', at.baseUrl)
      const answer = await browser.go(path, { method: 'POST', headers: { origin: at.baseUrl } })
      assert.equal(answer.status, status)
      if (status === 403) assert.match(await answer.text(), /plain cannot prove/)
    }
    const browser = new Browser()
    await signIn(strict, browser)
    assert.equal((await link(browser, strict)).status, 303, 'one that proves it may')
  })
})
