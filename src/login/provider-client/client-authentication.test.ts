import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ServerMetadata } from 'openid-client'
import { systemClock } from '../../runtime/clock.ts'
import type { TokenAuth } from '../../config/providers.ts'
import { clientAuthentication } from './provider-server.ts'
import { resolveProvider } from '../providers/resolve-provider.ts'

const issuer = 'https://id.example'

/** How the client secret is sent. */
async function methodOf(
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
  assert.notEqual(body.has('client_secret'), headers.has('authorization'), 'exactly one of both')
  return body.has('client_secret') ? 'post' : 'basic'
}

test('a discovery document without methods means the header (RFC 8414)', async () => {
  assert.equal(await methodOf(undefined, true), 'basic')
})

test('the methods of the discovery document are used, and the body is preferred to the header', async () => {
  assert.equal(await methodOf(['client_secret_basic', 'client_secret_post'], true), 'post')
  assert.equal(await methodOf(['client_secret_post'], true), 'post')
  assert.equal(await methodOf(['client_secret_basic', 'private_key_jwt'], true), 'basic')
})

test('without discovery the body is used, unless a method is configured', async () => {
  assert.equal(await methodOf(undefined, false), 'post')
  assert.equal(await methodOf(undefined, true, 'post'), 'post')
  assert.equal(await methodOf(['client_secret_post'], true, 'basic'), 'basic')
})
