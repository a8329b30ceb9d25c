// What else ends, and what is written down, when an account's identities change.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser, onEachEngine, rowsOf } from '#test/harness/index.ts'
import { accountsOf, appStart, exchange, newPkce, signIn, spa, whoAmI, type Pkce } from './harness.ts'
import { Site } from './site.ts'

onEachEngine('changes of identities', (engine) => {
  const site = new Site(engine, {
    env: { ADMIN_IDENTITIES: 'other:boss-1,other:boss-2', RECENT_SIGN_IN: '600' },
    config: { login: { clients: [spa] } },
  })
  async function link(browser: Browser, id: string): Promise<void> {
    assert.equal((await site.link(browser, id)).headers.get('location'), '/dashboard')
  }

  type Name = 'acme' | 'other'
  const unlink = (browser: Browser, name: Name): Promise<Response> =>
    site.call(browser, 'DELETE', `/auth/identities/${name}`)

  interface Code extends Pkce {
    code: string
  }
  async function codeOf(id: string, name: Name = 'acme'): Promise<Code> {
    site.become(id)
    const pkce = newPkce()
    const start = appStart(pkce).replace('/auth/acme', `/auth/${name}`)
    const target = new URL(await signIn(site.service, new Browser(), start))
    return { ...pkce, code: target.searchParams.get('code')! }
  }
  const redeem = ({ code, verifier }: Code) =>
    exchange(site.service, {
      grant_type: 'authorization_code',
      client_id: 'spa',
      code,
      code_verifier: verifier,
      redirect_uri: spa.redirectUris[0]!,
    })
  async function tokensOf(id: string, name: Name = 'acme'): Promise<{ access: string; refresh: string }> {
    const { status, body } = await redeem(await codeOf(id, name))
    assert.equal(status, 200)
    return { access: String(body['access_token']), refresh: String(body['refresh_token']) }
  }
  const statusWith = async (access: string): Promise<number> =>
    (await site.service.fetch('/auth/session', { headers: { authorization: `Bearer ${access}` } })).status
  const refreshStatus = async (refresh: string): Promise<number> =>
    (await exchange(site.service, { grant_type: 'refresh_token', client_id: 'spa', refresh_token: refresh }))
      .status
  const cookieOf = (browser: Browser): string => browser.cookies(site.service.baseUrl).get('postern_session')!
  const statusOfCookie = async (token: string): Promise<number> =>
    (await site.service.fetch('/auth/session', { headers: { cookie: `postern_session=${token}` } })).status
  async function rows(browser: Browser, action: string) {
    const { id } = (await whoAmI(site.service, browser))!
    const found = await rowsOf(site.service, 'audit_log', { user_id: id, action }, 'id')
    const me = `user:${id}`
    return found.map(({ detail, ...row }) =>
      Object.assign(row, { detail: JSON.parse(detail ?? 'null') as unknown, me }),
    )
  }

  for (const [what, change] of [
    ['linking', 'brings'],
    ['unlinking', 'takes away'],
  ] as const) {
    test(`${what} that ${change} the admin role: only this session stays, with a new token, and the change is recorded`, async () => {
      const id = `role ${what}`
      const boss = what === 'linking' ? 'boss-1' : 'boss-2'
      const browser = await site.signedIn(id)
      if (what === 'unlinking') await link(browser, boss)
      const stranger = await tokensOf(`not ${id}`)
      const [others, tokens, code] = [await site.signedIn(id), await tokensOf(id), await codeOf(id)]
      const [old, before] = [cookieOf(browser), await rows(browser, 'user.role_changed')]

      if (what === 'linking') await link(browser, boss)
      else assert.equal((await unlink(browser, 'other')).status, 204)

      const role = what === 'linking' ? 'admin' : 'user'
      assert.equal((await whoAmI(site.service, browser))!.role, role)
      assert.equal(await statusOfCookie(old), 401, 'the token of before')
      assert.equal(await whoAmI(site.service, others), undefined, 'another session')
      assert.equal(await statusWith(tokens.access), 401)
      assert.equal(await refreshStatus(tokens.refresh), 400)
      assert.equal((await redeem(code)).status, 400, 'a code that was not exchanged yet')
      assert.equal(await statusWith(stranger.access), 200, 'nobody else is touched')
      const [row, ...more] = (await rows(browser, 'user.role_changed')).slice(before.length)
      assert.deepEqual(more, [])
      const from = role === 'admin' ? 'user' : 'admin'
      assert.deepEqual(row!.detail, { from, to: role, by: 'ADMIN_IDENTITIES' })
      assert.equal(row!.actor, row!.me)
    })
  }

  test('linking without a change of role ends no session', async () => {
    const [browser, others] = [await site.signedIn('plain'), await site.signedIn('plain')]
    const tokens = await tokensOf('plain')
    await link(browser, 'plain too')
    assert.ok(await whoAmI(site.service, others))
    assert.equal(await statusWith(tokens.access), 200)
    assert.deepEqual(await rows(browser, 'user.role_changed'), [])
  })

  test('unlinking ends all sessions that signed in with that provider', async () => {
    const browser = await site.signedIn('kept')
    await link(browser, 'taken')
    const [byKept, byTaken] = [await site.signedIn('kept'), await site.signedIn('taken', '/auth/other')]
    assert.equal((await whoAmI(site.service, byTaken))!.id, (await whoAmI(site.service, browser))!.id)
    const [keptTokens, takenTokens] = [await tokensOf('kept'), await tokensOf('taken', 'other')]
    const [keptCode, takenCode] = [await codeOf('kept'), await codeOf('taken', 'other')]
    assert.equal((await unlink(browser, 'other')).status, 204)
    assert.ok(await whoAmI(site.service, browser))
    assert.ok(await whoAmI(site.service, byKept))
    assert.equal(await whoAmI(site.service, byTaken), undefined)
    assert.equal(await statusWith(keptTokens.access), 200)
    assert.equal(await statusWith(takenTokens.access), 401)
    assert.equal(await refreshStatus(takenTokens.refresh), 400)
    assert.equal((await redeem(keptCode)).status, 200)
    assert.equal((await redeem(takenCode)).status, 400)
  })

  test("an app's token cannot unlink", async () => {
    const browser = await site.signedIn('by token')
    await link(browser, 'by token too')
    const { access } = await tokensOf('by token')
    const before = await accountsOf(site.service)
    const headers = { authorization: `Bearer ${access}` }
    assert.equal(
      (await site.service.fetch('/auth/identities/other', { method: 'DELETE', headers })).status,
      403,
    )
    assert.deepEqual(await accountsOf(site.service), before)
  })

  for (const [what, action, again] of [
    ['link', 'identity.link_failed', (browser: Browser) => site.call(browser, 'POST', '/auth/other/link')],
    ['unlink', 'identity.unlink_failed', (browser: Browser) => unlink(browser, 'other')],
  ] as const) {
    test(`a stolen cookie of an old sign-in cannot ${what}; up to ten attempts a minute are recorded`, async () => {
      const browser = await site.signedIn(`stale ${what}`)
      await link(browser, `stale ${what} too`)
      site.shift = 601_000
      const before = await accountsOf(site.service)
      for (let time = 0; time < 12; time += 1) {
        const answer = await again(browser)
        assert.equal(answer.status, 403)
        assert.equal(((await answer.json()) as { code: string }).code, 'reauthentication-needed')
      }
      assert.deepEqual(await accountsOf(site.service), before)
      const found = await rows(browser, action)
      assert.equal(found.length, 10)
      for (const { code, provider: name, actor, me } of found)
        assert.deepEqual([code, name, actor], ['reauthentication-needed', 'other', me])
      site.provider.profile = { id: `stale ${what}`, displayName: 'x' }
      await signIn(site.service, browser)
      assert.ok([204, 303].includes((await again(browser)).status))
    })
  }
})
