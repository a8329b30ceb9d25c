import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ServerMetadata } from 'openid-client'
import { systemClock } from '../runtime/clock.ts'
import type { TokenAuth } from '../config/providers.ts'
import { clientAuthentication } from './client-authentication.ts'
import { resolveProvider } from './providers/settings.ts'

const issuer = 'https://id.example'

/** How the secret goes. */
async function wayOf(
  methods: string[] | undefined,
  discovered: boolean,
  tokenAuth?: TokenAuth,
): Promise<string> {
  const provider = resolveProvider({
    name: 'acme',
    clientId: 'id',
    clientSecret: 's',
    issuer,
    ...(tokenAuth && { tokenAuth }),
  })
  assert.ok('kind' in provider)
  const server: ServerMetadata = {
    issuer,
    ...(methods && { token_endpoint_auth_methods_supported: methods }),
  }
  const authenticate = await clientAuthentication(provider, server, systemClock, discovered)
  const [body, headers] = [new URLSearchParams(), new Headers()]
  authenticate(server, { client_id: 'id' }, body, headers)
  assert.notEqual(body.has('client_secret'), headers.has('authorization'), 'one way and not the other')
  return body.has('client_secret') ? 'post' : 'basic'
}

test('a discovery document that says nothing of it means the header (RFC 8414)', async () => {
  assert.equal(await wayOf(undefined, true), 'basic')
})

test('what a document says counts, and the body goes before the header', async () => {
  assert.equal(await wayOf(['client_secret_basic', 'client_secret_post'], true), 'post')
  assert.equal(await wayOf(['client_secret_post'], true), 'post')
  assert.equal(await wayOf(['client_secret_basic', 'private_key_jwt'], true), 'basic')
})

test('where nothing is discovered it is the body, and what is configured goes before all', async () => {
  assert.equal(await wayOf(undefined, false), 'post')
  assert.equal(await wayOf(undefined, true, 'post'), 'post')
  assert.equal(await wayOf(['client_secret_post'], true, 'basic'), 'basic')
})
