// OpenID Connect Back-Channel Logout 1.0.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { browserOf } from '../attacks/harness.ts'
import { startHonestProvider } from '../attacks/honest-provider.ts'
import { until } from '../emitting/harness.ts'
import { type Browser, onEachEngine, started, startedService, startTestService } from '../harness/index.ts'
import { clockWith } from '../harness/manual-clock.ts'
import { startReceiver } from '../harness/receiver.ts'
import { lastAudit, postForm, sessionOf, signInApp } from './app-sessions.ts'

const redirectUris = ['https://app.example.com/callback']
const event = 'http://schemas.openid.net/event/backchannel-logout'

onEachEngine('back-channel logout', (engine) => {
  let shift = 0
  const client = (id: string) => ({ id, secret: `${id}-secret-of-an-app-0123456789`, redirectUris })
  const [shop, dead, rsa, quiet] = [client('shop'), client('dead'), client('rsa'), client('quiet')]
  const provider = started(startHonestProvider)
  const receiver = started(() => startReceiver(200))
  const broken = started(() => startReceiver(400))
  const service = started(async () => {
    const clients = [
      { ...shop, backchannelLogoutUri: receiver.url },
      { ...rsa, backchannelLogoutUri: receiver.url, idTokenAlgorithm: 'RS256' as const },
      { ...dead, backchannelLogoutUri: broken.url },
      quiet,
    ]
    const clock = { ...clockWith({ 1_000: 50 }), now: () => Date.now() + shift }
    return startTestService(engine, {
      env: { ...provider.env('ACME'), ALLOW_PRIVATE_NETWORK: 'true' },
      config: { login: { clients } },
      parts: { clock },
    })
  })

  const signedIn = (person: string): Promise<Browser> => browserOf(service, provider, person)
  const waiting = () => service.database.reader.selectFrom('backchannel_logouts').selectAll().execute()
  const tokenOf = (call: { body: Buffer }): string =>
    new URLSearchParams(call.body.toString()).get('logout_token') ?? ''

  test('the app gets a logout token that names the sign-in of its id_token', async () => {
    const browser = await signedIn('ada')
    const [first, second] = [await signInApp(service, browser, shop), await signInApp(service, browser, rsa)]
    await signInApp(service, browser, quiet)
    const { userId } = (await sessionOf(service, browser))!
    const before = receiver.calls.length
    await postForm(service, browser, '/auth/logout', {})
    const calls = (await receiver.waitFor(before + 2)).slice(before)
    const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', service.baseUrl))
    const seen = await Promise.all(
      calls.map(async (call) => {
        assert.match(call.headers['content-type']!, /^application\/x-www-form-urlencoded/)
        const { payload, protectedHeader } = await jwtVerify(tokenOf(call), keys, {
          issuer: service.baseUrl,
          typ: 'logout+jwt',
          requiredClaims: ['iat', 'exp', 'jti'],
        })
        assert.deepEqual(payload['events'], { [event]: {} })
        assert.equal(payload['nonce'], undefined)
        return [payload.aud, payload.sub, payload['sid'], protectedHeader.alg]
      }),
    )
    assert.deepEqual(
      seen.toSorted((a, b) => String(a).localeCompare(String(b))),
      [
        ['rsa', userId, second.sid, 'RS256'],
        ['shop', userId, first.sid, 'ES256'],
      ],
    )
    await until(async () => (await waiting()).length === 0 || undefined, 'nothing is left to send')
  })

  test('an app with offline_access is told, too, and a block tells once', async () => {
    const browser = await signedIn('bob')
    const { sid } = await signInApp(service, browser, shop, 'openid offline_access')
    const { userId } = (await sessionOf(service, browser))!
    const before = receiver.calls.length
    await service.admin(`/users/${userId}`, { method: 'PATCH', json: { blocked: true } })
    await receiver.waitFor(before + 1)
    await until(async () => (await waiting()).length === 0 || undefined, 'nothing is left to send')
    const told = receiver.calls.slice(before).map((call) => decodeSid(tokenOf(call)))
    assert.deepEqual(told, [sid])
  })

  test('a sign-in that ended without an id_token tells nobody', async () => {
    const browser = await signedIn('no-openid')
    const before = receiver.calls.length
    const { sessionId } = (await sessionOf(service, browser))!
    await service.database.transaction(async (tx) => {
      const { user_id } = await tx
        .selectFrom('sessions')
        .select('user_id')
        .where('id', '=', sessionId)
        .executeTakeFirstOrThrow()
      const times = { created_at: 1, last_seen_at: Date.now(), expires_at: Date.now() + 60_000 }
      const row = { id: 'plain', user_id, client_id: 'shop', provider: 'acme', session_id: sessionId }
      await tx
        .insertInto('token_families')
        .values({ ...row, ...times, authenticated_at: 1, scope: 'profile' })
        .execute()
    })
    await postForm(service, browser, '/auth/logout', {})
    assert.deepEqual(await waiting(), [])
    assert.equal(receiver.calls.length, before)
  })

  test('an app that refuses is told five times within a quarter of an hour, then the audit log says so', async () => {
    const browser = await signedIn('eve')
    const { sid } = await signInApp(service, browser, dead)
    const { userId } = (await sessionOf(service, browser))!
    await postForm(service, browser, '/auth/logout', {})
    const begun = shift
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      await broken.waitFor(attempt)
      const next = await until(async () => {
        const [row] = await waiting()
        return row === undefined || row.claimed_until === null ? { row } : undefined
      }, `attempt ${attempt} is over`)
      if (attempt < 5) {
        assert.equal(next.row?.attempts, attempt)
        shift += next.row.due_at - (Date.now() + shift) + 1
      } else assert.equal(next.row, undefined)
    }
    assert.ok(shift - begun < 15 * 60_000)
    const sids = broken.calls.map((call) => decodeSid(tokenOf(call)))
    assert.deepEqual(
      sids,
      Array.from({ length: 5 }, () => sid),
    )
    const entry = await lastAudit(service, 'app.logout_failed')
    assert.deepEqual(
      [entry?.user_id, entry?.target, entry?.code, entry?.actor, entry?.detail],
      [userId, 'app:dead', 'refused', 'service', '{"attempts":5,"status":400}'],
    )
  })

  test('a logout token is not taken as a hint or as an access token', async () => {
    const browser = await signedIn('mixed')
    await signInApp(service, browser, shop)
    const before = receiver.calls.length
    await postForm(service, browser, '/auth/logout', {})
    const [call] = (await receiver.waitFor(before + 1)).slice(before)
    const token = tokenOf(call!)
    assert.equal(decodeProtectedHeader(token).typ, 'logout+jwt')
    const query = new URLSearchParams({ id_token_hint: token }).toString()
    assert.equal((await service.fetch(`/oauth2/end-session?${query}`)).status, 400)
    const headers = { authorization: `Bearer ${token}` }
    assert.equal((await service.fetch('/auth/session', { headers })).status, 401)
  })
})

onEachEngine('sign-ins of apps beyond the limit', (engine) => {
  const shop = { id: 'shop', secret: 'shop-secret-of-an-app-0123456789', redirectUris }
  const provider = started(startHonestProvider)
  const receiver = started(() => startReceiver(200))
  const service = startedService(engine, () => ({
    env: { ...provider.env('ACME'), ALLOW_PRIVATE_NETWORK: 'true', SESSIONS_PER_USER: '1' },
    parts: { clock: clockWith({ 1_000: 50 }) },
    config: { login: { clients: [{ ...shop, backchannelLogoutUri: receiver.url }] } },
  }))

  test('end, and their app is told', async () => {
    const browser = await browserOf(service, provider, 'ada')
    const first = await signInApp(service, browser, shop)
    await signInApp(service, browser, shop)
    const [call] = await receiver.waitFor(1)
    const token = new URLSearchParams(call!.body.toString()).get('logout_token') ?? ''
    assert.equal(decodeSid(token), first.sid)
  })
})

function decodeSid(token: string): unknown {
  return (JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { sid: unknown }).sid
}
