// Groups 12 and 14: sessions that were planted, copied, or begun for somebody else.
import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'
import { Browser, engines, rowIn, started, startTestService } from '#test/harness/index.ts'
import type { AnswerTo } from '#test/harness/answers.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { accountsOf, assertFails, assertRefused, whoAmI } from '../login/harness.ts'
import { assertProblem, begin, beginLink, signInAs, withoutExchange } from './harness.ts'
import { startHonestProvider } from './honest-provider.ts'

const hour = 3_600_000

describe('sessions of others', () => {
  let shift = 0
  const provider = started(startHonestProvider)
  const service = started(async () => {
    const clock = { ...systemClock, now: () => Date.now() + shift }
    return startTestService(engines[0]!, {
      env: {
        ...provider.env('ACME'),
        ...provider.env('OTHER'),
        SESSION_IDLE: '3600',
        SESSION_LIFETIME: '86400',
      },
      parts: { clock },
    })
  })
  before(async () => {
    // Somebody else is admin throughout: over HTTP the last one is not blocked, and one of those below becomes admin.
    await patch(await signedIn('caretaker'), { role: 'admin' })
  })
  beforeEach(() => {
    shift = 0
  })

  async function signedIn(person: string): Promise<Browser> {
    const browser = new Browser()
    assert.equal(await signInAs(service, browser, provider, person), '/dashboard')
    return browser
  }
  const tokenOf = (browser: Browser): string => browser.cookies(service.baseUrl).get('postern_session')!
  const call = (browser: Browser, method: string, path: string): Promise<Response> =>
    browser.go(new URL(path, service.baseUrl), { method })
  /** What somebody gets who has copied the cookie. */
  const withCookie = (cookie: string, method = 'GET', path = '/auth/session'): Promise<Response> =>
    service.fetch(path, { method, headers: { cookie } })
  const idOf = async (browser: Browser): Promise<string> => (await whoAmI(service, browser))!.id
  const patch = async (browser: Browser, json: unknown): Promise<void> => {
    const changed = await service.admin(`/users/${await idOf(browser)}`, { method: 'PATCH', json })
    assert.equal(changed.status, 200)
  }

  test('an authorization URL of an attacker signs nobody in', async () => {
    const [attacker, victim] = [new Browser(), await signedIn('mail-victim')]
    const mailed = await begin(service, attacker)
    const callback = provider.approve(mailed, 'mail-victim')
    await withoutExchange([provider], () => assertRefused(service, victim, callback, 'sign-in-expired'))
    await withoutExchange([provider], () => assertFails(service, new Browser(), callback, 'sign-in-expired'))
  })

  test('a planted session cookie is not adopted, in any order and number', async () => {
    const attacker = tokenOf(await signedIn('planter'))
    const before = await accountsOf(service)
    const victim = new Browser()
    victim.cookies(service.baseUrl).set('postern_session', attacker)
    await signInAs(service, victim, provider, 'planted')
    assert.notEqual(tokenOf(victim), attacker)
    assert.equal((await whoAmI(service, victim))!.name, 'planted')
    assert.ok((await accountsOf(service))['sessions']!.length > before['sessions']!.length)
    // The session that was planted ends with the sign-in over it: nobody shares it.
    await assertProblem(await withCookie(`postern_session=${attacker}`), 401, 'not-signed-in')
  })

  const ends: [name: string, end: (browser: Browser) => Promise<unknown>][] = [
    ['signing out', (browser) => call(browser, 'POST', '/auth/logout')],
    [
      'being ended by its id',
      async (browser) => {
        const { data } = (await (
          await call(browser, 'GET', '/auth/sessions')
        ).json()) as AnswerTo<'GET /auth/sessions'>
        const { id } = data.find(({ current }) => current)!
        return call(browser, 'DELETE', `/auth/sessions/${id}`)
      },
    ],
    ['being ended with all others', async () => call(await signedIn('copied'), 'DELETE', '/auth/sessions')],
    ['signing in again', (browser) => signInAs(service, browser, provider, 'copied')],
    ['signing in as somebody else', (browser) => signInAs(service, browser, provider, 'copied-other')],
    [
      'linking an identity',
      async (browser) => {
        const linked = await browser.go(
          provider.approve(await beginLink(service, browser), `cl-${Math.random()}`),
        )
        assert.equal(linked.headers.get('location'), '/dashboard')
      },
    ],
    ['another role', (browser) => patch(browser, { role: 'admin' })],
    ['an hour without use', async () => void (shift = hour + 1_000)],
    ['a day, however it was used', async () => void (shift = 24 * hour + 1_000)],
    [
      'a block, also when it is lifted again',
      async (browser) => {
        const id = await idOf(browser)
        for (const blocked of [true, false])
          await service.admin(`/users/${id}`, { method: 'PATCH', json: { blocked } })
      },
    ],
  ]
  for (const [name, end] of ends) {
    test(`a copied cookie is invalid after ${name}`, async () => {
      const browser = await signedIn('copied')
      const copy = `postern_session=${tokenOf(browser)}`
      assert.equal((await withCookie(copy)).status, 200)
      await end(browser)
      const before = await accountsOf(service)
      for (const [method, path] of [
        ['GET', '/auth/session'],
        ['GET', '/auth/sessions'],
        ['DELETE', '/auth/sessions'],
        ['POST', '/auth/other/link'],
        ['DELETE', '/auth/identities/acme'],
      ] as const)
        await assertProblem(await withCookie(copy, method, path), 401, 'not-signed-in')
      assert.deepEqual(await accountsOf(service), before)
    })
  }

  test('users cannot revoke sessions of others', async () => {
    const [victim, attacker] = [await signedIn('sid-victim'), await signedIn('sid-attacker')]
    const { session } = (await (
      await call(victim, 'GET', '/auth/session')
    ).json()) as AnswerTo<'GET /auth/session'>
    const before = await accountsOf(service)
    for (const id of [session.id, session.id.toUpperCase(), `${session.id}%00`, '..%2flogout', '%'])
      assert.ok([400, 404].includes((await call(attacker, 'DELETE', `/auth/sessions/${id}`)).status), id)
    assert.deepEqual(await accountsOf(service), before)
    assert.ok(await whoAmI(service, victim))
  })

  test('the id of a session, its hash and the binding cookie are not accepted as a session', async () => {
    const browser = await signedIn('forms')
    const { session } = (await (
      await call(browser, 'GET', '/auth/session')
    ).json()) as AnswerTo<'GET /auth/session'>
    const row = await rowIn(service, 'sessions', { id: session.id })
    const token = tokenOf(browser)
    for (const value of [
      session.id,
      Buffer.from(row.token_hash).toString('base64url'),
      [...browser.cookies(service.baseUrl)].find(([name]) => name.startsWith('postern_browser-'))![1],
      `${token}A`,
      token.slice(0, -1),
      `${token.slice(0, -1)}${token.endsWith('A') ? 'Q' : 'A'}`,
    ])
      await assertProblem(await withCookie(`postern_session=${value}`), 401, 'not-signed-in')
    const bearer = await service.fetch('/auth/session', { headers: { authorization: `Bearer ${token}` } })
    await assertProblem(bearer, 401, 'not-signed-in')
  })

  test('a clock that is set back or forward accepts no expired session and breaks nothing', async () => {
    const browser = await signedIn('clock')
    const begun = await begin(service, browser)
    shift = -30 * 60_000
    assert.ok(await whoAmI(service, browser), 'an hour back is still within what the session may last')
    const callback = provider.approve(begun, 'clock')
    assert.equal((await browser.go(callback)).headers.get('location'), '/dashboard')
    shift = 25 * hour
    assert.equal(await whoAmI(service, browser), undefined)
    const stale = provider.approve(await begin(service, browser), 'clock')
    shift = 26 * hour
    await assertFails(service, browser, stale, 'sign-in-expired')
  })
})
