// What a provider, or a person with rights at it, may try by the claim with the groups.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { engines, startTestService } from '#test/harness/index.ts'
import { userProfileReader } from '../../src/accounts/users/user-profile.ts'
import { isConfigurationError } from '../harness/configuration-error.ts'
import type { Me } from '../login/harness.ts'
import { Upstream } from '../login/upstream.ts'

describe('attacks by groups', () => {
  const site = new Upstream(engines[0]!, {
    providers: {
      ACME: { ADMIN_GROUPS: 'admin' },
      PATH: { GROUPS_CLAIM: 'realm_access.roles', ADMIN_GROUPS: 'admin' },
      ODD: { GROUPS_CLAIM: '__proto__.groups', ADMIN_GROUPS: 'admin' },
      UNMAPPED: {},
    },
  })
  const profile = async (id: string) => (await userProfileReader([])(site.service.database.reader, id))!

  const noGroup: [string, unknown][] = [
    ['a number', 7],
    ['true', true],
    ['null', null],
    ['an object with the name as key', { admin: true }],
    ['an object like an array', { 0: 'admin', length: 1 }],
    ['a nested list', [['admin']]],
    ['a list of objects', [{ name: 'admin' }, { toString: 'admin' }]],
    ['names in one text', 'staff,admin'],
    ['names in one text with spaces', 'staff admin'],
    ['another case', ['Admin', 'ADMIN']],
    ['with white space', [' admin', 'admin ', 'admin\n']],
    ['with a NUL', ['admin\u0000', 'ad\u0000min']],
    ['letters that look alike', ['аdmin', 'ａｄｍｉｎ']],
    ['a longer name', ['admins', 'xadmin', `admin${'x'.repeat(10_000)}`]],
  ]
  for (const [what, value] of noGroup) {
    test(`makes nobody an admin: ${what}`, async () => {
      site.become(what, { groups: value })
      const me = (await site.signedIn()) as Me
      assert.equal(me.role, 'user')
      assert.deepEqual(await site.audit(me.id, 'user.role_changed'), [])
      for (const group of (await profile(me.id)).groups) assert.ok(group.length <= 255)
    })
  }

  test('a thousand groups are cut to two hundred, and those with a role are kept', async () => {
    const many = Array.from({ length: 1_000 }, (_, index) => `group-${index}-${'x'.repeat(200)}`)
    site.become('many', { groups: [...many, 'admin'] })
    const me = (await site.signedIn()) as Me
    assert.equal(me.role, 'admin')
    const { groups } = await profile(me.id)
    assert.equal(groups.length, 200)
    assert.ok(groups.includes('admin'))
  })

  test('a path leads through the claims only, not through what every object has', async () => {
    for (const [path, claims] of [
      ['/auth/path', { realm_access: ['admin'] }],
      ['/auth/path', { realm_access: 'admin' }],
      ['/auth/path', { realm_access: { roles: { admin: true } } }],
      ['/auth/odd', { groups: ['admin'] }],
    ] as const) {
      site.become(`path ${JSON.stringify(claims)}`, { ...claims })
      assert.equal(await site.role(path), 'user', path)
    }
  })

  test('groups of a provider without a mapping give no role, though another provider has one', async () => {
    site.become('unmapped', { groups: ['admin'] })
    const me = (await site.signedIn('/auth/unmapped')) as Me
    assert.equal(me.role, 'user')
    assert.deepEqual((await profile(me.id)).groups, [])
  })
})

test('a mapping that would misbehave is refused at the start', async () => {
  const given = { clientId: 'id', clientSecret: 's', issuer: 'https://id.example' }
  for (const [more, message] of [
    [{ roles: { admin: 'operators' } }, /ACME_ADMIN_GROUPS is wrong: expected names/],
    [{ roles: { admin: [''] } }, /ACME_ADMIN_GROUPS is wrong/],
    [{ roles: { admins: ['operators'] } }, /unknown field roles.admins; use admin, exclusive/],
    [{ roles: { exclusive: true } }, /ACME_ADMIN_GROUPS is missing: roles.exclusive needs/],
    [{ groupsClaim: 'x'.repeat(300) }, /ACME_GROUPS_CLAIM is wrong/],
  ] as const) {
    const config = { login: { providers: { acme: { ...given, ...(more as object) } } } }
    await assert.rejects(startTestService(engines[0]!, { config }), (error) => {
      assert.ok(isConfigurationError(error))
      assert.match(error.message, message)
      return true
    })
  }
})
