import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveProvider } from './resolve-provider.ts'

const base = { clientId: 'id', clientSecret: 'secret' }

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
