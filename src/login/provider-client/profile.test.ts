import assert from 'node:assert/strict'
import { test } from 'node:test'
import { profileClaims } from '../../accounts/users/user-profile.ts'
import { parseProfile, readStandardProfile, toIdentity, type ProfileDocument } from './profile.ts'

const bare = { id: '1', name: undefined, email: undefined, emailVerified: false }
const identityOf = (json: string) => toIdentity('acme', readStandardProfile(parseProfile(json)))

test('the form of the specification and the OpenID claims are both understood', () => {
  const specified = identityOf(
    '{"id":"7","displayName":"Ada","emails":[{"value":"a@x.example"},{"value":"b@x.example"}]}',
  )
  assert.deepEqual(specified, {
    provider: 'acme',
    providerId: '7',
    name: 'Ada',
    email: 'a@x.example',
    emailVerified: false,
    picture: null,
    claims: {},
  })
  const claims = identityOf('{"sub":"7","name":"Ada","email":"a@x.example","email_verified":true}')
  assert.deepEqual(claims, { ...specified, emailVerified: true })
})

test('numeric ids are accepted without loss of digits', () => {
  assert.equal(identityOf('{"id":583231}').providerId, '583231')
  assert.equal(identityOf('{"id":9007199254740993}').providerId, '9007199254740993')
  assert.equal(identityOf('{"id":9007199254740992}').providerId, '9007199254740992')
})

test('only true and "true" count as verified', () => {
  for (const [flag, verified] of [
    ['true', true],
    ['"true"', true],
    ['1', false],
    ['"1"', false],
    ['"false"', false],
    ['null', false],
  ] as const) {
    assert.equal(
      identityOf(`{"id":"1","email":"a@x.example","email_verified":${flag}}`).emailVerified,
      verified,
    )
  }
  assert.equal(
    identityOf('{"id":"1","email_verified":true}').emailVerified,
    false,
    'nothing is verified without an address',
  )
})

test('an address is taken unchanged or not at all, because a changed one is that of somebody else', () => {
  const of = (email: unknown) => identityOf(JSON.stringify({ id: '1', email, email_verified: true }))
  assert.equal(of(' a@x.example ').email, 'a@x.example')
  for (const email of [`${'a'.repeat(311)}@x.example`, 'a@x\u0000.example', 'a@x\ud800.example', ' ', 7]) {
    assert.deepEqual([of(email).email, of(email).emailVerified], [null, false])
  }
})

test('the verification of one address does not apply to another', () => {
  const of = (fields: string) => {
    const { email, emailVerified } = identityOf(`{"id":"1",${fields}}`)
    return [email, emailVerified]
  }
  const about = '"email":"a@x.example","email_verified":true'
  assert.deepEqual(of(`${about},"emails":[{"value":"b@x.example"}]`), ['b@x.example', false])
  assert.deepEqual(of(`${about},"emails":["b@x.example"]`), ['b@x.example', false])
  assert.deepEqual(of(`${about},"emails":[{"value":"a@x.example"}]`), ['a@x.example', true])
  assert.deepEqual(of(`${about},"emails":[{"value":"a@x.example","verified":false}]`), ['a@x.example', false])
  assert.deepEqual(of('"emails":[{"value":"b@x.example","verified":true}]'), ['b@x.example', true])
  assert.deepEqual(of('"email":"a@x.example","emails":[{"verified":true}]'), ['a@x.example', false])
})

test('a standard claim is taken unchanged or not at all, and together they have a limited size', () => {
  const of = (claims: ProfileDocument) => toIdentity('acme', { ...bare, claims }).claims
  const good = {
    preferred_username: 'ada',
    locale: 'pt_BR',
    birthdate: '0000-12-10',
    profile: 'https://acme.example/ada',
  }
  assert.deepEqual(of({ ...good, locale: ' pt_BR ', phone_number: '1', sub: '2', toString: 'x' }), good)
  assert.deepEqual(of({ locale: { language: 'en', country: 'US' } }), { locale: 'en-US' })
  for (const wrong of [
    { profile: 'javascript:alert(1)', website: 'data:text/html,x' },
    { profile: { data: 1 }, website: 'example.com' },
    { website: `https://a.example/${'a'.repeat(2_000)}` },
    { preferred_username: 7, nickname: ' ', given_name: null, family_name: ['Ada'] },
    { preferred_username: 'a'.repeat(201), nickname: 'a\u0000b', given_name: '\ud800' },
    { birthdate: '10.12.1815', locale: 'en"<script>' },
    { locale: { language: 7 } },
  ])
    assert.deepEqual(of(wrong), {}, JSON.stringify(wrong))
  const long = Object.fromEntries(profileClaims.map((name) => [name, '名'.repeat(200)]))
  const url = `https://a.example/${'a'.repeat(1_900)}`
  const kept = of({ ...long, profile: url, website: url })
  assert.equal(kept.preferred_username, long['preferred_username'])
  const size = Buffer.byteLength(JSON.stringify(kept))
  assert.ok(size > 3_500 && size <= 4_096, String(size))
})

test('equal claims are stored as equal texts, whatever order a provider sends', () => {
  const of = (claims: ProfileDocument) => JSON.stringify(toIdentity('acme', { ...bare, claims }).claims)
  assert.equal(of({ nickname: 'a', given_name: 'b' }), of({ given_name: 'b', nickname: 'a' }))
})
