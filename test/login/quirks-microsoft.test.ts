import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { Browser, started } from '#test/harness/index.ts'
import { whoAmI } from './harness.ts'
import { objectId, tenant } from './provider-shapes/openid.ts'
import { startQuirks } from './quirks.ts'
import { identityOf } from './shaped-sign-in.ts'

const personalTenant = '9188040d-6c67-4c5b-b112-36a304b66dad'
const quirks = started(() =>
  startQuirks([
    ['microsoft', 'microsoft'],
    ['work', 'microsoft', { TENANT: 'organizations' }],
    ['home', 'microsoft', { TENANT: 'consumers' }],
    ['one', 'microsoft', { TENANT: tenant }],
    // Their issuer is that of `common`, as all are here.
    ['domain', 'microsoft', { TENANT: 'contoso.example' }],
    ['own', 'microsoft', { TENANT: 'contoso.example' }],
    ['private', 'microsoft', { TENANT: personalTenant.toUpperCase() }],
    ['naming', 'microsoft'],
  ]),
)
afterEach(() => quirks.reset())

const claims = { sub: 'pairwise', tid: tenant, oid: objectId, email: 'a@example.com', name: 'A' }
const personal = { ...claims, tid: personalTenant }
const inTenant = (tid: string) => ({ tokenIssuer: (url: string) => `${url}/${tid}/v2.0` })

const people: [string, string, Record<string, unknown>, string, string][] = [
  ['microsoft', 'a work account', claims, tenant, '/dashboard'],
  ['microsoft', 'a personal account', personal, personalTenant, '/dashboard'],
  ['work', 'a work account', claims, tenant, '/dashboard'],
  ['work', 'a personal account', personal, personalTenant, 'account-not-admitted'],
  ['home', 'a personal account', personal, personalTenant, '/dashboard'],
  ['home', 'a work account', claims, tenant, 'account-not-admitted'],
  ['one', 'the tenant', claims, tenant, '/dashboard'],
  ['one', 'a personal account', personal, personalTenant, 'account-not-admitted'],
  [
    'microsoft',
    'an account that names another tenant than its issuer',
    claims,
    personalTenant,
    'provider-answer-invalid',
  ],
  ['microsoft', 'no tenant', { ...claims, tid: undefined }, tenant, 'provider-answer-invalid'],
  [
    'microsoft',
    'a tenant that is no id',
    { ...claims, tid: '../common' },
    '../common',
    'provider-answer-invalid',
  ],
  ['domain', 'a work account of any tenant', claims, tenant, 'account-not-admitted'],
  ['domain', 'a personal account', personal, personalTenant, 'account-not-admitted'],
  ['private', 'a personal account', personal, personalTenant, '/dashboard'],
  ['private', 'a work account', claims, tenant, 'account-not-admitted'],
  ['microsoft', 'no object id', { ...claims, oid: undefined }, tenant, 'account-not-admitted'],
]
for (const [name, person, its, tid, end] of people) {
  test(`${name}: ${person} ends at ${end}`, async () => {
    quirks.change(name, { claims: its, ...inTenant(tid) })
    assert.equal(await quirks.outcome(name), end)
  })
}

test('a user is identified by tenant and object id', async () => {
  const ids = []
  for (const tid of [tenant, personalTenant, tenant]) {
    const browser = new Browser()
    quirks.change('microsoft', { claims: { ...claims, tid }, ...inTenant(tid) })
    assert.equal(await quirks.outcome('microsoft', browser), '/dashboard')
    ids.push((await whoAmI(quirks.service, browser))!.id)
  }
  assert.equal(ids[0], ids[2])
  assert.notEqual(ids[0], ids[1])
})

const addresses: [string, Record<string, unknown>, boolean][] = [
  ['the address alone', {}, false],
  ['email_verified, which Microsoft does not send', { email_verified: true }, false],
  ['the domain owner verified', { xms_edov: true }, true],
  ['the domain owner verified, as a text', { xms_edov: '1' }, true],
  ['the domain owner not verified', { xms_edov: false }, false],
  ['the domain owner not verified, as a text', { xms_edov: '0' }, false],
  ['a verified primary address', { verified_primary_email: ['a@example.com'] }, true],
  ['another verified primary address', { verified_primary_email: ['b@example.com'] }, false],
]
for (const [what, more, verified] of addresses) {
  test(`an address with ${what} is ${verified ? '' : 'not '}verified`, async () => {
    quirks.change('microsoft', { claims: { ...claims, ...more } })
    assert.equal(await quirks.outcome('microsoft'), '/dashboard')
    assert.equal((await identityOf(quirks.service, 'microsoft')).verified, verified)
  })
}

test('addresses of a single configured tenant are verified', async () => {
  quirks.change('one', { claims })
  assert.equal(await quirks.outcome('one'), '/dashboard')
  assert.equal((await identityOf(quirks.service, 'one')).verified, true)
})

test('a domain counts as a single tenant if its discovery document names one', async () => {
  const metadata = (url: string) => ({ issuer: `${url}/${tenant}/v2.0` })
  quirks.change('own', { claims, metadata })
  assert.equal(await quirks.outcome('own'), '/dashboard')
  assert.equal((await identityOf(quirks.service, 'own')).verified, true)
  quirks.change('own', { claims: personal, metadata, ...inTenant(personalTenant) })
  assert.equal(await quirks.outcome('own'), 'provider-answer-invalid')
})

test('addresses of the tenant of personal accounts are not verified', async () => {
  quirks.change('private', { claims: personal, ...inTenant(personalTenant) })
  assert.equal(await quirks.outcome('private'), '/dashboard')
  assert.equal((await identityOf(quirks.service, 'private')).verified, false)
})

test('iss may be the tenant, the placeholder or the configured issuer, and is required if advertised', async () => {
  const { url, shape } = quirks.provider('naming')
  const metadata = () => ({
    ...shape.metadata?.(url),
    authorization_response_iss_parameter_supported: true,
  })
  for (const [named, end] of [
    [`${url}/${tenant}/v2.0`, '/dashboard'],
    [`${url}/{tenantid}/v2.0`, '/dashboard'],
    [`${url}/common/v2.0`, '/dashboard'],
    [`${url}/evil/v2.0`, 'provider-answer-invalid'],
    [`${url}/${tenant}/v1.0`, 'provider-answer-invalid'],
    [`https://evil.example/${tenant}/v2.0`, 'provider-answer-invalid'],
    ['', 'provider-answer-invalid'],
  ] as const) {
    quirks.change('naming', { claims, metadata, responseIssuer: named })
    const exchanged = quirks.provider('naming').to(shape.token).length
    assert.equal(await quirks.outcome('naming'), end, named)
    const exchanges = quirks.provider('naming').to(shape.token).length - exchanged
    assert.equal(exchanges, end === '/dashboard' ? 1 : 0, named)
  }
})

test('the userinfo endpoint of Graph is not called', async () => {
  assert.equal(await quirks.outcome('microsoft'), '/dashboard')
  assert.equal(quirks.provider('microsoft').to('/oidc/userinfo').length, 0)
})
