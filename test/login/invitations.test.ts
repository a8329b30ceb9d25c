// Who may create an account: `login.admission`, and invitations, with the attacks of a thief, a phisher and a former admin.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { Browser, onEachEngine, rowsOf, started, startOAuthProvider } from '#test/harness/index.ts'
import { startTestService } from '#test/harness/service.ts'
import type { AnswerTo } from '#test/harness/answers.ts'
import { resolveLoginConfig, type LoginConfig } from '../../src/login/config.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { clockWith } from '../harness/manual-clock.ts'
import { appStart, assertFails, counts, newPkce, signIn, spa, upToCallback, whoAmI } from './harness.ts'

type Invitation = AnswerTo<'GET /invitations'>['data'][number]

onEachEngine('admission and invitations', (engine) => {
  /** Set by each test; the setting itself is a hook, which decides like the setting of this value. */
  let admits: Extract<LoginConfig['admission'], (...args: never[]) => unknown> = () => false
  let ahead = 0
  const lines: string[] = []
  const provider = started(startOAuthProvider)
  // A hook's time-out of five seconds is over at once: only a hook that hangs sees it.
  const clock = { ...clockWith({ 5_000: 200 }), now: () => Date.now() + ahead }
  const start = (admission: LoginConfig['admission']) =>
    startTestService(engine, {
      env: {
        ...provider.env('ACME'),
        ADMIN_IDENTITIES: 'acme:boss',
        RECENT_SIGN_IN: '600',
        LOG_LEVEL: 'debug',
      },
      config: { login: { clients: [spa], ...(admission !== undefined && { admission }) } },
      parts: { clock, log: createLog('debug', { write: (line: string) => void lines.push(line) }) },
    })
  const service = started(() => start('invited'))
  const hooked = started(() => start((...about) => admits(...about)))
  beforeEach(() => {
    ahead = 0
  })

  const become = (id: string, email?: string, verified: boolean | null = true): void =>
    void (provider.profile = { id, displayName: `The ${id}`, email, email_verified: verified })
  const invite = async (json: object): Promise<Invitation & { url: string }> => {
    const answer = await service.admin('/invitations', { method: 'POST', json })
    assert.equal(answer.status, 201)
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    return (await answer.json()) as Invitation & { url: string }
  }
  /** Opens a link in a new browser. */
  const opened = async ({ url }: { url: string }): Promise<Browser> => {
    const browser = new Browser()
    const answer = await browser.go(new URL(url))
    assert.equal(answer.headers.get('location'), '/login?invitation=true')
    return browser
  }
  const accept = '/auth/acme?invitation=true'
  const listed = async (id: string): Promise<Invitation> => {
    const { data } = (await (await service.admin('/invitations?limit=100')).json()) as { data: Invitation[] }
    return data.find((one) => one.id === id)!
  }
  const call = (browser: Browser, method: string, path: string, json?: unknown): Promise<Response> =>
    browser.go(new URL(path, service.baseUrl), {
      method,
      headers: { 'content-type': 'application/json' },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    })
  const newKey = async (scopes: string[]): Promise<{ id: string; key: string }> => {
    const answer = await service.admin('/keys', { method: 'POST', json: { name: 'shop', scopes } })
    return (await answer.json()) as { id: string; key: string }
  }
  const byKey = (key: string, json: object): Promise<Response> =>
    service.fetch('/invitations', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(json),
    })

  test('invited: a stranger is rejected with advice, an app gets access_denied, and admins by configuration are accepted', async () => {
    become('stranger', 'stranger@example.com')
    const browser = new Browser()
    await assertFails(service, browser, await upToCallback(service, browser), 'not-invited')
    const page = await (await service.fetch('/login?error=not-invited')).text()
    assert.match(page, /New accounts need an invitation\. Ask your administrator/)
    const answer = new URL(await signIn(service, new Browser(), appStart(newPkce())))
    assert.equal(answer.searchParams.get('error'), 'access_denied')
    become('boss')
    assert.equal(await signIn(service, browser), '/dashboard')
    assert.equal((await whoAmI(service, browser))!.role, 'admin')
  })

  test('by address: the page says who invites whom, and the new user has the role and the groups', async () => {
    const made = await invite({ email: 'Ada@Example.com', role: 'admin', groups: ['staff', 'ops'] })
    const browser = await opened(made)
    const page = await (await browser.go(new URL('/login?invitation=true', service.baseUrl))).text()
    assert.match(page, /You are invited to <strong>Postern<\/strong>/)
    assert.match(page, /verified email address is <strong>ada@example\.com<\/strong>/)
    assert.match(page, /href="\/auth\/acme\?invitation=true"/)
    become('ada', 'aDA@example.COM')
    assert.equal(await signIn(service, browser, accept), '/dashboard')
    const me = (await whoAmI(service, browser))!
    assert.equal(me.role, 'admin')
    const user = (await (await service.admin(`/users/${me.id}`)).json()) as AnswerTo<'GET /users/{id}'>
    assert.deepEqual([user.groups, user.adminBy], [['ops', 'staff'], 'role'])
    const { status, usedBy, usedByName, createdByName } = await listed(made.id)
    assert.deepEqual([status, usedBy, usedByName, createdByName], ['used', me.id, 'The ada', 'ADMIN_API_KEY'])
    const entries = await rowsOf(service, 'audit_log', { target: `invitation:${made.id}` }, 'seq')
    assert.deepEqual(
      entries.map(({ action, actor }) => `${action} ${actor}`),
      [
        'invitation.created key:ADMIN_API_KEY',
        `invitation.used user:${me.id}`,
        'user.role_changed key:ADMIN_API_KEY',
      ],
    )
    // The groups can be taken away again, which ends the sessions.
    const change = await service.admin(`/users/${me.id}`, { method: 'PATCH', json: { groups: ['staff'] } })
    assert.equal(change.status, 200)
    assert.equal(await whoAmI(service, browser), undefined)
    const after = (await (await service.admin(`/users/${me.id}`)).json()) as { ownGroups: string[] }
    assert.deepEqual(after.ownGroups, ['staff'])
    assert.equal((await service.admin(`/users/${me.id}`, { method: 'DELETE' })).status, 204)
    assert.equal(await listed(made.id), undefined, 'the address goes with the user')
  })

  test('by link: it works once', async () => {
    const made = await invite({})
    const [first, second] = [await opened(made), await opened(made)]
    become('guest')
    await signIn(service, first, accept)
    assert.equal((await whoAmI(service, first))!.role, 'user')
    become('thief')
    await assertFails(service, second, await upToCallback(service, second, accept), 'invitation-invalid')
    const page = await (await second.go(new URL('/login?invitation=true', service.baseUrl))).text()
    assert.match(page, /no longer valid/)
    assert.doesNotMatch(page, /\/auth\/acme\?invitation/)
    become('guest')
    await signIn(service, second)
    assert.equal((await whoAmI(service, second))!.role, 'user', 'a user who exists needs none')
  })

  test('two uses at once create one user', async () => {
    const made = await invite({ role: 'admin' })
    const callbacks: [Browser, URL][] = []
    for (let people = 0; people < 3; people += 1) {
      const browser = await opened(made)
      callbacks.push([browser, await upToCallback(service, browser, accept)])
    }
    const before = await counts(service)
    let asked = 0
    provider.profile = {
      get id() {
        asked += 1
        return `at-once-${asked}`
      },
    }
    const answers = await Promise.all(callbacks.map(([browser, url]) => browser.go(url)))
    const targets = answers.map((answer) => answer.headers.get('location')!.split('&')[0])
    const refused = '/login?error=invitation-invalid'
    assert.deepEqual(
      targets.toSorted((a, b) => (a! < b! ? -1 : 1)),
      ['/dashboard', refused, refused],
    )
    assert.equal((await counts(service)).users, before.users + 1)
  })

  test('a stolen link for an address: another, an unverified, a missing and a look-alike address are rejected', async () => {
    const made = await invite({ email: 'kim@example.com', role: 'admin' })
    const thief = await opened(made)
    for (const [email, verified] of [
      ['eve@example.com', true],
      ['kim@example.com', false],
      ['kim@example.com', null],
      ['\u212aim@example.com', true],
      [undefined, true],
    ] as const) {
      become('eve', email, verified)
      await assertFails(service, thief, await upToCallback(service, thief, accept), 'invitation-mismatch')
    }
    const location = await signIn(service, thief, accept)
    assert.match(location, /error=invitation-mismatch.*invitation=true/, 'the next attempt uses it again')
    assert.equal((await listed(made.id)).status, 'open')
  })

  test('an existing user keeps their role and groups, sees a notice, and leaves the invitation unused', async () => {
    const made = await invite({ role: 'admin', groups: ['ops'] })
    become('guest')
    const browser = await opened(made)
    await signIn(service, browser, accept)
    assert.equal((await whoAmI(service, browser))!.role, 'user')
    assert.equal((await listed(made.id)).status, 'open')
    const page = await (await browser.go(new URL('/login?invitation=true', service.baseUrl))).text()
    assert.match(page, /signed in as <strong>The guest<\/strong>/)
    assert.match(page, /The invitation is for a new account/)
  })

  test('revoked, expired and guessed invitations are rejected', async () => {
    const revoked = await invite({})
    assert.equal((await service.admin(`/invitations/${revoked.id}`, { method: 'DELETE' })).status, 204)
    assert.equal((await service.admin(`/invitations/${revoked.id}`, { method: 'DELETE' })).status, 404)
    const expired = await invite({ expiresIn: 60 })
    const late = await opened(expired)
    become('late')
    // It expires while the person is at the provider.
    const callback = await upToCallback(service, late, accept)
    ahead = 60_000
    await assertFails(service, late, callback, 'invitation-invalid')
    const guess = `${service.baseUrl}/invitation/${'A'.repeat(43)}`
    for (const url of [revoked.url, expired.url, guess]) {
      const browser = await opened({ url })
      await assertFails(service, browser, await upToCallback(service, browser, accept), 'invitation-invalid')
    }
    const without = new Browser()
    await assertFails(service, without, await upToCallback(service, without, accept), 'invitation-invalid')
    assert.deepEqual(
      [(await listed(revoked.id)).status, (await listed(expired.id)).status],
      ['revoked', 'expired'],
    )
  })

  test('a former admin and a thief with a revoked key cannot get back in with their own invitations', async () => {
    become('former')
    const former = await opened(await invite({ role: 'admin' }))
    await signIn(service, former, accept)
    const { id } = (await whoAmI(service, former))!
    const created = await call(former, 'POST', '/invitations', { role: 'admin' })
    assert.equal(created.status, 201)
    const backDoor = (await created.json()) as Invitation & { url: string }
    assert.equal(backDoor.createdByName, 'The former')
    const { id: keyId, key } = await newKey(['users:write'])
    const byThief = (await (await byKey(key, {})).json()) as { url: string }
    const shown = await (
      await (await opened(backDoor)).go(new URL('/login?invitation=true', service.baseUrl))
    ).text()
    assert.match(shown, /<strong>The former<\/strong> invited you/)
    assert.equal(
      (await service.admin(`/users/${id}`, { method: 'PATCH', json: { role: 'user' } })).status,
      200,
    )
    assert.equal((await service.admin(`/keys/${keyId}`, { method: 'DELETE' })).status, 204)
    assert.equal((await listed(backDoor.id)).status, 'suspended')
    become('second-account')
    for (const made of [backDoor, byThief]) {
      const browser = await opened(made)
      await assertFails(service, browser, await upToCallback(service, browser, accept), 'invitation-invalid')
    }
  })

  test('nor can a thief with the secret of an app that was deleted', async () => {
    const client = { name: 'job', redirectUris: [], clientCredentials: true, scopes: ['users:write'] }
    const registered = await service.admin('/clients', { method: 'POST', json: client })
    assert.equal(registered.status, 201)
    const { id, secret } = (await registered.json()) as { id: string; secret: string }
    const granted = await service.fetch('/oauth2/token', {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: id,
        client_secret: secret,
      }),
    })
    const { access_token: token } = (await granted.json()) as { access_token: string }
    const [kept, used] = await Promise.all([byKey(token, {}), byKey(token, {})])
    assert.deepEqual([kept.status, used.status], [201, 201])
    become('guest of an app')
    const guest = await opened((await used.json()) as { url: string })
    assert.equal(await signIn(service, guest, accept), '/dashboard')
    assert.equal((await service.admin(`/clients/${id}`, { method: 'DELETE' })).status, 204)
    become('thief with a secret')
    const thief = await opened((await kept.json()) as { url: string })
    await assertFails(service, thief, await upToCallback(service, thief, accept), 'invitation-invalid')
  })

  test('nor can a thief with an ADMIN_API_KEY that was changed', async () => {
    const home = await engine.createMigratedDatabase()
    const run = (env: Record<string, string | undefined>) =>
      startTestService(engine, { databaseUrl: home.url, env: { ...provider.env('ACME'), ...env } })
    const before = await run({})
    const json = { role: 'admin' }
    const made = await before.admin('/invitations', { method: 'POST', json })
    const { pathname } = new URL(((await made.json()) as { url: string }).url)
    await before.close()
    become('thief with a key')
    for (const key of ['pk_test_another_key_0123456789', undefined]) {
      const after = await run({ ADMIN_API_KEY: key })
      const thief = await opened({ url: after.baseUrl + pathname })
      await assertFails(after, thief, await upToCallback(after, thief, accept), 'invitation-invalid')
      await after.close()
    }
    const again = await run({})
    const guest = await opened({ url: again.baseUrl + pathname })
    assert.equal(await signIn(again, guest, accept), '/dashboard')
    await again.close()
    await home.drop()
  })

  test('nobody grants more rights than they have: keys without admin, old sign-ins, users', async () => {
    const { key } = await newKey(['users:write'])
    assert.equal((await byKey(key, {})).status, 201)
    for (const json of [{ role: 'admin' }, { groups: ['ops'] }])
      assert.equal((await byKey(key, json)).status, 403)
    const { key: reader } = await newKey(['users:read'])
    assert.equal((await byKey(reader, {})).status, 403)
    become('boss')
    const boss = new Browser()
    await signIn(service, boss)
    become('guest')
    const guest = new Browser()
    await signIn(service, guest)
    assert.equal((await call(guest, 'POST', '/invitations', {})).status, 403)
    assert.equal((await call(guest, 'GET', '/invitations')).status, 403)
    ahead = 601_000
    assert.equal((await call(boss, 'POST', '/invitations', {})).status, 201)
    const late = await call(boss, 'POST', '/invitations', { role: 'admin' })
    assert.equal(((await late.json()) as { code: string }).code, 'reauthentication-needed')
    const [entry] = await rowsOf(service, 'audit_log', { action: 'invitation.create_failed' })
    assert.equal(entry?.code, 'reauthentication-needed')
    const own = await call(guest, 'GET', '/auth/session')
    const { id } = ((await own.json()) as { user: { id: string } }).user
    for (const json of [{ role: 'admin' }, { groups: ['ops'] }]) {
      const given = await call(boss, 'PATCH', `/users/${id}`, json)
      assert.equal(((await given.json()) as { code: string }).code, 'reauthentication-needed')
    }
    const [failed] = await rowsOf(service, 'audit_log', { action: 'user.change_failed' })
    assert.equal(failed?.code, 'reauthentication-needed')
    assert.equal((await call(boss, 'PATCH', `/users/${id}`, { blocked: true })).status, 200)
    for (const json of [
      { email: 'nobody' },
      { email: 'a@b', expiresIn: 59 },
      { expiresIn: 31 * 86_400 },
      { role: 'owner' },
      { groups: Array.from({ length: 21 }, (_, index) => `g${index}`) },
      { email: 'a\u0000@example.com' },
    ])
      assert.equal((await service.admin('/invitations', { method: 'POST', json })).status, 400)
  })

  test('the token is in no log line, no list, no audit entry and no table', async () => {
    const made = await invite({ email: 'log@example.com' })
    const token = made.url.split('/').at(-1)!
    assert.match(token, /^[\w-]{43}$/)
    const browser = await opened(made)
    become('log', 'log@example.com')
    const callback = await upToCallback(service, browser, accept)
    assert.ok(
      !callback.href.includes(token) && provider.requests.every(({ url }) => !url.href.includes(token)),
    )
    await browser.go(callback)
    assert.equal((await listed(made.id)).status, 'used')
    assert.ok(
      lines.some((line) => line.includes('/invitation/')),
      'requests are logged',
    )
    assert.ok(!lines.join('').includes(token))
    const tables = [
      ...(await rowsOf(service, 'audit_log')),
      ...(await rowsOf(service, 'flows')),
      ...(await rowsOf(service, 'invitations')),
      await listed(made.id),
    ]
    assert.ok(!JSON.stringify(tables).includes(token))
  })

  test('a hook decides by the identity; only true accepts, and it can refuse with a message or write', async () => {
    const outcome = async (id: string): Promise<string> => {
      become(id, `${id}@example.com`)
      const location = new URL(await signIn(hooked, new Browser()), hooked.baseUrl)
      return location.searchParams.get('error') ?? location.pathname
    }
    const asked: string[] = []
    admits = async ({ email, emailVerified }, { tx, profile }) => {
      assert.ok(await tx.selectFrom('users').select('id').executeTakeFirst())
      asked.push(`${email} ${emailVerified} ${String(profile['displayName'])}`)
      return email === 'in@example.com'
    }
    assert.equal(await outcome('in'), '/dashboard')
    assert.equal(await outcome('out'), 'not-invited')
    assert.deepEqual(asked, ['in@example.com true The in', 'out@example.com true The out'])
    admits = () => false
    assert.equal(await outcome('in'), '/dashboard', 'users who exist are not asked')
    assert.equal(await outcome('boss'), '/dashboard')
    for (const [hook, code] of [
      [() => undefined, 'not-invited'],
      [() => Promise.reject(new Error('broken')), 'hook-failed'],
      [() => new Promise(() => undefined), 'hook-failed'],
      [(_: unknown, { refuse }: { refuse: (text: string) => never }) => refuse('Members only'), 'refused'],
    ] as const) {
      admits = hook as unknown as typeof admits
      assert.equal(await outcome('other'), code)
    }
    const rows = await rowsOf(hooked, 'users', { provider_id: 'other' })
    assert.equal(rows.length, 0)
  })
})

test('another value of admission is an error of the configuration', () => {
  const { faults } = resolveLoginConfig({ admission: 'closed' as 'open' }, [])
  assert.deepEqual(faults, ["login.admission must be 'open', 'invited' or a function"])
})
