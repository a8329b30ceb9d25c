import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { Browser, onEachEngine, rowsOf, fields } from '#test/harness/index.ts'
import { userProfileReader } from '../../src/accounts/users/user-profile.ts'
import { clients, tokensOf } from '../oauth2/harness.ts'
import { upToCallback, whoAmI, type Me } from './harness.ts'
import { Site } from './site.ts'
import { Upstream } from './upstream.ts'

const groups = (...names: unknown[]) => ({ groups: names })

onEachEngine('groups and roles of a provider', (engine) => {
  const site = new Upstream(engine, {
    providers: {
      ACME: { ADMIN_GROUPS: 'operators, on call' },
      OTHER: {},
      REALM: { GROUPS_CLAIM: 'realm_access.roles', ADMIN_GROUPS: 'admin' },
      SPACED: { GROUPS_CLAIM: 'https://example.com/groups', ADMIN_GROUPS: 'admin' },
      ONLY: {},
      SALES: { GROUPS_CLAIM: 'groups' },
    },
    config: {
      login: { clients, providers: { only: { roles: { admin: ['operators'], exclusive: true } } } },
    },
  })
  const profile = async (id: string) => (await userProfileReader([])(site.service.database.reader, id))!
  const signedIn = async (path?: string): Promise<Me> => (await site.signedIn(path)) as Me

  test('a group makes its members admins at the first sign-in, with an audit row', async () => {
    site.become('first', groups('staff', 'on call'))
    const { id, role } = await signedIn()
    assert.equal(role, 'admin')
    assert.deepEqual((await profile(id)).groups, ['on call', 'staff'])
    assert.deepEqual(await site.audit(id, 'user.role_changed'), [
      { from: 'user', to: 'admin', by: 'groups', group: 'on call' },
    ])
  })

  test('the person sees the groups that are stored', async () => {
    site.become('sees', { ...groups('staff'), picture: 'https://img.example/a.png' })
    const browser = await site.browser()
    const answer = await browser.go(new URL('/auth/identities', site.service.baseUrl))
    const { data } = (await answer.json()) as { data: Record<string, unknown>[] }
    assert.deepEqual(fields(data, 'groups', 'picture'), [[['staff'], 'https://img.example/a.png']])
  })

  test('gaining and losing the group ends all other sessions', async () => {
    site.become('moves', groups('staff'))
    const before = await site.browser()
    const { id } = (await whoAmI(site.service, before))!
    site.become('moves', groups('operators'))
    const admin = await site.browser()
    assert.equal(await whoAmI(site.service, before), undefined)
    assert.equal((await whoAmI(site.service, admin))!.role, 'admin')
    // The same groups again change nothing.
    const second = await site.browser()
    assert.equal((await whoAmI(site.service, admin))!.role, 'admin')
    site.become('moves', groups('staff'))
    const after = await site.browser()
    assert.equal((await whoAmI(site.service, after))!.role, 'user')
    for (const ended of [admin, second]) assert.equal(await whoAmI(site.service, ended), undefined)
    const changes = await site.audit(id, 'user.role_changed')
    assert.deepEqual(changes, [
      { from: 'user', to: 'admin', by: 'groups', group: 'operators' },
      { from: 'admin', to: 'user', by: 'groups' },
    ])
  })

  test('a group counts only in sessions of its provider, which is asked at the sign-in', async () => {
    site.become('two', groups('operators'))
    const browser = await site.browser()
    site.become('two-other', groups('operators'))
    await site.link(browser, 'other')
    assert.equal(await site.role('/auth/other'), 'user')
    site.become('two', groups('operators'))
    assert.equal(await site.role(), 'admin')
  })

  test('an app gets the groups that the provider of the sign-in named', async () => {
    site.become('of-acme', groups('staff'))
    const browser = await site.browser()
    site.become('of-sales', groups('sales'))
    await site.link(browser, 'sales')
    const other = await site.browser('/auth/sales')
    for (const [signedInThere, name] of [
      [browser, 'staff'],
      [other, 'sales'],
    ] as const) {
      const tokens = await tokensOf(site.service, signedInThere, { scope: 'openid groups' })
      assert.deepEqual(decodeJwt(String(tokens['id_token']))['groups'], [name])
      const headers = { authorization: `Bearer ${String(tokens['access_token'])}` }
      const answer = await site.service.fetch('/oauth2/userinfo', { headers })
      assert.deepEqual(((await answer.json()) as { groups: unknown }).groups, [name])
    }
  })

  test('losing the group ends the sessions of its provider, though another one makes the person an admin', async () => {
    site.become('twice', groups('operators'))
    const [browser, other] = [await site.browser(), await site.browser()]
    const { id } = (await whoAmI(site.service, browser))!
    site.become('twice-realm', { realm_access: { roles: ['admin'] } })
    await site.link(browser, 'realm')
    const atRealm = await site.browser('/auth/realm')
    site.become('twice', groups('staff'))
    const after = await site.browser()
    assert.equal((await whoAmI(site.service, after))!.role, 'user')
    for (const ended of [browser, other]) assert.equal(await whoAmI(site.service, ended), undefined)
    assert.equal((await whoAmI(site.service, atRealm))!.role, 'admin')
    site.become('twice', groups('operators'))
    assert.equal(await site.role(), 'admin')
    assert.equal(await whoAmI(site.service, after), undefined)
    assert.equal((await whoAmI(site.service, atRealm))!.role, 'admin')
    assert.deepEqual((await site.audit(id, 'user.role_changed')).slice(1), [
      { from: 'admin', to: 'user', by: 'groups', sessions: 'acme' },
      { from: 'user', to: 'admin', by: 'groups', group: 'operators', sessions: 'acme' },
    ])
  })

  test('linking an identity with the group changes the role, and so does unlinking it', async () => {
    site.become('linker', {})
    const browser = await site.browser('/auth/other')
    const { id } = (await whoAmI(site.service, browser))!
    site.become('linked', groups('operators'))
    await site.link(browser, 'acme')
    assert.equal(await site.role(), 'admin')
    assert.equal((await site.service.admin('/users?limit=100').then(listed(id))).role, 'admin')
    const unlinked = await browser.go(new URL('/auth/identities/acme', site.service.baseUrl), {
      method: 'DELETE',
      headers: { origin: site.service.baseUrl },
    })
    assert.equal(unlinked.status, 204)
    assert.equal((await site.service.admin('/users?limit=100').then(listed(id))).role, 'user')
    assert.deepEqual(await site.audit(id, 'user.role_changed'), [
      { from: 'user', to: 'admin', by: 'groups' },
      { from: 'admin', to: 'user', by: 'groups' },
    ])
  })

  test('a role that an admin assigned stays without the group', async () => {
    site.become('by-hand', groups('staff'))
    const { id } = await signedIn()
    await setRole(id, 'admin')
    assert.equal(await site.role(), 'admin')
    assert.deepEqual(await site.audit(id, 'user.role_changed'), [{ from: 'user', to: 'admin' }])
  })

  test('with `exclusive` it ends, except that of the last admin', async () => {
    site.become('exclusive', groups('staff'))
    const { id } = await signedIn('/auth/only')
    await setRole(id, 'admin')
    assert.equal(await site.role('/auth/only'), 'user')
    assert.deepEqual((await site.audit(id, 'user.role_changed')).at(-1), {
      from: 'admin',
      to: 'user',
      by: 'groups',
    })
    await setRole(id, 'admin')
    // Nobody else is admin from here on.
    const { database } = site.service
    await database.transaction((tx) =>
      tx.updateTable('users').set({ blocked_at: 1 }).where('id', '!=', id).execute(),
    )
    assert.equal(await site.role('/auth/only'), 'admin')
    await database.transaction((tx) => tx.updateTable('users').set({ blocked_at: null }).execute())
    assert.equal(await site.role('/auth/only'), 'user')
  })

  test('an admin by a group cannot be demoted here, and counts as an admin', async () => {
    site.become('counted', groups('operators'))
    const { id } = await signedIn()
    const refused = await site.service.admin(`/users/${id}`, { method: 'PATCH', json: { role: 'user' } })
    assert.equal(refused.status, 409)
    assert.equal(((await refused.json()) as { code: string }).code, 'conflict')
  })

  test('the path of the claim: levels, and names with dots', async () => {
    site.become('deep', { realm_access: { roles: ['admin'] } })
    assert.equal(await site.role('/auth/realm'), 'admin')
    site.become('spaced', { 'https://example.com/groups': ['admin'] })
    assert.equal(await site.role('/auth/spaced'), 'admin')
    site.become('whole', { 'realm_access.roles': ['admin'], realm_access: { roles: [] } })
    assert.equal(await site.role('/auth/realm'), 'admin')
  })

  test('groups of the userinfo replace those of the id_token', async () => {
    site.become('userinfo', groups('operators'), groups('staff'))
    assert.equal(await site.role(), 'user')
  })

  test('a configuration without the group takes the role at the next start', async () => {
    site.become('restarted', groups('operators'))
    const browser = await site.browser()
    const cookie = [...browser.cookies(site.service.baseUrl)].map(([name, value]) => `${name}=${value}`)
    for (const [admin, role] of [
      ['operators', 'admin'],
      ['Operators', 'user'],
      ['', 'user'],
    ] as const) {
      await site.restart({ ACME_ADMIN_GROUPS: admin })
      const headers = { cookie: cookie.join('; ') }
      const answer = await site.service.fetch('/auth/session', { headers })
      assert.equal(((await answer.json()) as { user: Me }).user.role, role, admin)
    }
  })

  const setRole = async (id: string, role: string): Promise<void> => {
    const answer = await site.service.admin(`/users/${id}`, { method: 'PATCH', json: { role } })
    assert.equal(answer.status, 200)
  }
})

onEachEngine('groups of a provider of plain OAuth 2.0', (engine) => {
  const site = new Site(engine, { providers: ['ACME'], env: { ACME_ADMIN_GROUPS: 'operators' } })

  test('concurrent sign-ins record one change, and none ends the session of another', async () => {
    const { service, provider } = site
    const together = async (...names: string[]): Promise<string[]> => {
      provider.profile = { id: 'together', displayName: 'Together', groups: names }
      const browsers = Array.from({ length: 5 }, () => new Browser())
      const callbacks = await Promise.all(browsers.map((browser) => upToCallback(service, browser)))
      const answers = await Promise.all(browsers.map((browser, index) => browser.go(callbacks[index]!)))
      assert.deepEqual(
        answers.map(({ headers }) => headers.get('location')),
        answers.map(() => '/dashboard'),
      )
      const people = await Promise.all(browsers.map((browser) => whoAmI(service, browser)))
      return people.map((me) => me?.role ?? 'signed out')
    }
    assert.deepEqual(
      await together('operators'),
      Array.from({ length: 5 }, () => 'admin'),
    )
    assert.deepEqual(
      await together('staff'),
      Array.from({ length: 5 }, () => 'user'),
    )
    const changes = await rowsOf(service, 'audit_log', { action: 'user.role_changed' }, 'id')
    assert.deepEqual(
      changes.map(({ actor, detail }) => `${actor} ${detail}`),
      [
        'service {"from":"user","to":"admin","by":"groups","group":"operators"}',
        'service {"from":"admin","to":"user","by":"groups"}',
      ],
    )
  })
})

const listed =
  (id: string) =>
  async (answer: Response): Promise<{ role: string }> => {
    const { data } = (await answer.json()) as { data: { id: string; role: string }[] }
    return data.find((user) => user.id === id)!
  }
