import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { exchangeCommand, newAttempt } from './sign-in-attempt.ts'

const issuer = 'https://gate.example.com'
const redirectUri = 'https://app.example.com/callback?x=1'

test('an attempt is an authorization request with the challenge of its verifier', async () => {
  const { url, verifier } = await newAttempt(issuer, { id: 'shop', scopes: ['openid', 'email'] }, redirectUri)
  const { origin, pathname, searchParams } = new URL(url)
  assert.equal(origin + pathname, `${issuer}/oauth2/authorize`)
  assert.equal(searchParams.get('redirect_uri'), redirectUri)
  assert.equal(searchParams.get('scope'), 'openid email')
  assert.equal(searchParams.get('code_challenge'), createHash('sha256').update(verifier).digest('base64url'))
  assert.match(verifier, /^[\w-]{43}$/)
})

test('each attempt has values of its own', async () => {
  const attempt = () => newAttempt(issuer, { id: 'shop', scopes: ['openid'] }, redirectUri)
  assert.notEqual((await attempt()).verifier, (await attempt()).verifier)
})

test('the command authenticates the app by its secret or its key, and names a public one', () => {
  const command = (confidential: boolean, jwks: { keys: [] } | null) =>
    exchangeCommand(issuer, { id: 'shop', confidential, jwks }, redirectUri, 'v')
  assert.match(command(true, null), /-u 'shop:'"\$CLIENT_SECRET"/)
  assert.match(command(true, { keys: [] }), /-d client_assertion="\$CLIENT_ASSERTION"/)
  assert.doesNotMatch(command(true, { keys: [] }), /CLIENT_SECRET/)
  assert.match(command(false, null), /-d client_id='shop'/)
})
