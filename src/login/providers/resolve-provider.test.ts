import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveProvider } from './resolve-provider.ts'

const base = { clientId: 'id', clientSecret: 'secret' }

test('a preset needs no address, and each of its addresses can be replaced', () => {
  const github = resolveProvider({ name: 'github', ...base, tokenUrl: 'https://proxy.example/token' })
  assert.ok('kind' in github && github.kind === 'oauth')
  assert.equal(github.authUrl, 'https://github.com/login/oauth/authorize')
  assert.equal(github.tokenUrl, 'https://proxy.example/token')
  assert.equal(github.scope, 'read:user user:email')
  const google = resolveProvider({ name: 'google', ...base, authUrl: 'https://proxy.example/auth' })
  assert.ok('kind' in google && google.kind === 'openid')
  assert.equal(google.issuer, 'https://accounts.google.com')
  assert.equal(google.authUrl, 'https://proxy.example/auth')
})

test('an issuer means OpenID Connect; its scope always contains openid', () => {
  const provider = resolveProvider({
    name: 'acme',
    ...base,
    issuer: 'https://id.example',
    scope: 'email,profile',
  })
  assert.ok('kind' in provider && provider.kind === 'openid')
  assert.equal(provider.scope, 'openid email profile')
})

test('three addresses mean plain OAuth 2.0, also for an OpenID preset', () => {
  const addresses = {
    authUrl: 'https://x.example/a',
    tokenUrl: 'https://x.example/t',
    profileUrl: 'https://x.example/p',
  }
  for (const name of ['acme', 'google']) {
    const provider = resolveProvider({ name, ...base, ...addresses })
    assert.ok('kind' in provider && provider.kind === 'oauth')
  }
})

test('a provider without a preset and with a missing address is a fault that names the settings', () => {
  const provider = resolveProvider({ name: 'acme', ...base, authUrl: 'https://x.example/a' })
  assert.ok('faults' in provider)
  for (const name of ['ACME_ISSUER', 'ACME_TOKEN_URL', 'ACME_PROFILE_URL'])
    assert.ok(provider.faults.join().includes(name), name)
})
