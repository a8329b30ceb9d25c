// Organizations, teams, groups and tenants by the provider's own API and claims.
import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { Browser, started } from '#test/harness/index.ts'
import type { Reply, Request } from '#test/harness/shaped-provider.ts'
import { userProfileReader } from '../../src/accounts/users/user-profile.ts'
import { counts, whoAmI } from './harness.ts'
import { objectId, tenant } from './provider-shapes/openid.ts'
import { startQuirks } from './quirks.ts'

const otherTenant = '72f988bf-86f1-41af-91ab-2d7cd011db47'
const quirks = started(() =>
  startQuirks([
    ['github', 'github'],
    ['staff', 'github', { ALLOWED_GROUPS: 'Acme, other/Operators', ADMIN_GROUPS: 'acme/admins' }],
    ['everything', 'github', { GROUPS_CLAIM: 'groups', ALLOWED_GROUPS: 'acme' }],
    ['gitlab', 'gitlab', { ADMIN_GROUPS: 'Acme/Admins', ALLOWED_GROUPS: 'acme' }],
    [
      'tenants',
      'microsoft',
      { TENANT: 'organizations', ALLOWED_TENANTS: `${otherTenant},${tenant.toUpperCase()}` },
    ],
    ['spaces', 'google', { HOSTED_DOMAIN: 'example.com, example.org' }],
  ]),
)
afterEach(() => quirks.reset())

/** Pages of a hundred, as GitHub gives them. */
const paged =
  (entries: readonly unknown[]) =>
  ({ url }: Request): Reply => {
    const page = Number(url.searchParams.get('page'))
    assert.equal(url.searchParams.get('per_page'), '100')
    return { json: entries.slice((page - 1) * 100, page * 100) }
  }
const organizations = (...names: string[]) => paged(names.map((login) => ({ login })))
const teams = (...names: [string, string][]) =>
  paged(names.map(([login, slug]) => ({ slug, name: 'shown', organization: { login } })))

/** What the person's groups are at GitHub. */
function become(orgs: (request: Request) => Reply, its: (request: Request) => Reply, name = 'staff'): void {
  quirks.change(name, {
    api: { ...quirks.provider(name).shape.api, 'GET /user/orgs': orgs, 'GET /user/teams': its },
  })
}

async function rights(name: string): Promise<{ role: string; groups: readonly string[] }> {
  const browser = new Browser()
  assert.equal(await quirks.outcome(name, browser), '/dashboard')
  const { id, role } = (await whoAmI(quirks.service, browser))!
  return { role, groups: (await userProfileReader([])(quirks.service.database.reader, id))!.groups }
}

describe('GitHub', () => {
  test('organizations and teams are asked for only where they have a meaning', async () => {
    assert.equal(await quirks.outcome('github'), '/dashboard')
    assert.equal(quirks.provider('github').to('/user/orgs').length, 0)
    become(organizations('acme'), teams())
    assert.equal(await quirks.outcome('staff'), '/dashboard')
    const scopeOf = (name: string) =>
      quirks.provider(name).to('/login/oauth/authorize').at(-1)!.url.searchParams.get('scope')
    assert.equal(scopeOf('github'), 'read:user user:email')
    assert.equal(scopeOf('staff'), 'read:user user:email read:org')
  })

  test('an organization or a team admits, in any case', async () => {
    become(organizations('ACME'), teams(['ACME', 'admins'], ['acme', 'Writers']))
    assert.deepEqual(await rights('staff'), {
      role: 'admin',
      // Anybody can create an organization, so others are not stored.
      groups: ['acme', 'acme/admins'],
    })
    become(organizations('other'), teams(['other', 'operators']))
    assert.equal((await rights('staff')).role, 'user')
  })

  test('all are stored where the setting says so', async () => {
    become(organizations('ACME', 'mine'), teams(['mine', 'sales']), 'everything')
    assert.deepEqual((await rights('everything')).groups, ['acme', 'mine', 'mine/sales'])
  })

  test('neither another organization nor a team of the same name admits', async () => {
    const before = await counts(quirks.service)
    for (const [orgs, its] of [
      [organizations(), teams()],
      [organizations('acme-evil', 'evil-acme', 'other'), teams(['acme-evil', 'operators'])],
      [organizations('evil'), teams(['evil', 'acme'], ['evil', 'operators'])],
    ] as const) {
      become(orgs, its)
      assert.equal(await quirks.outcome('staff'), 'account-not-admitted')
    }
    assert.deepEqual(await counts(quirks.service), before)
  })

  test('pages are followed, and bounded', async () => {
    const many = Array.from({ length: 250 }, (_, index) => `org-${index}`)
    become(organizations(...many, 'acme'), teams())
    assert.equal(await quirks.outcome('staff'), '/dashboard')
    assert.equal(quirks.provider('staff').to('/user/orgs').length, 3)
    quirks.provider('staff').requests.length = 0
    become(() => ({ json: Array.from({ length: 100 }, () => ({ login: 'endless' })) }), teams())
    assert.equal(await quirks.outcome('staff'), 'account-not-admitted')
    assert.equal(quirks.provider('staff').to('/user/orgs').length, 10)
  })

  const broken: [string, Reply, string][] = [
    ['refuses', { status: 403, json: { message: 'Resource not accessible' } }, 'provider-refused'],
    ['fails', { status: 502, text: 'bad gateway' }, 'provider-unavailable'],
    ['sends no list', { json: { login: 'acme' } }, 'provider-answer-invalid'],
    ['sends no names', { json: [{ id: 1 }] }, 'provider-answer-invalid'],
    ['sends no JSON', { text: '<html>' }, 'provider-answer-invalid'],
  ]
  for (const [what, reply, end] of broken) {
    test(`when the list ${what}, nobody signs in, and no role ends`, async () => {
      become(organizations('acme'), teams(['acme', 'admins']))
      const browser = new Browser()
      assert.equal(await quirks.outcome('staff', browser), '/dashboard')
      become(() => reply, teams())
      assert.equal(await quirks.outcome('staff'), end)
      assert.equal((await whoAmI(quirks.service, browser))!.role, 'admin')
    })
  }
})

describe('GitLab', () => {
  const become = (groups: unknown) =>
    quirks.change('gitlab', {
      api: {
        ...quirks.provider('gitlab').shape.api,
        'GET /oauth/userinfo': () => ({ json: { sub: '1', groups } }),
      },
    })

  test('groups are read from the userinfo', async () => {
    become(['Acme', 'acme/Admins', 'evil'])
    assert.deepEqual(await rights('gitlab'), { role: 'admin', groups: ['acme', 'acme/admins'] })
    const asked = quirks.provider('gitlab').to('/oauth/authorize').at(-1)!.url.searchParams
    assert.equal(asked.get('scope'), 'read_user openid')
    become(['acme'])
    assert.equal((await rights('gitlab')).role, 'user')
  })

  test('another group does not admit', async () => {
    for (const groups of [[], ['acme2'], ['evil/acme'], ['acme/'], [{ path: 'acme' }]]) {
      become(groups)
      assert.equal(await quirks.outcome('gitlab'), 'account-not-admitted')
    }
    become({ acme: true })
    assert.equal(await quirks.outcome('gitlab'), 'provider-answer-invalid')
  })
})

describe('Microsoft', () => {
  const claims = { sub: 'pairwise', tid: tenant, oid: objectId, email: 'a@example.com', name: 'A' }
  const strange = '11111111-2222-3333-4444-555555555555'
  const from = (tid: string) => ({ tokenIssuer: (url: string) => `${url}/${tid}/v2.0` })

  test('only the listed tenants are admitted, in any case', async () => {
    for (const tid of [tenant, otherTenant]) {
      quirks.change('tenants', { claims: { ...claims, tid }, ...from(tid) })
      assert.equal(await quirks.outcome('tenants'), '/dashboard')
    }
    quirks.change('tenants', { claims: { ...claims, tid: strange }, ...from(strange) })
    assert.equal(await quirks.outcome('tenants'), 'account-not-admitted')
  })

  test('a forged tid is refused, since the issuer has to name the same tenant', async () => {
    quirks.change('tenants', { claims, ...from(strange) })
    assert.equal(await quirks.outcome('tenants'), 'provider-answer-invalid')
    for (const tid of [[tenant], tenant.toUpperCase(), `${tenant} `, undefined]) {
      quirks.change('tenants', { claims: { ...claims, tid }, ...from(tenant) })
      assert.notEqual(await quirks.outcome('tenants'), '/dashboard', String(tid))
    }
  })
})

describe('Google', () => {
  test('one of several Workspace domains is needed in the claim', async () => {
    for (const [hd, end] of [
      ['example.com', '/dashboard'],
      ['EXAMPLE.org', '/dashboard'],
      ['example.net', 'account-not-admitted'],
      ['evil-example.com', 'account-not-admitted'],
      [['example.com'], 'account-not-admitted'],
      [undefined, 'account-not-admitted'],
    ] as const) {
      quirks.change('spaces', { claims: { sub: 'g-1', ...(hd !== undefined && { hd }) } })
      quirks.api('spaces', { 'GET /v1/userinfo': () => ({ json: { sub: 'g-1', name: 'G' } }) })
      assert.equal(await quirks.outcome('spaces'), end, String(hd))
    }
    const asked = quirks.provider('spaces').requests.find(({ url }) => url.searchParams.has('client_id'))!
    assert.equal(asked.url.searchParams.get('hd'), '*')
  })

  test('hd in the request and in the userinfo proves nothing', async () => {
    const person = { sub: 'g-1', hd: 'example.com', email: 'a@example.com', email_verified: true }
    quirks.change('spaces', { claims: { sub: 'g-1' } })
    quirks.api('spaces', { 'GET /v1/userinfo': () => ({ json: person }) })
    assert.equal(await quirks.outcome('spaces'), 'account-not-admitted')
    const browser = new Browser()
    const start = await browser.go(new URL('/auth/spaces?hd=example.com', quirks.service.baseUrl))
    assert.equal(new URL(start.headers.get('location')!).searchParams.get('hd'), '*')
  })
})
