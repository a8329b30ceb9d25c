import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { beforeEach, describe, test } from 'node:test'
import { generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose'
import { Browser, listening, engines, rowsOf, started, startTestService } from '#test/harness/index.ts'
import { forgedClient, startOpenIdForger } from '#test/harness/openid-forger.ts'
import { createOpenIdServer } from '../../src/demo/openid-server.ts'
import { assertFails, counts, signIn, upToCallback, whoAmI } from './harness.ts'

describe('OpenID Connect', () => {
  const forger = started(startOpenIdForger)
  const service = started(async () => {
    const env = {
      ...forger.env('ACME'),
    }
    return startTestService(engines[0]!, { env })
  })
  beforeEach(() => {
    forger.claims = (claims) => claims
    forger.sign = undefined
    forger.answer = {}
    forger.userinfo = {
      sub: 'subject-1',
      name: 'Grace Hopper',
      email: 'grace@example.com',
      email_verified: 'true',
    }
    forger.tokenRequests.length = 0
  })

  test('a sign-in sends OpenID scopes, nonce and PKCE, and discovers once', async () => {
    const start = new URL((await service.fetch('/auth/acme')).headers.get('location')!)
    assert.equal(start.searchParams.get('scope'), 'openid email profile')
    assert.ok(start.searchParams.get('nonce'))
    assert.equal(start.searchParams.get('code_challenge_method'), 'S256')
    const browser = new Browser()
    assert.equal(await signIn(service, browser), '/dashboard')
    const me = (await whoAmI(service, browser))!
    assert.equal(me.name, 'Grace Hopper')
    assert.equal(me.email, 'grace@example.com')
    assert.equal(forger.discoveries, 1)
    const identity = (await rowsOf(service, 'identities'))[0]!
    assert.equal(identity.provider_id, 'subject-1')
    assert.equal(identity.email_verified, 1)
  })

  test('email_verified of the id_token does not apply to another address in the userinfo', async () => {
    forger.claims = (claims) => ({
      ...claims,
      sub: 'two-addresses',
      email: 'own@example.com',
      email_verified: true,
    })
    forger.userinfo = { sub: 'two-addresses', name: 'Eve', email: 'somebody@example.com' }
    assert.equal(await signIn(service, new Browser()), '/dashboard')
    const { email, email_verified: verified } = (
      await rowsOf(service, 'identities', { provider_id: 'two-addresses' })
    )[0]!
    assert.deepEqual([email, verified], ['somebody@example.com', 0])
  })

  const past = Math.floor(Date.now() / 1000) - 3_600
  const badClaims: [string, (claims: JWTPayload) => JWTPayload][] = [
    ['of another issuer', (claims) => ({ ...claims, iss: 'https://evil.example' })],
    ['for another client', (claims) => ({ ...claims, aud: 'somebody-else' })],
    [
      'for several clients, authorized to another',
      (claims) => ({ ...claims, aud: [forgedClient.id, 'x'], azp: 'x' }),
    ],
    ['that has expired', (claims) => ({ ...claims, iat: past, exp: past + 60 })],
    ['that is not valid yet', (claims) => ({ ...claims, nbf: past + 7_200 })],
    ['without a subject', ({ sub: _sub, ...claims }) => claims],
    ['with another nonce', (claims) => ({ ...claims, nonce: 'replayed' })],
    ['without the nonce', ({ nonce: _nonce, ...claims }) => claims],
    ['of another subject than the profile', (claims) => ({ ...claims, sub: 'subject-2' })],
  ]
  for (const [name, claims] of badClaims) {
    test(`an id_token ${name} is refused`, async () => {
      const before = await counts(service)
      forger.claims = claims
      const browser = new Browser()
      await assertFails(service, browser, await upToCallback(service, browser), 'provider-answer-invalid')
      assert.deepEqual(await counts(service), before)
    })
  }

  const badSignatures: [string, (claims: JWTPayload) => Promise<string>][] = [
    ['not signed (alg none)', async (claims) => new UnsecuredJWT(claims).encode()],
    [
      'signed with the client secret (HS256)',
      (claims) =>
        new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(forgedClient.secret)),
    ],
    [
      'signed with another key',
      async (claims) => {
        const { privateKey } = await generateKeyPair('ES256')
        return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'k1' }).sign(privateKey)
      },
    ],
    ['no JWT at all', async () => 'nonsense'],
  ]
  for (const [name, sign] of badSignatures) {
    test(`an id_token that is ${name} is refused`, async () => {
      forger.sign = sign
      const browser = new Browser()
      await assertFails(service, browser, await upToCallback(service, browser), 'provider-answer-invalid')
    })
  }

  const badIssuers: [string, string | null][] = [
    ['another issuer', 'https://evil.example'],
    ['no issuer, though the provider always sends it', null],
  ]
  for (const [name, iss] of badIssuers) {
    test(`an error with ${name} is not attributed to the provider`, async () => {
      forger.answer = { iss, code: null, error: 'access_denied' }
      const browser = new Browser()
      await assertFails(service, browser, await upToCallback(service, browser), 'provider-answer-invalid')
    })
  }

  test('an error with the right issuer is attributed to the provider', async () => {
    forger.answer = { code: null, error: 'access_denied' }
    const browser = new Browser()
    await assertFails(service, browser, await upToCallback(service, browser), 'access-denied')
  })

  test('oidc-provider on an issuer of its own', async () => {
    let handle: ReturnType<typeof createOpenIdServer> | undefined
    const server = createServer((request, response) => void handle!(request, response))
    await using opened = await listening(server)
    const origin = opened.url
    const client = { id: 'c', secret: 'a-secret-of-the-test' }
    const env = { REAL_CLIENT_ID: client.id, REAL_CLIENT_SECRET: client.secret, REAL_ISSUER: `${origin}/op` }
    const real = await startTestService(engines[0]!, { env })
    try {
      const redirectUri = `${real.baseUrl}/auth/real/callback`
      const failed: Error[] = []
      const onError = (error: Error): void => void failed.push(error)
      const parts = {
        mountPath: '/op',
        baseUrl: origin,
        client: { ...client, redirectUri },
        admins: new Set<string>(),
        onError,
      }
      handle = createOpenIdServer(parts)
      const browser = new Browser()
      const { url } = await browser.follow(new URL('/auth/real', real.baseUrl))
      const chosen = await browser.go(url, { method: 'POST', body: new URLSearchParams({ person: 'grace' }) })
      const end = await browser.follow(
        new URL(chosen.headers.get('location')!, url),
        (next) => next.pathname !== '/dashboard',
      )
      assert.equal(end.next?.pathname, '/dashboard')
      assert.equal((await whoAmI(real, browser))!.email, 'grace@demo.example')
      assert.deepEqual(failed, [])
    } finally {
      await real.close()
      server.close()
      server.closeAllConnections()
    }
  })
})
