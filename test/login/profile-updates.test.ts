import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine } from '#test/harness/engines.ts'
import { userProfileReader } from '../../src/accounts/users/user-profile.ts'
import { accountsOf, whoAmI, type Me } from './harness.ts'
import { Upstream } from './upstream.ts'

const ada = { name: 'Ada', email: 'ada@example.com', email_verified: true }

onEachEngine('values of the user that follow the provider', (engine) => {
  const site = new Upstream(engine, {
    providers: { ACME: {}, OTHER: {}, STILL: { UPDATE_PROFILE: 'off' } },
    config: { login: { updateProfile: true } },
  })
  const shown = async (path?: string): Promise<{ id: string; name: string | null; email: string | null }> => {
    const { id, name, email } = (await site.signedIn(path)) as Me
    return { id, name, email }
  }

  test('each sign-in updates e-mail address and name, with an audit row that has no values', async () => {
    site.become('follows', {}, ada)
    const { id } = await shown()
    const profile = async () => (await userProfileReader([])(site.service.database.reader, id))!
    const before = await profile()
    assert.deepEqual(await site.audit(id, 'user.profile_changed'), [], 'not at the first sign-in')
    site.become('follows', {}, { ...ada, name: 'Ada Lovelace', email: 'lovelace@example.com' })
    assert.deepEqual(await shown(), { id, name: 'Ada Lovelace', email: 'lovelace@example.com' })
    assert.deepEqual(await shown(), { id, name: 'Ada Lovelace', email: 'lovelace@example.com' })
    assert.deepEqual(await site.audit(id, 'user.profile_changed'), [{ fields: 'email name' }])
    const after = await profile()
    assert.ok(after.updatedAt > before.updatedAt)
    assert.equal(after.emailVerified, true)
  })

  test('what the provider does not send any more stays, with its verification', async () => {
    site.become('silent', {}, ada)
    const { id } = await shown()
    site.become('silent', {}, { name: undefined })
    assert.deepEqual(await shown(), { id, name: 'Ada', email: 'ada@example.com' })
    const profile = async () => (await userProfileReader([])(site.service.database.reader, id))!
    assert.equal((await profile()).emailVerified, true)
    site.become('silent', {}, { ...ada, email_verified: false })
    assert.equal((await shown()).id, id)
    assert.equal((await profile()).emailVerified, false, 'the provider says so itself')
  })

  test('a provider with `off` changes nothing', async () => {
    site.become('still', {}, ada)
    const { id } = await shown('/auth/still')
    site.become('still', {}, { ...ada, email: 'new@example.com' })
    assert.deepEqual(await shown('/auth/still'), { id, name: 'Ada', email: 'ada@example.com' })
  })

  test('a linked identity does not replace the values of the first one', async () => {
    site.become('first', {}, ada)
    const browser = await site.browser()
    const { id } = (await whoAmI(site.service, browser))!
    site.become('second', {}, { name: 'Other', email: 'other@example.com' })
    await site.link(browser, 'other')
    assert.deepEqual(await shown('/auth/other'), { id, name: 'Ada', email: 'ada@example.com' })
    // Once the first one is unlinked, the user follows the other one.
    const headers = { origin: site.service.baseUrl }
    const unlinked = await browser.go(new URL('/auth/identities/acme', site.service.baseUrl), {
      method: 'DELETE',
      headers,
    })
    assert.equal(unlinked.status, 204)
    assert.deepEqual(await shown('/auth/other'), { id, name: 'Other', email: 'other@example.com' })
  })

  test('an address of somebody else moves no identity and joins no accounts', async () => {
    site.become('victim', {}, { ...ada, email: 'victim@example.com' })
    const victim = await shown()
    site.become('attacker', {}, { ...ada, email: 'attacker@example.com' })
    const attacker = await shown()
    const identities = async () =>
      (await accountsOf(site.service))['identities']!.map((row) => {
        const { provider, provider_id: providerId, user_id: userId } = row as Record<string, unknown>
        return [provider, providerId, userId]
      })
    const before = await identities()
    site.become('attacker', {}, { ...ada, email: 'victim@example.com', email_verified: false })
    const me = await shown()
    assert.equal(me.id, attacker.id)
    assert.notEqual(me.id, victim.id)
    assert.equal((await userProfileReader([])(site.service.database.reader, me.id))!.emailVerified, false)
    assert.deepEqual(await identities(), before)
    site.become('victim', {}, { ...ada, email: 'victim@example.com' })
    assert.equal((await shown()).id, victim.id)
  })
})

onEachEngine('values of the user by default', (engine) => {
  const site = new Upstream(engine, { providers: { ACME: {}, NEW: { UPDATE_PROFILE: 'on' } } })

  test('stay as at the first sign-in, unless the provider is set to update them', async () => {
    for (const [path, email] of [
      ['/auth/acme', 'ada@example.com'],
      ['/auth/new', 'new@example.com'],
    ] as const) {
      site.become('default', {}, ada)
      await site.signedIn(path)
      site.become('default', {}, { ...ada, email: 'new@example.com' })
      assert.equal(((await site.signedIn(path)) as Me).email, email, path)
    }
  })

  test('an empty value is filled when the provider of the first identity sends it later', async () => {
    const person = async (path?: string) => {
      const { id, email, name } = (await site.signedIn(path)) as Me
      return { id, email, name }
    }
    site.become('late', {}, { name: undefined })
    const browser = await site.browser()
    const { id } = (await whoAmI(site.service, browser))!
    site.become('linked', {}, { name: 'Linked', email: 'linked@example.com', email_verified: true })
    await site.link(browser, 'new')
    assert.deepEqual(await person('/auth/new'), { id, email: null, name: null }, 'not from a linked identity')
    site.become('late', {}, { ...ada, name: undefined })
    assert.deepEqual(await person(), { id, email: 'ada@example.com', name: null })
    site.become('late', {}, { ...ada, email: 'other@example.com' })
    assert.deepEqual(await person(), { id, email: 'ada@example.com', name: 'Ada' })
    assert.deepEqual(await site.audit(id, 'user.profile_changed'), [{ fields: 'email' }, { fields: 'name' }])
  })

  test('an id_token without an address leaves a verified one verified, also in other sessions', async () => {
    site.become('apple', {}, ada)
    const browser = await site.browser()
    site.become('apple', {}, {})
    await site.signedIn()
    const me = (await whoAmI(site.service, browser)) as Me & { email_verified: boolean }
    assert.deepEqual([me.email, me.email_verified], ['ada@example.com', true])
  })

  test('userinfo without email_verified does not deny the same address of the id_token', async () => {
    site.become('both', { email: 'ada@example.com', email_verified: true }, { email: 'ada@example.com' })
    const me = (await site.signedIn()) as Me & { email_verified: boolean }
    assert.deepEqual([me.email, me.email_verified], ['ada@example.com', true])
    site.become('two', { email: 'ada@example.com', email_verified: true }, { email: 'other@example.com' })
    const other = (await site.signedIn()) as Me & { email_verified: boolean }
    assert.deepEqual([other.email, other.email_verified], ['other@example.com', false])
  })
})
