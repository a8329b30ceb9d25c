import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose'
import { createVerifier, type VerifierOptions } from './verifier.ts'

const issuer = 'https://gate.example.com'
const audience = 'https://api.example.com'
const start = Date.parse('2026-01-01T00:00:00Z')

interface Signer {
  alg: string
  kid: string
  key: CryptoKey
  jwk: JWK
}

async function newSigner(alg: string, kid: string): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair(alg)
  return { alg, kid, key: privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

describe('verification of access tokens', () => {
  let now: number
  let published: JWK[]
  let fetches: number
  let cacheControl: string
  let down: boolean
  let first: Signer
  beforeEach(async () => {
    now = start
    fetches = 0
    cacheControl = 'public, max-age=300'
    down = false
    first = await newSigner('ES256', 'first')
    published = [first.jwk]
  })

  const verifier = (options: Partial<VerifierOptions> = {}) =>
    createVerifier({
      issuer,
      audience,
      now: () => now,
      async fetch(address) {
        assert.equal(address, `${issuer}/.well-known/jwks.json`)
        fetches += 1
        if (down) throw new TypeError('fetch failed')
        return Response.json({ keys: published }, { headers: { 'cache-control': cacheControl } })
      },
      ...options,
    })

  function sign(
    { alg, kid, key }: Signer,
    claims: Record<string, unknown> = {},
    header: Record<string, unknown> = {},
  ): Promise<string> {
    const seconds = Math.floor(now / 1000)
    const usual = {
      iss: issuer,
      aud: audience,
      sub: 'u1',
      client_id: 'spa',
      jti: 'j',
      iat: seconds,
      exp: seconds + 900,
    }
    return new SignJWT({ ...usual, ...claims })
      .setProtectedHeader({ alg, kid, typ: 'at+jwt', ...header })
      .sign(key)
  }
  const refused = (detail: RegExp) => ({
    name: 'NotSignedInError',
    code: 'invalid-token',
    status: 401,
    detail,
  })

  for (const alg of ['ES256', 'RS256', 'EdDSA'])
    test(`a token signed with ${alg} is accepted, and its claims are given`, async () => {
      const signer = await newSigner(alg, 'k')
      published = [first.jwk, signer.jwk]
      const claims = await verifier().verify(await sign(signer, { scope: 'a b', sid: 's' }))
      assert.deepEqual([claims.sub, claims.client_id, claims.scope, claims.sid], ['u1', 'spa', 'a b', 's'])
      assert.ok(Object.isFrozen(claims))
    })

  const broken: [what: string, claims: Record<string, unknown>, detail: RegExp][] = [
    ['of another issuer', { iss: 'https://evil.example' }, /issuer/],
    ['for another audience', { aud: 'https://other.example.com' }, /audience/],
    ['for no audience', { aud: undefined }, /audience/],
    ['that has expired', { exp: start / 1000 - 5 }, /expired/],
    ['without an end', { exp: undefined }, /times/],
    ['that is not valid yet', { nbf: start / 1000 + 60 }, /not valid yet/],
    ['of the future', { iat: start / 1000 + 60 }, /not valid yet/],
    ['without a subject', { sub: undefined }, /sub/],
    ['without a client', { client_id: undefined }, /client_id/],
    ['with a number as jti', { jti: 1 }, /jti/],
  ]
  for (const [what, claims, detail] of broken)
    test(`a token ${what} is refused`, async () => {
      await assert.rejects(verifier().verify(await sign(first, claims)), refused(detail))
    })

  test('an id_token, a token without a key id, and critical headers are refused', async () => {
    const { verify } = verifier()
    await assert.rejects(verify(await sign(first, {}, { typ: 'JWT' })), refused(/at\+jwt/))
    await assert.rejects(verify(await sign(first, {}, { kid: undefined })), refused(/names no key/))
    const [head, ...rest] = (await sign(first)).split('.')
    const header = { ...(JSON.parse(atob(head!)) as object), crit: ['b64'] }
    await assert.rejects(
      verify([btoa(JSON.stringify(header)).replaceAll('=', ''), ...rest].join('.')),
      refused(/critical/),
    )
  })

  test('a token without a signature, or signed by the public key as a secret, is refused', async () => {
    const { verify } = verifier()
    const [, payload] = (await sign(first)).split('.')
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const none = `${encode({ alg: 'none', typ: 'at+jwt', kid: 'first' })}.${payload}.`
    await assert.rejects(verify(none), refused(/no signed JWT/))
    const secret = new TextEncoder().encode(JSON.stringify(first.jwk))
    const forged = await new SignJWT({})
      .setProtectedHeader({ alg: 'HS256', kid: 'first', typ: 'at+jwt' })
      .sign(secret)
    await assert.rejects(verify(forged), refused(/algorithm/))
    for (const text of ['', 'a.b', 'a.b.c', 'é.é.é', 'a'.repeat(20_000)])
      await assert.rejects(verify(text), refused(/JWT/))
  })

  test('a changed payload and another key with the same id are refused', async () => {
    const { verify } = verifier()
    const token = await sign(first)
    const other = await newSigner('ES256', 'first')
    await assert.rejects(verify(await sign(other)), refused(/signature/))
    const [head, , signature] = token.split('.')
    const [, payload] = (await sign(first, { sub: 'admin' })).split('.')
    await assert.rejects(verify(`${head}.${payload}.${signature}`), refused(/signature/))
  })

  test('a signature of any length is refused, also one that is no base64url', async () => {
    for (const alg of ['ES256', 'RS256', 'EdDSA']) {
      const signer = await newSigner(alg, 'k')
      published = [signer.jwk]
      const { verify } = verifier()
      const [head, payload, signature = ''] = (await sign(signer)).split('.')
      for (const other of ['A', 'AA', 'AAAAA', signature.slice(0, -1), `${signature}AAA`, 'A'.repeat(9_000)])
        await assert.rejects(
          verify(`${head}.${payload}.${other}`),
          refused(/signature|no signed JWT/),
          `${alg} ${other}`,
        )
    }
  })

  test('keys for encryption, short RSA keys and symmetric keys verify nothing', async () => {
    published = [
      { ...first.jwk, use: 'enc' },
      { kty: 'oct', k: 'c2VjcmV0', kid: 'oct' },
      { kty: 'RSA', n: 'a'.repeat(170), e: 'AQAB', kid: 'short' },
    ]
    await assert.rejects(verifier().verify(await sign(first)), refused(/does not publish/))
  })

  test('a missing scope is 403', async () => {
    const { verify } = verifier()
    const token = await sign(first, { scope: 'orders:read profile' })
    await verify(token, { scope: ['profile', 'orders:read'] })
    await assert.rejects(verify(token, { scope: 'orders:write' }), {
      name: 'ForbiddenError',
      code: 'insufficient-scope',
      status: 403,
    })
    await assert.rejects(verify(await sign(first), { scope: 'profile' }), { status: 403 })
  })

  test('keys are fetched once, for concurrent calls too, and again when their time has passed', async () => {
    const { verify } = verifier()
    const token = await sign(first)
    await Promise.all([verify(token), verify(token), verify(token)])
    assert.equal(fetches, 1)
    now += 200_000
    await verify(token)
    assert.equal(fetches, 1)
    now += 101_000
    await verify(token)
    assert.equal(fetches, 2)
  })

  test('maxAge bounds what Cache-Control allows, and no-store is bounded to five seconds', async () => {
    cacheControl = 'max-age=86400'
    const bounded = verifier({ maxAge: 60 })
    const token = await sign(first)
    await bounded.verify(token)
    now += 61_000
    await bounded.verify(token)
    assert.equal(fetches, 2)
    cacheControl = 'no-store'
    const unbounded = verifier()
    await unbounded.verify(token)
    now += 1_000
    await unbounded.verify(token)
    assert.equal(fetches, 3)
    now += 5_000
    await unbounded.verify(token)
    assert.equal(fetches, 4)
  })

  test('a token of a new key is accepted, and made-up key ids cause one fetch in the cooldown', async () => {
    const { verify } = verifier({ cooldown: 10 })
    await verify(await sign(first))
    const next = await newSigner('ES256', 'next')
    published.push(next.jwk)
    now += 10_000
    await verify(await sign(next))
    assert.equal(fetches, 2)
    const unknown = await newSigner('ES256', 'unknown')
    for (let time = 0; time < 5; time += 1)
      await assert.rejects(verify(await sign(unknown)), refused(/does not publish/))
    assert.equal(fetches, 2)
  })

  test('a withdrawn key is refused as soon as the keys are fetched again, remembered tokens too', async () => {
    const { verify } = verifier()
    const token = await sign(first)
    await verify(token)
    const next = await newSigner('ES256', 'next')
    published = [next.jwk]
    now += 10_000
    // The first token of the new key brings the new set.
    await verify(await sign(next))
    await assert.rejects(verify(token), refused(/does not publish/))
  })

  test('a withdrawn key is refused after maxAge without any other token', async () => {
    const { verify } = verifier({ maxAge: 30 })
    const token = await sign(first)
    await verify(token)
    published = []
    now += 31_000
    await assert.rejects(verify(token), refused(/does not publish/))
  })

  test('a remembered token expires', async () => {
    const { verify } = verifier()
    const token = await sign(first, { exp: start / 1000 + 60 })
    await verify(token)
    now += 64_000
    await verify(token)
    now += 2_000
    await assert.rejects(verify(token), refused(/expired/))
  })

  test('without keys the error is the service’s, and not the caller’s', async () => {
    const { verify } = verifier()
    down = true
    const unavailable = { name: 'UnavailableError', code: 'keys-unavailable', status: 503 }
    await assert.rejects(verify(await sign(first)), unavailable)
    down = false
    await verify(await sign(first))
  })

  test('checkRevoked asks the service about each token', async () => {
    let live = true
    const asked: string[] = []
    const token = await sign(first)
    const { verify } = verifier({
      checkRevoked: true,
      async fetch(address, init) {
        if (address.endsWith('jwks.json')) return Response.json({ keys: published })
        assert.equal(address, `${issuer}/auth/session`)
        asked.push(new Headers(init?.headers).get('authorization')!)
        return live ? Response.json({}) : new Response(null, { status: 401 })
      },
    })
    await verify(token)
    live = false
    await assert.rejects(verify(token), refused(/session has ended/))
    assert.deepEqual(asked, [`Bearer ${token}`, `Bearer ${token}`])
  })

  test('checkRevoked introspects with a client’s credentials', async () => {
    let active = true
    let wrongSecret = false
    const { verify } = verifier({
      checkRevoked: { clientId: 'my api', clientSecret: 'a:b' },
      async fetch(address, init) {
        if (address.endsWith('jwks.json')) return Response.json({ keys: published })
        assert.equal(address, `${issuer}/oauth2/introspect`)
        assert.equal(new Headers(init?.headers).get('authorization'), `Basic ${btoa('my+api:a%3Ab')}`)
        if (wrongSecret) return Response.json({ error: 'invalid_client' }, { status: 401 })
        return Response.json({ active })
      },
    })
    await verify(await sign(first))
    active = false
    await assert.rejects(verify(await sign(first)), refused(/session has ended/))
    wrongSecret = true
    await assert.rejects(verify(await sign(first)), {
      name: 'UnavailableError',
      code: 'invalid_client',
      status: 503,
    })
  })

  test('the cache of tokens is bounded, and can be left out', async () => {
    for (const cacheSize of [0, 2]) {
      const { verify } = verifier({ cacheSize })
      for (let sub = 0; sub < 5; sub += 1) {
        const token = await sign(first, { sub: String(sub) })
        assert.equal((await verify(token)).sub, String(sub))
        assert.equal((await verify(token)).sub, String(sub))
      }
    }
  })
})
