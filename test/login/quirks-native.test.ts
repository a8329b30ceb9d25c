import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, test } from 'node:test'
import { client } from '#test/harness/shaped-provider.ts'
import { started } from '#test/harness/started.ts'
import { objectId, tenant } from './provider-shapes/openid.ts'
import { startQuirks } from './quirks.ts'
import { identityOf } from './shaped-sign-in.ts'

const AUDIENCES = `${client.id},com.example.app`
const quirks = started(() =>
  startQuirks(
    [
      ['microsoft', 'microsoft', { AUDIENCES }],
      ['one', 'microsoft', { AUDIENCES, TENANT: tenant }],
      ['apple', 'apple', { AUDIENCES }],
      ['google', 'google', { AUDIENCES, HOSTED_DOMAIN: 'example.com' }],
    ],
    {
      login: {
        sameAddress: 'offer',
        clients: [{ id: 'mobile', redirectUris: ['com.example.app:/callback'] }],
      },
    },
  ),
)
afterEach(() => quirks.reset())

/** Sends an id_token of a provider; gives `ok`, or the error. */
async function send(name: string, more: Record<string, unknown> = {}, fields: Record<string, string> = {}) {
  const nonce = randomUUID()
  const idToken = await quirks.provider(name).idToken({ aud: 'com.example.app', nonce, ...more })
  const body = new URLSearchParams({ client_id: 'mobile', id_token: idToken, nonce, ...fields })
  const response = await quirks.service.fetch(`/auth/${name}/token`, { method: 'POST', body })
  const answer = (await response.json()) as { error?: string }
  return answer.error ?? 'ok'
}

test('Microsoft: each tenant has its own issuer, and the user is that of the tenant and the object ID', async () => {
  assert.equal(await send('microsoft'), 'ok')
  assert.equal((await identityOf(quirks.service, 'microsoft')).providerId, `${tenant}:${objectId}`)
  const other = '9188040d-6c67-4c5b-b112-36a304b66dad'
  quirks.change('microsoft', { tokenIssuer: (url) => `${url}/${other}/v2.0` })
  assert.equal(await send('microsoft'), 'invalid_grant')
})

test('Microsoft: an account of another tenant than the configured one is not admitted', async () => {
  const other = '11111111-2222-4333-8444-555555555555'
  const claims = { sub: 'x', tid: other, oid: objectId }
  quirks.change('one', { claims, tokenIssuer: (url) => `${url}/${other}/v2.0` })
  assert.equal(await send('one'), 'access_denied')
})

test('Apple: the app sends the name, which is not in the id_token', async () => {
  assert.equal(await send('apple', {}, { name: 'Ada Lovelace' }), 'ok')
  assert.equal((await identityOf(quirks.service, 'apple')).name, 'Ada Lovelace')
  assert.equal(await send('apple'), 'ok')
  assert.equal((await identityOf(quirks.service, 'apple')).name, 'Ada Lovelace')
})

test('Google: the hosted domain applies, and the name that the app sends does not', async () => {
  const claims = {
    sub: 'g-1',
    email: 'ada@example.com',
    email_verified: true,
    name: 'Ada',
    hd: 'example.com',
  }
  quirks.change('google', { claims: { ...claims, hd: 'other.example' } })
  assert.equal(await send('google'), 'access_denied')
  quirks.change('google', { claims })
  assert.equal(await send('google', {}, { name: 'Somebody else' }), 'ok')
  assert.equal((await identityOf(quirks.service, 'google')).name, 'Ada')
})

test('with a user’s verified address, the app has to decide, and can send the id_token again', async () => {
  assert.equal(await send('apple'), 'ok')
  const email = 'x@privaterelay.appleid.com'
  quirks.change('google', { claims: { sub: 'g-2', email, email_verified: true, hd: 'example.com' } })
  const nonce = randomUUID()
  const idToken = await quirks.provider('google').idToken({ aud: 'com.example.app', nonce })
  const fields = { id_token: idToken, nonce }
  assert.equal(await send('google', {}, fields), 'account_exists')
  assert.equal(await send('google', {}, { ...fields, new_user: 'true' }), 'ok')
  assert.equal(await send('google', {}, fields), 'invalid_grant')
})
