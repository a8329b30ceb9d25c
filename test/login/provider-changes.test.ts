// Providers that change what their discovery document says, and providers that have none.
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT, type JWTPayload } from 'jose'
import { Browser, engines, started, startedService } from '#test/harness/index.ts'
import { forgedClient, startOpenIdForger, type OpenIdForger } from '#test/harness/openid-forger.ts'
import { ManualClock } from '#test/harness/manual-clock.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { signIn, upToCallback } from './harness.ts'

/** Lets the provider sign with another algorithm; the document names it too, unless there is none. */
async function signWith(forger: OpenIdForger, algorithm: string, documented = true): Promise<void> {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const kid = `key of ${algorithm} ${forger.keys.length}`
  forger.keys = [...forger.keys, { ...(await exportJWK(publicKey)), kid, use: 'sig' }]
  forger.sign = (claims: JWTPayload) =>
    new SignJWT(claims).setProtectedHeader({ alg: algorithm, kid }).sign(privateKey)
  if (documented) forger.metadata = { id_token_signing_alg_values_supported: [algorithm] }
}

const client = { CLIENT_ID: forgedClient.id, CLIENT_SECRET: forgedClient.secret }
const named = (name: string, settings: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ ...client, ...settings }).map(([key, value]) => [`${name}_${key}`, value]),
  )

// The database has no part in it, so one engine is enough.
describe('a provider that changes', () => {
  const forger = started(startOpenIdForger)
  const clock = new ManualClock()
  const lines: string[] = []
  const service = startedService(engines[0]!, () => ({
    env: {
      ...named('ACME', { ISSUER: forger.issuer }),
      ...named('FIXED', {
        ISSUER: forger.issuer,
        AUTH_URL: `${forger.issuer}/authorize`,
        TOKEN_URL: `${forger.issuer}/token`,
        JWKS_URL: `${forger.issuer}/jwks`,
      }),
    },
    parts: { clock, log: createLog('info', { write: (line: string) => void lines.push(line) }) },
  }))
  beforeEach(() => {
    // The pause after a document was read again because of a failure.
    clock.time += 11_000
    forger.refusal = undefined
    forger.answer = {}
    lines.length = 0
  })
  const outcome = async (path = '/auth/acme', browser = new Browser()): Promise<string> => {
    const target = new URL(await signIn(service, browser, path), service.baseUrl)
    return target.searchParams.get('error') ?? target.pathname
  }
  const causes = (): string =>
    JSON.stringify(
      lines
        .map((line) => JSON.parse(line) as { msg: string; causes?: unknown })
        .findLast(({ msg }) => msg === 'sign-in failed')?.causes,
    )

  test('another signing algorithm works at the next sign-in, with one more read of the document', async () => {
    assert.equal(await outcome(), '/dashboard')
    assert.equal(forger.discoveries, 1)
    for (const algorithm of ['RS256', 'PS256', 'ES384', 'EdDSA']) {
      const before: number = forger.discoveries
      await signWith(forger, algorithm)
      for (let count = 0; count < 3; count += 1) assert.equal(await outcome(), '/dashboard', algorithm)
      assert.equal(forger.discoveries, before + 1)
      clock.time += 11_000
    }
  })

  test('a token endpoint and keys at new addresses work at the next sign-in', async () => {
    assert.equal(await outcome(), '/dashboard')
    forger.paths = { ...forger.paths, token: '/v2/token' }
    const before = forger.tokenRequests.length
    assert.equal(await outcome(), '/dashboard')
    assert.equal(forger.tokenRequests.length, before + 1, 'the code is exchanged once')
    clock.time += 11_000
    forger.paths = { ...forger.paths, jwks: '/v2/jwks' }
    await signWith(forger, 'RS256')
    assert.equal(await outcome(), '/dashboard')
    forger.paths = { token: '/token', jwks: '/jwks' }
    clock.time += 11_000
    assert.equal(await outcome(), '/dashboard')
  })

  test('an algorithm that the document does not name is rejected, and reads it at most once in ten seconds', async () => {
    await signWith(forger, 'RS256')
    assert.equal(await outcome(), '/dashboard')
    const document = forger.metadata
    await signWith(forger, 'ES512')
    forger.metadata = document
    clock.time += 11_000
    const before = forger.discoveries
    for (let count = 0; count < 3; count += 1) assert.equal(await outcome(), 'provider-answer-invalid')
    assert.equal(forger.discoveries, before + 1)
    assert.match(causes(), /alg/)
    forger.metadata = {}
  })

  test('without a document each asymmetric algorithm of a key is accepted, and no other', async () => {
    for (const algorithm of ['ES256', 'RS256', 'RS512', 'PS256', 'ES384', 'EdDSA']) {
      await signWith(forger, algorithm, false)
      assert.equal(await outcome('/auth/fixed'), '/dashboard', algorithm)
    }
    forger.sign = (claims) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256' })
        .sign(new TextEncoder().encode(forgedClient.secret))
    assert.equal(await outcome('/auth/fixed'), 'provider-answer-invalid')
    forger.sign = async (claims) => {
      const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
      return `${encoded({ alg: 'none' })}.${encoded(claims)}.`
    }
    assert.equal(await outcome('/auth/fixed'), 'provider-answer-invalid')
    assert.equal(await outcome(), 'provider-answer-invalid')
  })

  test('a clock that is 50 seconds ahead or behind is tolerated, one of two minutes is not', async () => {
    await signWith(forger, 'RS256')
    for (const [claim, ahead, end] of [
      ['nbf', 50, '/dashboard'],
      ['exp', -50, '/dashboard'],
      ['nbf', 120, 'provider-answer-invalid'],
      ['exp', -120, 'provider-answer-invalid'],
    ] as const) {
      forger.claims = (standard) => ({ ...standard, [claim]: Number(standard.iat) + ahead })
      assert.equal(await outcome(), end, `${claim} ${ahead}`)
    }
    forger.claims = (standard) => standard
  })

  test("a provider's explanation is logged on one line, and not shown", async () => {
    forger.refusal = {
      status: 401,
      body: {
        error: 'invalid_client',
        error_description: `AADSTS7000215: Invalid client secret\u001b[31m\n${'x'.repeat(5_000)}`,
        error_uri: 'https://login.example/error?code=7000215',
      },
    }
    const browser = new Browser()
    const callback = await upToCallback(service, browser)
    const shown = (await browser.go(callback)).headers.get('location')!
    assert.match(shown, /error=provider-refused/)
    assert.doesNotMatch(shown, /AADSTS/)
    assert.match(causes(), /invalid_client.{1,8}AADSTS7000215: Invalid client secret\\\\u001b/)
    assert.match(causes(), /https:\/\/login\.example\/error/)
    assert.ok(causes().length < 3_000)

    forger.refusal = { status: 400, body: { error: { message: 'This app is in development', code: 190 } } }
    assert.equal(await outcome(), 'provider-refused')
    assert.match(causes(), /This app is in development/)
    forger.refusal = { status: 500, body: { error: 'server_error', error_description: { odd: true } } }
    assert.equal(await outcome(), 'provider-unavailable')
    forger.refusal = undefined

    forger.answer = {
      code: null,
      error: 'invalid_scope',
      error_description: 'AADSTS65005',
      error_uri: 'https://e.example/',
    }
    assert.equal(await outcome(), 'provider-refused')
    assert.match(causes(), /invalid_scope.{1,8}AADSTS65005 https:\/\/e\.example/)
    // An error for the app alone, and Facebook's own parameters.
    forger.answer = {
      code: null,
      state: null,
      error: 'unauthorized_client',
      error_description: 'AADSTS700016',
    }
    assert.equal(await outcome(), 'sign-in-expired')
    assert.match(causes(), /there is no state.*unauthorized_client.{1,8}AADSTS700016/)
    forger.answer = { code: null, error_code: '1349048', error_message: "Can't load URL" }
    assert.equal(await outcome(), 'provider-refused')
    assert.match(causes(), /1349048.{1,8}Can't load URL/)
  })

  test('a userinfo endpoint that rejects the token is provider-refused', async () => {
    forger.metadata = { userinfo_endpoint: `${forger.issuer}/nowhere` }
    forger.sign = undefined
    clock.time += 3_700_000
    assert.equal(await outcome(), 'provider-refused')
    forger.metadata = {}
  })
})
