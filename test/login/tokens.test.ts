import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { before, test } from 'node:test'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwksCache, jwtVerify } from 'jose'
import { allowInsecureRequests, validateJwtAccessToken } from 'oauth4webapi'
import { each, onEachEngine, rowsOf, started, startOAuthProvider } from '#test/harness/index.ts'
import { startTestService } from '#test/harness/service.ts'
import { createRecordAudit } from '../../src/accounts/audit/audit.ts'
import { SigningKeys } from '../../src/accounts/tokens/signing-keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { Keyring } from '../../src/crypto/keyring.ts'
import { appCode, appStart, exchange, newPkce, spa, codeGrant } from './harness.ts'

const hour = 3_600_000
const day = 24 * hour

interface Published {
  keys: { kid: string; alg: string; kty: string; crv: string; x: string; y: string }[]
}

onEachEngine('access tokens', (engine) => {
  let keys: SigningKeys
  let shift = 0
  const clock = { ...systemClock, now: () => Date.now() + shift }
  const provider = started(startOAuthProvider)
  const service = started(async () => {
    const env = { ...provider.env('ACME'), SESSION_IDLE: '31536000', SESSION_LIFETIME: '31536000' }
    return startTestService(engine, { env, config: { login: { clients: [spa] } }, parts: { clock } })
  })
  before(async () => {
    // What the command line and the worker of another process would be.
    const keyring = new Keyring(['test-master-secret-of-32-bytes-or-more'])
    const record = createRecordAudit(clock)
    keys = new SigningKeys({ database: service.database, keyring, clock, rotation: 90 * day, record })
  })

  async function newTokens(): Promise<{ access: string; refresh: string }> {
    const pkce = newPkce()
    return tokensOf(codeGrant(await appCode(service, pkce), pkce))
  }
  async function tokensOf(fields: Record<string, string>): Promise<{ access: string; refresh: string }> {
    const { status, body } = await exchange(service, fields)
    assert.equal(status, 200)
    return { access: String(body['access_token']), refresh: String(body['refresh_token']) }
  }
  const refreshed = (refresh: string) =>
    tokensOf({ grant_type: 'refresh_token', client_id: 'spa', refresh_token: refresh })
  const statusWith = async (token: string): Promise<number> =>
    (await service.fetch('/auth/session', { headers: { authorization: `Bearer ${token}` } })).status
  const published = async (): Promise<Published> =>
    (await (await service.fetch('/.well-known/jwks.json')).json()) as Published
  const kidOf = (token: string): string => String(decodeProtectedHeader(token).kid)
  /** Every process looks again after so long. */
  const look = (): void => void (shift += 5_001)

  test('two libraries, and plain code, verify them with the published keys', async () => {
    const { access } = await newTokens()
    const issuer = service.baseUrl
    const jwks = new URL('/.well-known/jwks.json', issuer)
    const { payload } = await jwtVerify(access, createRemoteJWKSet(jwks), {
      issuer,
      audience: issuer,
      typ: 'at+jwt',
      algorithms: ['ES256'],
      currentDate: new Date(clock.now()),
    })
    const request = new Request(`${issuer}/any`, { headers: { authorization: `Bearer ${access}` } })
    const claims = await validateJwtAccessToken({ issuer, jwks_uri: jwks.href }, request, issuer, {
      [allowInsecureRequests]: true,
    })
    assert.deepEqual(claims, payload)
    for (const name of ['iss', 'aud', 'sub', 'sid', 'jti', 'iat', 'exp', 'client_id'])
      assert.ok(claims[name], name)
    assert.ok(!('auth_time' in claims), 'the provider does not say when it authenticated the person')
    const [head, body, signature] = access.split('.')
    const jwk = (await published()).keys.find(({ kid }) => kid === kidOf(access))!
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    const signed = Buffer.from(`${head}.${body}`)
    const bytes = Buffer.from(signature!, 'base64url')
    assert.ok(verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, bytes))
  })

  test('jti never repeats', async () => {
    const { access, refresh } = await newTokens()
    const again = await refreshed(refresh)
    const [first, second] = [access, again.access].map(
      (token) =>
        JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { jti: string; sid: string },
    )
    assert.notEqual(first!.jti, second!.jti)
    assert.equal(first!.sid, second!.sid)
  })

  test('the published keys are cacheable, revalidated by ETag, and readable from any origin', async () => {
    const first = await service.fetch('/.well-known/jwks.json')
    assert.equal(first.headers.get('cache-control'), 'public, max-age=300, must-revalidate')
    assert.equal(first.headers.get('access-control-allow-origin'), '*')
    const etag = first.headers.get('etag')!
    const headers = { 'if-none-match': `"other", W/${etag}` }
    const again = await service.fetch('/.well-known/jwks.json', { headers })
    assert.equal(again.status, 304)
    assert.equal(await again.text(), '')
    const { keys: all } = (await first.json()) as Published
    for (const key of all)
      assert.deepEqual(Object.keys(key).toSorted(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
  })

  test('the private key is sealed in the database', async () => {
    await newTokens()
    const rows = await service.database.reader.selectFrom('signing_keys').selectAll().execute()
    assert.ok(rows.length > 0)
    for (const { private_jwk: sealed } of rows) assert.ok(!Buffer.from(sealed).includes('"d"'))
  })

  test('a planned rotation: the new key is published, then signs, and the old key retires after its tokens', async () => {
    const before = await newTokens()
    const { kid } = await keys.rotate('planned', { actor: 'cli' })
    look()
    assert.ok(
      (await published()).keys.some((key) => key.kid === kid),
      'published at once',
    )
    const between = await refreshed(before.refresh)
    assert.equal(kidOf(between.access), kidOf(before.access), 'the old one signs for another hour')
    shift += hour
    const after = await refreshed(between.refresh)
    assert.equal(kidOf(after.access), kid)
    assert.equal(await statusWith(after.access), 200)
    shift += 14 * 60_000
    assert.equal((await published()).keys.length, 2, 'tokens of the old one can still be verified')
    shift += hour
    look()
    assert.deepEqual(each((await published()).keys, 'kid'), [kid])
  })

  test('a scheduled rotation happens once over all processes, and retired keys are deleted', async () => {
    const before = await newTokens()
    await keys.rotateIfDue(clock.now())
    look()
    assert.equal((await published()).keys.length, 1, 'nothing is due')
    shift += 90 * day
    await Promise.all([1, 2, 3].map(() => keys.rotateIfDue(clock.now())))
    look()
    assert.equal((await published()).keys.length, 2)
    const told = await rowsOf(service, 'audit_log', { actor: 'schedule' })
    assert.deepEqual(each(told, 'action'), ['signing_key.rotated'])
    shift += hour
    const { refresh, access } = await refreshed(before.refresh)
    assert.notEqual(kidOf(access), kidOf(before.access))
    shift += 2 * hour
    await keys.rotateIfDue(clock.now())
    const rows = await service.database.reader.selectFrom('signing_keys').select('kid').execute()
    assert.deepEqual(each(rows, 'kid'), [kidOf(access)])
    assert.equal(await statusWith((await refreshed(refresh)).access), 200)
  })

  test('a leaked key is withdrawn at once: its tokens are refused, refresh tokens stay valid', async () => {
    const before = await newTokens()
    assert.equal(await statusWith(before.access), 200)
    const { kid } = await keys.rotate('now', { actor: 'cli' })
    assert.equal(await statusWith(before.access), 401)
    assert.deepEqual(each((await published()).keys, 'kid'), [kid])
    const after = await refreshed(before.refresh)
    assert.equal(kidOf(after.access), kid)
    assert.equal(await statusWith(after.access), 200)
  })

  test('other verifiers take a withdrawn key until the cached answer is too old, and not longer', async () => {
    const { access } = await newTokens()
    const address = new URL('/.well-known/jwks.json', service.baseUrl)
    const cached = await service.fetch(address.pathname)
    assert.equal(cached.headers.get('cache-control'), 'public, max-age=300, must-revalidate')
    const { keys: jwks } = (await cached.json()) as Published
    await keys.rotate('now', { actor: 'cli' })
    const verifiedWith = async (age: number): Promise<boolean> => {
      const uat = Date.now() - age * 1_000
      const options = { cacheMaxAge: 300_000, [jwksCache]: { jwks: { keys: jwks }, uat } }
      const currentDate = new Date(clock.now())
      const verified = jwtVerify(access, createRemoteJWKSet(address, options), { currentDate })
      return verified.then(
        () => true,
        (error: { code?: string }) => {
          assert.equal(error.code, 'ERR_JWKS_NO_MATCHING_KEY')
          return false
        },
      )
    }
    assert.equal(await verifiedWith(200), true)
    assert.equal(await verifiedWith(300), false)
    const known = cached.headers.get('etag')!
    const renewed = await service.fetch(address.pathname, { headers: { 'if-none-match': known } })
    assert.equal(renewed.status, 200, 'the old answer is not confirmed')
  })

  test('after a concurrent refresh and revocation, no token of the family is valid', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { access, refresh } = await newTokens()
      const headers = { authorization: `Bearer ${access}` }
      const [outcome] = await Promise.all([
        exchange(service, { grant_type: 'refresh_token', client_id: 'spa', refresh_token: refresh }),
        service.fetch('/auth/logout', { method: 'POST', headers }),
      ])
      assert.equal(await statusWith(access), 401)
      if (outcome.status !== 200) continue
      assert.equal(await statusWith(String(outcome.body['access_token'])), 401)
      const again = await exchange(service, {
        grant_type: 'refresh_token',
        client_id: 'spa',
        refresh_token: String(outcome.body['refresh_token']),
      })
      assert.equal(again.status, 400)
    }
  })

  test('PKCE: a challenge that is not a SHA-256 digest is rejected before a sign-in begins', async () => {
    const response = await service.fetch(appStart({ ...newPkce(), challenge: 'x' }))
    assert.deepEqual([response.status, response.headers.get('location')], [400, null])
  })

  test('an access token of the last minutes of a sign-in ends with it, for those that read no database too', async () => {
    const { access, refresh } = await newTokens()
    const { sid } = decodeJwt(access)
    const family = service.database.reader.selectFrom('token_families').where('id', '=', String(sid))
    const { ends } = await family.select('expires_at as ends').executeTakeFirstOrThrow()
    shift = ends - 300_000 - Date.now()
    const { status, body } = await exchange(service, {
      grant_type: 'refresh_token',
      client_id: 'spa',
      refresh_token: refresh,
    })
    assert.equal(status, 200)
    const { exp } = decodeJwt(String(body['access_token']))
    assert.ok(exp! * 1000 <= ends && exp! * 1000 > ends - 2_000, `${ends - exp! * 1000} ms before the end`)
    assert.ok(Number(body['expires_in']) <= 300)
  })
})
