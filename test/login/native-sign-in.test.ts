import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { afterEach, test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose'
import { Browser, onEachEngine, rowsOf, started, startTestService } from '#test/harness/index.ts'
import { forgedClient, startOpenIdForger } from '#test/harness/openid-forger.ts'
import { hashToken } from '../../src/crypto/secrets.ts'
import type { PosternConfig } from '../../src/define-config.ts'
import { accountsOf, exchange, signIn, whoAmI } from './harness.ts'

const secret = 'secret-of-a-confidential-app-08-15'
const redirectUris = ['com.example.app:/callback']
const refused: string[] = []
const config: PosternConfig = {
  login: {
    clients: [
      { id: 'mobile', redirectUris },
      { id: 'backend', redirectUris: ['https://app.example.com/callback'], secret },
      { id: 'partner', redirectUris: ['https://partner.example/callback'], firstParty: false },
    ],
    onSignIn: ({ identity, refuse, client }) => {
      if (client !== undefined && refused.includes(identity.providerId)) refuse('Not today.')
    },
  },
}

function hashOf(text: string): string {
  return hashToken(text).toString('hex')
}

/** Another valid signature of the same content: if (r, s) verifies, so does (r, n - s). */
function turned(token: string): string {
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
  const at = token.lastIndexOf('.')
  const signature = Buffer.from(token.slice(at + 1), 'base64url')
  const s = order - BigInt(`0x${signature.toString('hex', 32)}`)
  signature.write(s.toString(16).padStart(64, '0'), 32, 'hex')
  return `${token.slice(0, at)}.${signature.toString('base64url')}`
}

onEachEngine('native sign-in', (engine) => {
  const keys = generateKeyPair('ES256', { extractable: true })
  const publicJwk = async () => exportJWK((await keys).publicKey)
  let keyRequests = 0
  const forger = started(async () => {
    const server = await startOpenIdForger()
    const published = [{ ...(await publicJwk()), kid: 'k1', alg: 'ES256', use: 'sig' }]
    Object.defineProperty(server, 'keys', { get: () => ((keyRequests += 1), published) })
    // Tokens that anybody can forge are rejected even if the provider lists these algorithms.
    server.metadata = { id_token_signing_alg_values_supported: ['ES256', 'HS256', 'none'] }
    return server
  })
  const other = started(startOpenIdForger)
  const service = started(async () => {
    const env = {
      ...forger.env('ACME'),
      ACME_AUDIENCES: `${forgedClient.id}, ios-app`,
      ACME_ALLOWED_EMAIL_DOMAINS: 'example.com',
      ...other.env('OTHER'),
      ...other.env('STRICT'),
      STRICT_AUDIENCES: 'ios-app',
      GITHUB_CLIENT_ID: 'x',
      GITHUB_CLIENT_SECRET: 'x',
    }
    return startTestService(engine, { env, config })
  })
  afterEach(() => void refused.splice(0))

  const person = { email: 'grace@example.com', email_verified: true, name: 'Grace Hopper' }
  function claimsOf(nonce: string, more: Record<string, unknown> = {}): JWTPayload {
    const now = Math.floor(Date.now() / 1000)
    const { issuer: iss } = forger
    return { iss, aud: 'ios-app', sub: 'native-1', iat: now, exp: now + 3_600, nonce, ...person, ...more }
  }
  async function signed(claims: JWTPayload, header: { kid?: string } = {}): Promise<string> {
    const { privateKey } = await keys
    return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'k1', ...header }).sign(privateKey)
  }
  async function call(fields: Record<string, string>, name = 'acme', init: RequestInit = {}) {
    const body = new URLSearchParams({ client_id: 'mobile', ...fields })
    const response = await service.fetch(`/auth/${name}/token`, { method: 'POST', body, ...init })
    const text = await response.text()
    const json = (text === '' ? {} : JSON.parse(text)) as Record<string, string>
    return { status: response.status, headers: response.headers, body: json }
  }
  /** A request that must fail: nothing of any account changes. */
  async function assertRefused(fields: Record<string, string>, error = 'invalid_grant', name = 'acme') {
    const before = await accountsOf(service)
    const failures = async () => (await rowsOf(service, 'audit_log', { action: 'sign_in.failed' })).length
    const known = await failures()
    const { status, body } = await call(fields, name)
    assert.deepEqual([status, body['error']], [400, error], JSON.stringify(body))
    assert.deepEqual(await accountsOf(service), before)
    assert.equal(await failures(), known + 1)
    return body['error_description']!
  }
  const sessionOf = async (token: unknown) => {
    const response = await service.fetch('/auth/session', {
      headers: { authorization: `Bearer ${String(token)}` },
    })
    return { status: response.status, user: ((await response.json()) as { user: { id: string } }).user }
  }

  test('an app gets tokens of the same user as in a browser', async () => {
    forger.sign = (claims) => signed({ ...claims, ...person, sub: 'native-1' })
    forger.userinfo = { sub: 'native-1', ...person }
    const browser = new Browser()
    assert.equal(await signIn(service, browser), '/dashboard')
    const nonce = randomUUID()
    const { status, body, headers } = await call({ id_token: await signed(claimsOf(nonce)), nonce })
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual(Object.keys(body).toSorted(), [
      'access_token',
      'expires_in',
      'refresh_token',
      'token_type',
    ])
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.deepEqual(headers.getSetCookie(), [])
    const { id } = (await whoAmI(service, browser))!
    assert.equal((await sessionOf(body['access_token'])).user.id, id)
    const refresh = {
      grant_type: 'refresh_token',
      client_id: 'mobile',
      refresh_token: body['refresh_token']!,
    }
    assert.equal((await exchange(service, refresh)).status, 200)
    const audited = await rowsOf(service, 'audit_log', { action: 'user.signed_in', target: 'app:mobile' })
    assert.deepEqual(
      audited.map(({ user_id: userId, provider }) => [userId, provider]),
      [[id, 'acme']],
    )
  })

  test('a first sign-in creates the user, and the nonce may be the SHA-256 of the app’s', async () => {
    const nonce = randomUUID()
    const claims = claimsOf(hashOf(nonce), { sub: 'native-2', aud: [forgedClient.id] })
    const json = JSON.stringify({
      client_id: 'mobile',
      id_token: await signed(claims),
      nonce,
      new_user: true,
    })
    const answer = await call({}, 'acme', { body: json, headers: { 'content-type': 'application/json' } })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    const { user } = await sessionOf(answer.body['access_token'])
    assert.equal((await rowsOf(service, 'identities', { provider_id: 'native-2' }))[0]!.user_id, user.id)
    // A thief of the token knows only the hash.
    const stolen = claimsOf(hashOf(nonce), { sub: 'native-2', jti: 'stolen' })
    await assertRefused({ id_token: await signed(stolen), nonce: hashOf(nonce) })
  })

  test('an id_token works once, also with another valid signature', async () => {
    const nonce = randomUUID()
    const idToken = await signed(claimsOf(nonce))
    const once = { id_token: idToken, nonce }
    const answers = await Promise.all(Array.from({ length: 5 }, () => call(once)))
    assert.equal(answers.filter(({ status }) => status === 200).length, 1)
    assert.equal(answers.filter(({ body }) => body['error'] === 'invalid_grant').length, 4)
    assert.match(await assertRefused(once), /it was used before/)
    // The other signature is valid: without the first sign-in it would be accepted.
    assert.match(await assertRefused({ id_token: turned(idToken), nonce }), /it was used before/)
    const fresh = { ...claimsOf(nonce), jti: 'fresh' }
    assert.equal((await call({ id_token: turned(await signed(fresh)), nonce })).status, 200)
  })

  test('a used id_token is remembered until it expires', async () => {
    const hash = createHash('sha256')
    const nonce = randomUUID()
    const claims = claimsOf(nonce)
    const idToken = await signed(claims)
    assert.equal((await call({ id_token: idToken, nonce })).status, 200)
    const digest = hash.update(idToken.slice(0, idToken.lastIndexOf('.'))).digest('hex')
    const rows = await rowsOf(service, 'used_assertions', { issuer: forger.issuer })
    const row = rows.find((one) => Buffer.from(one.hash).toString('hex') === digest)!
    assert.ok(row.expires_at >= claims.exp! * 1000)
  })

  test('if a hook refuses the sign-in, the id_token remains unused', async () => {
    const nonce = randomUUID()
    const fields = { id_token: await signed(claimsOf(nonce, { sub: 'native-3' })), nonce }
    refused.push('native-3')
    const said = await assertRefused(fields, 'access_denied')
    assert.ok(!said.includes('Not today'))
    refused.splice(0)
    assert.equal((await call(fields)).status, 200)
  })

  const now = () => Math.floor(Date.now() / 1000)
  const badClaims: [string, () => Record<string, unknown>, RegExp][] = [
    ['of another issuer', () => ({ iss: other.issuer }), /issuer/],
    ['for another audience', () => ({ aud: 'somebody-else' }), /aud/],
    ['for nobody', () => ({ aud: undefined }), /aud/],
    [
      'for several audiences, without azp',
      () => ({ aud: ['ios-app', 'somebody-else'] }),
      /signature, issuer/,
    ],
    [
      'for several audiences, authorized to another',
      () => ({ aud: ['ios-app', 'somebody-else'], azp: 'somebody-else' }),
      /signature, issuer/,
    ],
    ['that has expired', () => ({ exp: now() - 120 }), /time/],
    ['without an expiry', () => ({ exp: undefined }), /time/],
    ['from more than five minutes ago', () => ({ iat: now() - 400 }), /five minutes/],
    ['from the future', () => ({ iat: now() + 400 }), /future/],
    ['without the time of its issue', () => ({ iat: undefined }), /time/],
    ['that is not valid yet', () => ({ nbf: now() + 400 }), /time/],
    ['without a subject', () => ({ sub: undefined }), /signature/],
    ['without a nonce', () => ({ nonce: undefined }), /no nonce/],
    ['with an empty nonce', () => ({ nonce: '' }), /no nonce/],
    ['with another nonce', () => ({ nonce: 'of another sign-in' }), /nonce/],
    ['with the SHA-256 of another nonce', () => ({ nonce: hashOf('other') }), /SHA-256/],
  ]
  for (const [what, more, why] of badClaims) {
    test(`an id_token ${what} is rejected`, async () => {
      const nonce = randomUUID()
      const said = await assertRefused({ id_token: await signed(claimsOf(nonce, more())), nonce })
      assert.match(said, why)
    })
  }

  const badTokens: [string, (claims: JWTPayload) => Promise<string> | string][] = [
    ['not signed', (claims) => new UnsecuredJWT(claims).encode()],
    [
      'signed with the public key as a secret (HS256)',
      async (claims) =>
        new SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256', kid: 'k1' })
          .sign(Buffer.from(JSON.stringify(await publicJwk()))),
    ],
    [
      'signed with a key in its own header',
      async (claims) => {
        const own = await generateKeyPair('ES256')
        const jwk = await exportJWK(own.publicKey)
        return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'k1', jwk }).sign(own.privateKey)
      },
    ],
    ['encrypted in form', () => 'a.b.c.d.e'],
    ['no JWT', () => 'nonsense'],
    ['a JWT of null', () => `e30.${Buffer.from('null').toString('base64url')}.e30`],
  ]
  for (const [what, make] of badTokens) {
    test(`an id_token that is ${what} is rejected`, async () => {
      const nonce = randomUUID()
      await assertRefused({ id_token: await make(claimsOf(nonce)), nonce })
    })
  }

  test("a provider accepts neither another provider's tokens nor those for another audience", async () => {
    const nonce = randomUUID()
    await assertRefused({ id_token: await signed(claimsOf(nonce)), nonce }, 'invalid_grant', 'strict')
    const named = claimsOf(nonce, { iss: other.issuer })
    await assertRefused({ id_token: await signed(named), nonce }, 'invalid_grant', 'strict')
  })

  test('unknown key IDs do not make the service fetch the keys each time', async () => {
    const nonce = randomUUID()
    const before = keyRequests
    for (const kid of ['x1', 'x2', 'x3', 'x4'])
      await assertRefused({ id_token: await signed(claimsOf(nonce), { kid }), nonce })
    assert.ok(keyRequests - before <= 1, `${keyRequests - before} requests`)
  })

  test('the provider’s rules apply as in a browser', async () => {
    const nonce = randomUUID()
    const claims = claimsOf(nonce, { sub: 'native-4', email: 'eve@evil.example' })
    await assertRefused({ id_token: await signed(claims), nonce }, 'access_denied')
    const unverified = claimsOf(nonce, { sub: 'native-4', email_verified: false })
    await assertRefused({ id_token: await signed(unverified), nonce }, 'access_denied')
  })

  test('only providers with audiences accept id_tokens', async () => {
    for (const name of ['other', 'github', 'missing', 'constructor']) {
      const { status, body } = await call({ id_token: 'x.y.z', nonce: 'n' }, name)
      assert.deepEqual([status, body['error']], [404, 'invalid_request'], name)
    }
  })

  test('the app must be registered, authenticate if it can, and belong to the product', async () => {
    const nonce = randomUUID()
    const fields = { id_token: await signed(claimsOf(nonce)), nonce }
    const broken: [Record<string, string>, string, number][] = [
      [{ ...fields, client_id: 'unknown' }, 'invalid_client', 401],
      [{ ...fields, client_id: '' }, 'invalid_request', 400],
      [{ ...fields, client_id: 'backend' }, 'invalid_client', 401],
      [{ ...fields, client_id: 'backend', client_secret: 'wrong' }, 'invalid_client', 401],
      [{ ...fields, client_id: 'partner' }, 'unauthorized_client', 400],
      [{ ...fields, nonce: '' }, 'invalid_request', 400],
      [{ ...fields, id_token: '' }, 'invalid_request', 400],
      [{ ...fields, id_token: 'x'.repeat(17_000) }, 'invalid_request', 400],
      [{ ...fields, id_token: 'x'.repeat(40_000) }, 'invalid_request', 413],
    ]
    for (const [given, error, status] of broken) {
      const answer = await call(given)
      assert.deepEqual([answer.status, answer.body['error']], [status, error], JSON.stringify(answer.body))
    }
    assert.equal((await call({ ...fields, client_id: 'backend', client_secret: secret })).status, 200)
  })

  test('pages cannot use it', async () => {
    const nonce = randomUUID()
    const headers = { origin: 'https://app.example.com' }
    const answer = await call({ id_token: await signed(claimsOf(nonce)), nonce }, 'acme', { headers })
    assert.equal(answer.headers.get('access-control-allow-origin'), null)
    const preflight = { method: 'OPTIONS', headers: { ...headers, 'access-control-request-method': 'POST' } }
    const { status, headers: allowed } = await service.fetch('/auth/acme/token', preflight)
    assert.ok(status >= 400)
    assert.equal(allowed.get('access-control-allow-origin'), null)
  })
})
