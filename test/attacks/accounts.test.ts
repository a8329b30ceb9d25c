// Groups 9 to 11 and 13: getting at somebody else's account by an address, by a link, or by an identity.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser, onEachEngine, rowsOf as rowsIn, started, startedService } from '#test/harness/index.ts'
import type { AnswerTo } from '#test/harness/answers.ts'
import { accountsOf, assertRefused, whoAmI } from '../login/harness.ts'
import { assertProblem, begin, beginLink, signInAs, withoutExchange } from './harness.ts'
import { startHonestProvider, type Person } from './honest-provider.ts'

onEachEngine('accounts of others', (engine) => {
  const provider = started(startHonestProvider)
  const service = startedService(engine, () => ({
    env: { ...provider.env('ACME'), ...provider.env('OTHER'), ADMIN_IDENTITIES: 'acme:boss' },
  }))

  async function signedIn(person: Person | string, path = '/auth/acme'): Promise<Browser> {
    const browser = new Browser()
    assert.equal(await signInAs(service, browser, provider, person, path), '/dashboard')
    return browser
  }
  const idOf = async (browser: Browser): Promise<string> => (await whoAmI(service, browser))!.id
  const call = (browser: Browser, method: string, path: string, headers: Record<string, string> = {}) =>
    browser.go(new URL(path, service.baseUrl), { method, headers })
  const rowsOf = async (userId: string): Promise<unknown> => {
    const { users, identities } = (await accountsOf(service)) as Record<string, Record<string, unknown>[]>
    return [
      users!.filter(({ id }) => id === userId),
      identities!.filter(({ user_id: owner }) => owner === userId),
    ]
  }

  test('pre-hijacking: an e-mail address never joins accounts, verified or not, in any spelling', async () => {
    const spellings = [
      'victim@example.com',
      'VICTIM@Example.COM',
      'vic.tim@example.com',
      'victim+x@example.com',
      ' victim@example.com ',
      'ｖictim@example.com',
      'vıctim@example.com',
      'victim@example.com.',
    ]
    const ids = new Set<string>()
    let count = 0
    for (const email of spellings) {
      for (const verified of [true, false]) {
        for (const path of ['/auth/acme', '/auth/other']) {
          const before = await accountsOf(service)
          const id = `pre-${(count += 1)}`
          ids.add(await idOf(await signedIn({ id, email, email_verified: verified }, path)))
          const now = await accountsOf(service)
          const known = new Set((before['users'] as { id: string }[]).map((user) => user.id))
          const left = (now['users'] as { id: string }[]).filter((user) => known.has(user.id))
          assert.deepEqual(left, before['users'], 'nobody changes')
        }
      }
    }
    assert.equal(ids.size, count)
  })

  test("a provider that sends another person's e-mail address gives no access to their account", async () => {
    const victim = await signedIn({ id: 'mail-victim', email: 'ada@example.com', email_verified: true })
    const victimId = await idOf(victim)
    const attackerId = await idOf(await signedIn({ id: 'mail-attacker', email: 'm@example.com' }))
    const before = await rowsOf(victimId)
    const changed = { id: 'mail-attacker', email: 'ada@example.com', email_verified: true }
    const attacker = await signedIn(changed)
    assert.equal(await idOf(attacker), attackerId)
    assert.deepEqual(await rowsOf(victimId), before)
    assert.equal((await whoAmI(service, attacker))!.email, 'm@example.com', 'nor does the record follow')
  })

  test('the admin role follows the identity, and neither its address, its name nor the id at another provider', async () => {
    const boss = await signedIn({ id: 'boss', name: 'Boss', email: 'boss@example.com', email_verified: true })
    assert.equal((await whoAmI(service, boss))!.role, 'admin')
    const imitations: [string, Person][] = [
      ['/auth/other', { id: 'boss', name: 'Boss', email: 'boss@example.com', email_verified: true }],
      ['/auth/acme', { id: 'boss ', name: 'boss' }],
      ['/auth/acme', { id: 'BOSS' }],
      ['/auth/acme', { id: 'acme:boss', name: 'acme:boss' }],
      ['/auth/acme', { id: 'Boss', email: 'boss' }],
    ]
    for (const [path, person] of imitations)
      assert.equal((await whoAmI(service, await signedIn(person, path)))!.role, 'user', person.id)
  })

  test('similar ids are different people', async () => {
    const alike = [
      'li-1',
      'LI-1',
      'li-1 ',
      ' li-1',
      'li-１',
      'li-\u00e9',
      'li-e\u0301',
      'li-1%',
      'li-_',
      '1',
      '01',
      '1.0',
    ]
    const ids = new Set<string>()
    for (const id of alike) ids.add(await idOf(await signedIn(id)))
    assert.equal(ids.size, alike.length)
  })

  test("linking CSRF: the attacker's link, opened by a signed-in user, links nothing", async () => {
    const [attacker, victim] = [await signedIn('lc-attacker'), await signedIn('lc-victim')]
    const bait = provider.approve(await beginLink(service, attacker), 'lc-attacker-identity')
    await withoutExchange([provider], () => assertRefused(service, victim, bait, 'sign-in-expired'))
    // The same with a link of the victim's own under way.
    await beginLink(service, victim)
    await withoutExchange([provider], () => assertRefused(service, victim, bait, 'sign-in-expired'))
  })

  test('a page of another site cannot start linking', async () => {
    const browser = await signedIn('start')
    const before = await accountsOf(service)
    await assertProblem(await call(browser, 'GET', '/auth/other/link'), 405, 'method-not-allowed')
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `${service.baseUrl}.evil.example` },
      { origin: service.baseUrl.replace('http', 'https') },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', origin: service.baseUrl },
    ]
    for (const headers of foreign)
      await assertProblem(await call(browser, 'POST', '/auth/other/link', headers), 403, 'foreign-origin')
    const flows = await rowsIn(service, 'flows', { purpose: 'link' })
    const { id } = (await whoAmI(service, browser))!
    assert.ok(flows.every(({ user_id: owner }) => owner !== id))
    const told = await service.database.reader
      .selectFrom('audit_log')
      .select(['action', 'code', 'detail', 'actor'])
      .where('user_id', '=', id)
      .where('code', 'is not', null)
      .execute()
    const entry = {
      action: 'call.refused',
      code: 'foreign-origin',
      detail: '{"call":"POST /auth/:provider/link"}',
      actor: `user:${id}`,
    }
    assert.deepEqual(
      told.map(({ action, code, detail, actor }) => ({ action, code, detail, actor })),
      foreign.map(() => entry),
    )
    // A page can make a browser call without end, but not the audit log grow without end.
    for (let time = 0; time < 20; time += 1) await call(browser, 'POST', '/auth/other/link', foreign[0])
    const { count } = await service.database.reader
      .selectFrom('audit_log')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('user_id', '=', id)
      .where('action', '=', 'call.refused')
      .executeTakeFirstOrThrow()
    assert.ok(count <= 11, String(count))
    assert.deepEqual(await accountsOf(service), before)
  })

  test('only the session that started a link can finish it', async () => {
    const [first, second] = [await signedIn('two'), await signedIn('two')]
    const callback = provider.approve(await beginLink(service, first), 'two-more')
    await withoutExchange([provider], () => assertRefused(service, second, callback, 'sign-in-expired'))
    // With the cookie that binds the flow, too, since the session is another one.
    for (const [name, value] of first.cookies(service.baseUrl))
      if (name.startsWith('postern_browser-')) second.cookies(service.baseUrl).set(name, value)
    await assertRefused(service, second, callback, 'session-changed')
  })

  const ends: [name: string, end: (browser: Browser) => Promise<unknown>][] = [
    ['signed out', (browser) => call(browser, 'POST', '/auth/logout')],
    ['signed in as somebody else', (browser) => signInAs(service, browser, provider, 'swapped-in')],
    ['signed in again', (browser) => signInAs(service, browser, provider, 'owner')],
    ['ended from another device', async () => call(await signedIn('owner'), 'DELETE', '/auth/sessions')],
    [
      'blocked',
      async (browser) => {
        const id = await idOf(browser)
        const blocked = await service.admin(`/users/${id}`, { method: 'PATCH', json: { blocked: true } })
        assert.equal(blocked.status, 200)
      },
    ],
  ]
  for (const [name, end] of ends) {
    test(`a link whose session was ${name} meanwhile links no identity`, async () => {
      const browser = await signedIn('owner')
      const callback = provider.approve(await beginLink(service, browser), `never-${name}`)
      await end(browser)
      await assertRefused(service, browser, callback, 'session-changed')
    })
  }

  test('an identity of another user is neither linked nor moved, and the session stays unchanged', async () => {
    await signedIn('taken', '/auth/other')
    const browser = await signedIn('taker')
    const callback = provider.approve(await beginLink(service, browser), 'taken')
    await assertRefused(service, browser, callback, 'identity-taken')
  })

  test('the state of a link cannot sign in, and the state of a sign-in cannot link', async () => {
    const browser = await signedIn('purposes')
    const identities = async (who: Browser): Promise<string[]> => {
      const { data } = (await (
        await call(who, 'GET', '/auth/identities')
      ).json()) as AnswerTo<'GET /auth/identities'>
      return data.map(({ provider: at, providerId }) => `${at}:${providerId}`)
    }
    const link = provider.approve(await beginLink(service, browser), 'purposes-other')
    const elsewhere = new URL(link.href.replace('/auth/other/', '/auth/acme/'))
    await withoutExchange([provider], () => assertRefused(service, browser, elsewhere, 'sign-in-expired'))
    const signIn = await begin(service, browser, '/auth/other')
    await browser.go(provider.approve(signIn, 'purposes-stranger'))
    assert.equal(
      (await whoAmI(service, browser))!.name,
      'purposes-stranger',
      'a sign-in is what it was begun for',
    )
    await assertRefused(service, browser, link, 'session-changed')
    assert.deepEqual(await identities(await signedIn('purposes')), ['acme:purposes'])
  })

  test('users cannot unlink identities of others in any spelling, nor their own last identity', async () => {
    const victim = await signedIn('ul-victim')
    await victim.go(provider.approve(await beginLink(service, victim), 'ul-victim-2'))
    const attacker = await signedIn('ul-attacker')
    const before = await accountsOf(service)
    for (const path of [
      '/auth/identities/other?providerId=ul-victim-2',
      '/auth/identities/acme?providerId=ul-victim',
      '/auth/identities/other',
      '/auth/identities/acme?providerId=%00',
      '/auth/identities/acme?providerId=',
      `/auth/identities/acme?providerId=ul-victim&userId=${await idOf(victim)}`,
      '/auth/identities/%00',
    ]) {
      await assertProblem(await call(attacker, 'DELETE', path), 404, 'not-found')
    }
    await assertProblem(await call(attacker, 'DELETE', '/auth/identities/acme'), 409, 'last-identity')
    const once = '/auth/identities/acme?providerId=ul-attacker'
    await assertProblem(await call(attacker, 'DELETE', once), 409, 'last-identity')
    assert.deepEqual(await accountsOf(service), before)
  })
})
