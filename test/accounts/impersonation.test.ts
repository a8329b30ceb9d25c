// Acting for a user: where it is visible, what it must not allow, and when it ends.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { assertProblem } from '../attacks/harness.ts'
import { GuardedSite } from '../forward-auth/harness.ts'
import { Browser, onEachEngine, rowsOf } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { accountsOf, signIn, whoAmI } from '../login/harness.ts'
import { Site } from '../login/site.ts'
import { codeOf, exchangeCode, isLive, lastAudit, signInApp } from '../oauth2/app-sessions.ts'
import { authorizeUrl, callback, secret, token, tokensOf } from '../oauth2/harness.ts'

const shop = {
  id: 'shop',
  name: 'Shop',
  secret: 'shop-secret-0123456789-0123456789',
  redirectUris: [callback],
}
const forum = { id: 'forum', name: 'Forum', firstParty: false, redirectUris: [callback] }
const hour = 3_600_000
const api = 'api.example.com'
const reason = 'Ticket 4711'

/** What a user may read. Admins who act for the user may read it, too, so a new route here must not return secrets. */
const readable = ['/auth/apps', '/auth/audit', '/auth/identities', '/auth/session', '/auth/sessions']

/** Routes that an admin who acts for a user may call although they change something: each ends the session. */
const allowed = [
  'POST /auth/impersonation/stop',
  'POST /auth/logout',
  'POST /oauth2/end-session/confirm',
].toSorted()

type Answer = AnswerTo<'GET /auth/session'>

onEachEngine('acting for a user', (engine) => {
  const site = new Site(engine, {
    env: {
      IMPERSONATION: 'on',
      ADMIN_IDENTITIES: 'acme:boss,acme:chief',
      RECENT_SIGN_IN: '600',
      RATE_LIMIT: 'off',
    },
    config: { login: { clients: [shop, forum], events: true } },
  })
  const id = async (browser: Browser): Promise<string> => (await whoAmI(site.service, browser))!.id
  const session = async (browser: Browser): Promise<Answer> =>
    (await (await site.call(browser, 'GET', '/auth/session')).json()) as Answer
  const start = (
    admin: Browser,
    userId: string,
    body: object = { reason },
    headers = {},
  ): Promise<Response> =>
    admin.go(new URL(`/users/${userId}/impersonate`, site.service.baseUrl), {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { ...site.sameOrigin, 'content-type': 'application/json', ...headers },
    })
  const stop = (browser: Browser, headers = {}): Promise<Response> =>
    site.call(browser, 'POST', '/auth/impersonation/stop', { ...site.sameOrigin, ...headers })
  /** The browser of an admin who acts for a user who is signed in elsewhere. */
  async function acting(name: string, by = 'boss') {
    const user = await site.signedIn(name)
    const userId = await id(user)
    const admin = await site.signedIn(by)
    const adminId = await id(admin)
    const answer = await start(admin, userId)
    assert.equal(answer.status, 200, await answer.clone().text())
    return { user, userId, admin, adminId }
  }
  const refresh = async (refreshToken: string): Promise<number> =>
    (
      await token(site.service, {
        grant_type: 'refresh_token',
        refresh_token: refreshToken,
        client_id: shop.id,
        client_secret: shop.secret,
      })
    ).status
  const setUser = (userId: string, values: { role?: 'user' | 'admin'; blocked_at?: number | null }) =>
    site.service.database.transaction((tx) =>
      tx.updateTable('users').set(values).where('id', '=', userId).execute(),
    )

  test('session, devices and audit log name the admin, and stopping restores the admin’s session', async () => {
    const { user, userId, admin, adminId } = await acting('ada')
    const now = await session(admin)
    assert.deepEqual([now.user.id, now.user.role], [userId, 'user'])
    assert.deepEqual(now.impersonation, { by: { id: adminId, name: 'boss' }, reason })
    assert.equal((await session(user)).impersonation, undefined)
    const devices = await site.data<Record<string, unknown>>(user, '/auth/sessions')
    assert.deepEqual(
      devices.map(({ device, address, impersonation }) => [device, address === null, impersonation]),
      [
        ['Unknown device', false, null],
        ['Administrator', true, { by: 'boss', reason }],
      ],
    )
    const started = await lastAudit(site.service, 'impersonation.started')
    assert.deepEqual([started?.actor, started?.user_id], [`user:${adminId}`, userId])
    assert.equal((JSON.parse(started!.detail!) as { reason: string }).reason, reason)
    await site.call(admin, 'GET', '/device?user_code=WDJB-MJHT')
    const guessed = await lastAudit(site.service, 'device.refused')
    assert.deepEqual([guessed?.actor, guessed?.user_id], [`user:${adminId}`, userId])
    assert.equal((await stop(admin)).status, 204)
    assert.deepEqual([await id(admin), (await session(admin)).impersonation], [adminId, undefined])
    assert.equal((await site.data(user, '/auth/sessions')).length, 1)
    const ended = await lastAudit(site.service, 'impersonation.ended')
    assert.deepEqual(
      [ended?.actor, ended?.user_id, ended?.target],
      [`user:${adminId}`, userId, started?.target],
    )
    assert.equal(
      (await rowsOf(site.service, 'audit_log', { user_id: userId, action: 'user.signed_in' }, 'id')).length,
      1,
    )
    const signIns = async (): Promise<number> =>
      (await rowsOf(site.service, 'events', { type: 'user.signed_in' }, 'id')).length
    const before = await signIns()
    await acting('ada')
    assert.equal(await signIns(), before + 2, 'those of the user and of the admin')
  })

  test('it does not count as use of the account, and ends none of its sessions', async () => {
    const { user, userId, admin } = await acting('unseen')
    const seen = async (): Promise<number> =>
      (await rowsOf(site.service, 'users', { id: userId }, 'id'))[0]!.last_seen_at
    const before = await seen()
    const { session: own } = await session(admin)
    site.shift = 300_000
    await signInApp(site.service, admin, shop)
    // The last use is written in the background, for sessions first and then for users.
    for (let isWritten = false; !isWritten;) {
      const [row] = await rowsOf(site.service, 'sessions', { id: own.id }, 'id')
      isWritten = row!.last_seen_at > row!.created_at
    }
    await site.service.database.transaction(async () => undefined)
    assert.equal(await seen(), before)
    assert.ok(await whoAmI(site.service, user))
  })

  test('every route that changes something is rejected, except those that end the session', async () => {
    const { admin } = await acting('every')
    const document = (await site.service.app.inject('/openapi.json')).json<{
      paths: Record<string, Record<string, { security?: object[] }>>
    }>()
    const open: string[] = []
    const read: string[] = []
    const before = await accountsOf(site.service)
    for (const declared of site.service.app.routeMethods.all()) {
      const [method = '', url = ''] = declared.split(' ')
      if (['HEAD', 'OPTIONS', 'TRACE'].includes(method) || allowed.includes(declared)) continue
      const operation = document.paths[url.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
      const isPublic = operation?.security?.length === 0
      const path = url
        .replace(/:provider/g, 'other')
        .replace(/:(\w+)/g, '0197d2a4-5b1c-7000-9c3e-2f6a1b0c4d5e')
      // Public, or of files and pages. In demo mode some more are open.
      if (method === 'GET' && (!operation || (await site.service.fetch(path)).status !== 401)) continue
      const answer = await site.call(admin, method, path, site.sameOrigin)
      const { code } = (await answer.json().catch(() => ({}))) as { code?: string }
      // The portal, Svix's API and the provider of demo mode have credentials of their own.
      const isOthers = answer.status === 401 || url.startsWith('/demo-idp/')
      if (method === 'GET' && answer.ok) read.push(url)
      else if (method !== 'GET' && code !== 'impersonating' && !isPublic && !isOthers)
        open.push(`${declared}: ${answer.status} ${code}`)
    }
    assert.deepEqual(open, [])
    assert.deepEqual(read.toSorted(), readable)
    assert.deepEqual(await accountsOf(site.service), before)
    // Of one caller, only the first entries of a minute are written, and not all are about this.
    const entry = await site.service.database.reader
      .selectFrom('audit_log')
      .selectAll()
      .where('action', '=', 'call.forbidden')
      .where('code', '=', 'impersonating')
      .executeTakeFirst()
    assert.deepEqual([entry?.code, entry?.actor !== `user:${entry?.user_id}`], ['impersonating', true])
    // The list has no route that does not exist.
    const declared = site.service.app.routeMethods.all()
    assert.deepEqual(
      allowed.filter((route) => declared.includes(route)),
      allowed,
    )
  })

  test('apps get the admin’s ID, and their tokens end with the session', async () => {
    const { userId, admin, adminId } = await acting('appy')
    const tokens = await signInApp(site.service, admin, shop, 'openid offline_access')
    const [idToken, accessToken] = [decodeJwt(tokens.idToken), decodeJwt(tokens.accessToken)]
    for (const claims of [idToken, accessToken])
      assert.deepEqual(
        [claims.sub, claims['act'], claims['auth_time']],
        [userId, { sub: adminId }, undefined],
      )
    assert.ok(accessToken.exp! * 1000 <= Date.now() + hour)
    for (const one of [tokens.accessToken, tokens.refreshToken]) {
      const answer = await site.service.fetch('/oauth2/introspect', {
        method: 'POST',
        body: new URLSearchParams({ token: one, client_id: shop.id, client_secret: shop.secret }),
      })
      const known = (await answer.json()) as Record<string, unknown>
      assert.deepEqual([known['active'], known['act']], [true, { sub: adminId }])
    }
    const bearer = { authorization: `Bearer ${tokens.accessToken}` }
    await assertProblem(
      await site.service.fetch('/auth/sessions', { method: 'DELETE', headers: bearer }),
      403,
      'impersonating',
    )
    const authorized = await lastAudit(site.service, 'app.authorized')
    assert.deepEqual([authorized?.actor, authorized?.user_id], [`user:${adminId}`, userId])
    const named = await exchangeCode(site.service, shop, await codeOf(site.service, admin, shop.id, 'email'))
    const headers = { authorization: `Bearer ${String(named.body['access_token'])}` }
    assert.equal((await site.service.fetch('/oauth2/userinfo', { headers })).status, 403)
    const forbidden = await lastAudit(site.service, 'call.forbidden')
    assert.deepEqual(
      [forbidden?.code, forbidden?.actor, forbidden?.user_id],
      ['insufficient-scope', `user:${adminId}`, userId],
    )
    const repeated = await codeOf(site.service, admin, shop.id, 'openid')
    for (const status of [200, 400])
      assert.equal((await exchangeCode(site.service, shop, repeated)).status, status)
    for (const action of ['tokens.revoked', 'tokens.refused']) {
      const refused = await lastAudit(site.service, action)
      assert.deepEqual([refused?.actor, refused?.user_id], [`user:${adminId}`, userId], action)
    }
    const unused = await codeOf(site.service, admin, shop.id, 'openid')
    assert.equal((await stop(admin)).status, 204)
    assert.equal(await isLive(site.service, tokens), false)
    assert.equal(await refresh(tokens.refreshToken), 400)
    const late = await lastAudit(site.service, 'tokens.refused')
    assert.deepEqual([late?.actor, late?.user_id], [`user:${adminId}`, userId])
    assert.equal((await exchangeCode(site.service, shop, unused)).status, 400)
  })

  test('it ends after an hour, and /login restores the admin’s own session', async () => {
    const { user, admin, adminId } = await acting('hourly')
    const tokens = await signInApp(site.service, admin, shop, 'openid offline_access')
    site.shift = hour - 5_000
    assert.ok(await whoAmI(site.service, admin))
    assert.equal((await start(admin, await id(user))).status, 403, 'it cannot be extended')
    site.shift = hour + 1_000
    assert.equal(await whoAmI(site.service, admin), undefined)
    assert.equal(await refresh(tokens.refreshToken), 400)
    assert.equal(await isLive(site.service, tokens), false)
    const pressed = await stop(admin, { accept: 'text/html' })
    assert.equal(pressed.headers.get('location'), '/dashboard')
    assert.equal(await id(admin), adminId)
    const again = await acting('hourly')
    site.shift = 2 * hour + 5_000
    assert.match(await (await site.call(again.admin, 'GET', '/login')).text(), /boss/)
    assert.equal(await id(again.admin), adminId)
  })

  test('it needs an admin’s recent sign-in; API keys and other sites cannot start it', async () => {
    const userId = await id(await site.signedIn('target'))
    const admin = await site.signedIn('boss')
    const key = await site.service.admin(`/users/${userId}/impersonate`, { method: 'POST', json: { reason } })
    await assertProblem(key, 403, 'forbidden')
    const cookie = [...admin.cookies(site.service.baseUrl)]
      .map(([name, value]) => `${name}=${value}`)
      .join('; ')
    const both = await site.service.admin(`/users/${userId}/impersonate`, {
      method: 'POST',
      json: { reason },
      headers: { cookie },
    })
    await assertProblem(both, 403, 'forbidden')
    await assertProblem(await start(await site.signedIn('nobody'), userId), 403, 'forbidden')
    await assertProblem(
      await start(
        admin,
        userId,
        { reason },
        { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      ),
      403,
      'foreign-origin',
    )
    for (const body of [{}, { reason: '' }, { reason: 'x'.repeat(201) }, { reason: 'a\0b' }])
      await assertProblem(await start(admin, userId, body), 400, 'invalid-body')
    await assertProblem(await start(admin, '0197d2a4-5b1c-7000-9c3e-2f6a1b0c4d5e'), 404, 'not-found')
    site.shift = 601_000
    await assertProblem(await start(admin, userId), 403, 'reauthentication-needed')
    const refused = await lastAudit(site.service, 'impersonation.refused')
    assert.equal(refused?.code, 'reauthentication-needed')
  })

  test('nobody can act for an admin, for themselves or for a blocked user', async () => {
    const chief = await site.signedIn('chief')
    const admin = await site.signedIn('boss')
    const granted = await id(await site.signedIn('granted'))
    await setUser(granted, { role: 'admin' })
    const blocked = await id(await site.signedIn('blocked'))
    await setUser(blocked, { blocked_at: Date.now() })
    for (const userId of [await id(chief), await id(admin), granted, blocked]) {
      await assertProblem(await start(admin, userId), 409, 'conflict')
      const refused = await lastAudit(site.service, 'impersonation.refused')
      assert.deepEqual(
        [refused?.user_id, refused?.code],
        [userId, userId === blocked ? 'account-blocked' : 'account-is-admin'],
      )
    }
    assert.equal((await session(admin)).impersonation, undefined)
  })

  test('it ends when the admin is blocked, loses the role or is logged out elsewhere, and when the user becomes an admin', async () => {
    const ends: Record<string, (of: { adminId: string; userId: string }) => Promise<unknown>> = {
      blocked: ({ adminId }) =>
        site.service.admin(`/users/${adminId}`, { method: 'PATCH', json: { blocked: true } }),
      demoted: ({ adminId }) => setUser(adminId, { role: 'user' }),
      'signed out': ({ adminId }) => site.service.admin(`/users/${adminId}/sessions`, { method: 'DELETE' }),
      deleted: ({ adminId }) => site.service.admin(`/users/${adminId}`, { method: 'DELETE' }),
      promoted: ({ userId }) => setUser(userId, { role: 'admin' }),
      'blocked user': ({ userId }) =>
        site.service.admin(`/users/${userId}`, { method: 'PATCH', json: { blocked: true } }),
    }
    for (const [name, end] of Object.entries(ends)) {
      const former = await site.signedIn(`former ${name}`)
      await setUser(await id(former), { role: 'admin' })
      const { userId, admin, adminId } = await acting(`user ${name}`, `former ${name}`)
      const tokens = await signInApp(site.service, admin, shop, 'openid offline_access')
      const unused = await codeOf(site.service, admin, shop.id, 'openid')
      await end({ adminId, userId })
      assert.equal(await whoAmI(site.service, admin), undefined, name)
      assert.equal(await isLive(site.service, tokens), false, name)
      assert.equal(await refresh(tokens.refreshToken), 400, name)
      assert.equal((await exchangeCode(site.service, shop, unused)).status, 400, name)
    }
  })

  test('it cannot allow an app, and a sign-in in the browser replaces both sessions', async () => {
    const { userId, admin, adminId } = await acting('consenting')
    const answer = await admin.go(authorizeUrl(site.service, { client_id: forum.id }))
    assert.match(answer.headers.get('location') ?? '', /error=access_denied/)
    assert.equal((await rowsOf(site.service, 'consents', { user_id: userId }, 'client_id')).length, 0)
    const all = await rowsOf(site.service, 'sessions', { user_id: adminId, revoked_at: null }, 'id')
    const others = all.length - 1
    site.become('consenting')
    const tokens = await signInApp(site.service, admin, shop)
    await signIn(site.service, admin)
    assert.equal((await session(admin)).impersonation, undefined)
    assert.equal(await isLive(site.service, tokens), false, 'the sign-in does not take over tokens')
    const left = await rowsOf(site.service, 'sessions', { user_id: adminId, revoked_at: null }, 'id')
    assert.equal(left.length, others)
    await site.call(admin, 'POST', '/auth/logout', site.sameOrigin)
    await site.call(admin, 'GET', '/login')
    assert.equal(await whoAmI(site.service, admin), undefined, 'the session of the admin does not come back')
  })

  test('logging out ends both sessions; a stolen or planted return cookie has no effect', async () => {
    const { admin } = await acting('leaving')
    const cookies = new Map(admin.cookies(site.service.baseUrl))
    const way = cookies.get('postern_impersonator')!
    const thief = new Browser()
    thief.cookies(site.service.baseUrl).set('postern_impersonator', way)
    await site.call(thief, 'GET', '/login')
    assert.equal(await whoAmI(site.service, thief), undefined)
    const victim = await site.signedIn('victim')
    victim.cookies(site.service.baseUrl).set('postern_impersonator', way)
    await site.call(victim, 'POST', '/auth/logout', site.sameOrigin)
    await site.call(victim, 'GET', '/login')
    assert.equal(await whoAmI(site.service, victim), undefined)
    await assertProblem(await stop(await site.signedIn('idle')), 409, 'conflict')
    assert.equal((await site.call(admin, 'POST', '/auth/logout', site.sameOrigin)).status, 204)
    for (const [name, value] of cookies) admin.cookies(site.service.baseUrl).set(name, value)
    assert.equal(await whoAmI(site.service, admin), undefined)
    await site.call(admin, 'GET', '/login')
    assert.equal(await whoAmI(site.service, admin), undefined)
  })

  test('every page has the banner, with a way to stop', async () => {
    const { admin, userId, adminId } = await acting('<b>ada</b>')
    for (const path of ['/login', '/dashboard', '/docs/guide/', '/docs', '/device', '/no-such-page']) {
      const headers = { accept: 'text/html', 'accept-encoding': 'gzip' }
      const first = await site.call(admin, 'GET', path, headers)
      const page = await first.text()
      assert.match(page, /You are acting for <strong>&lt;b&gt;ada&lt;\/b&gt;<\/strong>/, path)
      assert.match(page, /action="\/auth\/impersonation\/stop"/, path)
      assert.equal(first.headers.get('cache-control'), 'no-store', path)
    }
    const pressed = await admin.go(new URL('/auth/impersonation/stop', site.service.baseUrl), {
      method: 'POST',
      body: new URLSearchParams(),
      headers: { ...site.sameOrigin, accept: 'text/html' },
    })
    assert.equal(pressed.headers.get('location'), `/dashboard/users/${userId}`)
    assert.equal(await id(admin), adminId)
    assert.doesNotMatch(await (await site.call(admin, 'GET', '/dashboard')).text(), /acting for/)
  })
})

onEachEngine('acting for a user without the setting', (engine) => {
  const site = new Site(engine, { env: { ADMIN_IDENTITIES: 'acme:boss' } })

  test('it is off', async () => {
    const userId = (await whoAmI(site.service, await site.signedIn('user')))!.id
    const admin = await site.signedIn('boss')
    const call = (method: string, path: string, body?: string): Promise<Response> =>
      admin.go(new URL(path, site.service.baseUrl), {
        method,
        ...(body !== undefined && { body }),
        headers: { ...site.sameOrigin, 'content-type': 'application/json' },
      })
    await assertProblem(
      await call('POST', `/users/${userId}/impersonate`, JSON.stringify({ reason })),
      403,
      'forbidden',
    )
    const user = (await (await call('GET', `/users/${userId}`)).json()) as { mayBeImpersonated: boolean }
    assert.equal(user.mayBeImpersonated, false)
  })
})

onEachEngine('acting for a user at applications behind a proxy', (engine) => {
  const site = new GuardedSite(
    engine,
    (ownHost) => ({
      hosts: {
        [ownHost]: { allow: 'signed-in', paths: { '/open/*': 'everyone' } },
        [api]: { allow: 'signed-in', programs: { scopes: ['api:read'] } },
      },
    }),
    { IMPERSONATION: 'on', ADMIN_IDENTITIES: 'acme:boss' },
    [
      {
        id: 'web',
        secret,
        redirectUris: [callback],
        scopes: ['openid', 'api:read'],
        audience: `http://${api}`,
      },
    ],
  )
  const withToken = async (browser: Browser): Promise<number> => {
    const tokens = await tokensOf(site.service, browser, { client_id: 'web', scope: 'openid api:read' })
    const headers = { authorization: `Bearer ${String(tokens['access_token'])}` }
    return (await site.ask(undefined, api, '/', { headers })).status
  }

  test('applications get neither the user’s name nor the admin’s', async () => {
    const user = await site.signedIn('user')
    const userId = (await whoAmI(site.service, user))!.id
    assert.equal(await withToken(user), 204)
    const admin = await site.signedIn('boss')
    assert.equal((await site.ask(admin, site.ownHost, '/')).headers.get('remote-user') !== '', true)
    await admin.go(new URL(`/users/${userId}/impersonate`, site.service.baseUrl), {
      method: 'POST',
      body: JSON.stringify({ reason }),
      headers: { 'content-type': 'application/json', origin: site.service.baseUrl },
    })
    assert.equal((await whoAmI(site.service, admin))?.id, userId)
    assert.equal((await site.ask(admin, site.ownHost, '/')).status, 403)
    const open = await site.ask(admin, site.ownHost, '/open/x')
    assert.deepEqual([open.status, open.headers.get('remote-user')], [204, ''])
    assert.equal(await withToken(admin), 403)
    assert.equal((await admin.open(`http://${api}/`)).response.status, 403)
    const entries = new URL('/auth/audit?action=forward_auth.signed_in', site.service.baseUrl)
    const { data } = (await (await user.go(entries)).json()) as AnswerTo<'GET /auth/audit'>
    assert.deepEqual(
      data.map(({ byMe, address }) => [byMe, address]),
      [[false, null]],
    )
  })
})
