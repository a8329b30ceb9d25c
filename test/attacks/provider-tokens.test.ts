// Tokens that an attacker forged, moved to another place, or took from another app.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, test } from 'node:test'
import { base64url, decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { type Browser, onOneEngine, started } from '#test/harness/index.ts'
import { signIn } from '../login/harness.ts'
import { codeOf, exchangeCode, sessionOf, signInApp, type AppTokens } from '../oauth2/app-sessions.ts'
import { authorizeUrl, callback, secret, token } from '../oauth2/harness.ts'
import { withdrawKeys } from '../oauth2/withdraw-keys.ts'
import { assertRecorded, startAttackedProvider } from './provider-harness.ts'

const web = { id: 'web', redirectUris: [callback], secret }
const rsa = { id: 'rsa', redirectUris: [callback], secret, idTokenAlgorithm: 'RS256' as const }
const elsewhere = { id: 'elsewhere', redirectUris: [callback], secret, audience: 'https://api.example' }

onOneEngine('forged and misplaced tokens', (engine) => {
  let victim: Browser
  let tokens: AppTokens
  const attacked = started(() => startAttackedProvider(engine, { clients: [web, rsa, elsewhere] }))
  before(async () => {
    victim = await attacked.browserOf('victim')
    tokens = await signInApp(attacked.service, victim, web)
  })

  const call = (path: string, credential: string, init: RequestInit = {}): Promise<Response> =>
    attacked.service.fetch(path, { ...init, headers: { authorization: `Bearer ${credential}` } })

  /** As an access token at the API and at userinfo. */
  async function assertNoAccess(forged: string, what: string): Promise<void> {
    for (const path of ['/auth/session', '/oauth2/userinfo']) {
      const answer = await call(path, forged)
      const text = await answer.text()
      assert.equal(answer.status, 401, `${what} at ${path}: ${text}`)
      assert.equal((JSON.parse(text) as { code: string }).code, 'not-signed-in')
    }
  }
  /** As the hint of a silent request: it must not name a user. */
  async function assertNoHint(forged: string, what: string): Promise<void> {
    const url = authorizeUrl(attacked.service, { client_id: 'web', prompt: 'none', id_token_hint: forged })
    const answer = await victim.go(url)
    assert.equal(answer.status, 303, `${what}: ${await answer.text()}`)
    const { searchParams } = new URL(answer.headers.get('location')!)
    assert.deepEqual([searchParams.get('error'), searchParams.get('code')], ['login_required', null], what)
  }
  const encode = (value: unknown): string => base64url.encode(JSON.stringify(value))
  const publicKeys = async (): Promise<{ kid: string; alg: string }[]> =>
    ((await (await attacked.service.fetch('/.well-known/jwks.json')).json()) as { keys: [] }).keys

  /** A token whose header was changed, with each way to sign it that an attacker has. */
  async function forgeries(genuine: string): Promise<[what: string, forged: string][]> {
    await signInApp(attacked.service, victim, rsa)
    const [header, claims, signature] = genuine.split('.') as [string, string, string]
    const { kid, typ, alg } = decodeProtectedHeader(genuine)
    const payload = decodeJwt(genuine)
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    const jwk = await exportJWK(publicKey)
    const keys = await publicKeys()
    const own = keys.find((key) => key.kid === kid)!
    const otherKid = keys.find((key) => key.alg !== alg)!.kid
    const signed = (more: Record<string, unknown>): Promise<string> =>
      new SignJWT(payload).setProtectedHeader({ alg: 'ES256', typ, kid, ...more } as never).sign(privateKey)
    const symmetric = (key: string): Promise<string> =>
      new SignJWT(payload)
        .setProtectedHeader({ alg: 'HS256', typ: typ!, kid: kid! })
        .sign(createHash('sha256').update(key).digest())
    return [
      ['alg none', `${encode({ alg: 'none', typ, kid })}.${claims}.`],
      ['alg None', `${encode({ alg: 'None', typ, kid })}.${claims}.${signature}`],
      ['no signature', `${header}.${claims}.`],
      ['another signer', await signed({})],
      ['an embedded key', await signed({ jwk })],
      [
        'a key at another address',
        await signed({ jku: 'https://evil.example/jwks', x5u: 'https://evil.example' }),
      ],
      ['HS256 with the public key', await symmetric(JSON.stringify(own))],
      ['HS256 with its id', await symmetric(kid!)],
      [
        'the id of a key of another algorithm',
        `${encode({ alg, typ, kid: otherKid })}.${claims}.${signature}`,
      ],
      ['the algorithm of another key', `${encode({ alg: 'RS256', typ, kid })}.${claims}.${signature}`],
      ['both of another key', `${encode({ alg: 'RS256', typ, kid: otherKid })}.${claims}.${signature}`],
      ['no key id', `${encode({ alg, typ })}.${claims}.${signature}`],
      ['a key id of a file', await signed({ kid: '../../../../dev/null' })],
      ['a key id in SQL', await signed({ kid: `' or '1'='1` })],
      ['a key id that is a list', `${encode({ alg, typ, kid: [kid] })}.${claims}.${signature}`],
      ['a key id of every object', await signed({ kid: '__proto__' })],
      ['a critical extension', `${encode({ alg, typ, kid, crit: ['exp'], exp: 1 })}.${claims}.${signature}`],
      ['changed claims', `${header}.${encode({ ...payload, sub: 'somebody' })}.${signature}`],
    ]
  }

  test('forged access tokens: algorithms, keys, key ids', async () => {
    for (const [what, forged] of await forgeries(tokens.accessToken)) await assertNoAccess(forged, what)
  })

  test('forged id_tokens as a hint', async () => {
    for (const [what, forged] of await forgeries(tokens.idToken)) await assertNoHint(forged, what)
  })

  test('an id_token is no access token, and an access token is no hint', async () => {
    await assertNoAccess(tokens.idToken, 'an id_token')
    await assertNoHint(tokens.accessToken, 'an access token')
    await assertNoHint(tokens.refreshToken, 'a refresh token')
    const refreshed = await token(attacked.service, {
      grant_type: 'refresh_token',
      refresh_token: tokens.idToken,
      client_id: 'web',
      client_secret: secret,
    })
    assert.deepEqual([refreshed.status, refreshed.body['error']], [400, 'invalid_grant'])
  })

  test('an access token is no client assertion', async () => {
    for (const assertion of [tokens.accessToken, tokens.idToken]) {
      const answer = await token(attacked.service, {
        grant_type: 'refresh_token',
        refresh_token: tokens.refreshToken,
        client_assertion: assertion,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      })
      assert.ok([400, 401].includes(answer.status))
      assert.equal(answer.body['access_token'], undefined)
    }
  })

  test('the id_token of another user as a hint gets no code of this user, with or without a page', async () => {
    const other = await signInApp(attacked.service, await attacked.browserOf('other'), web)
    await assertNoHint(other.idToken, 'another user')
    const shown = await victim.go(
      authorizeUrl(attacked.service, { client_id: 'web', id_token_hint: other.idToken }),
    )
    assert.match(shown.headers.get('location')!, /^\/login\?return_to=.*&select_account=true$/)
  })

  test('who then signs in as a third person gets an error and no code', async () => {
    const other = await signInApp(attacked.service, await attacked.browserOf('hinted'), web)
    const browser = await attacked.browserOf('third')
    const start = await browser.go(
      authorizeUrl(attacked.service, { client_id: 'web', id_token_hint: other.idToken }),
    )
    const waiting = new URL(start.headers.get('location')!, attacked.service.baseUrl).searchParams.get(
      'return_to',
    )!
    const back = await signIn(
      attacked.service,
      browser,
      `/auth/acme?return_to=${encodeURIComponent(waiting)}`,
    )
    const answer = await browser.go(new URL(back, attacked.service.baseUrl))
    const { searchParams } = new URL(answer.headers.get('location')!)
    assert.deepEqual([searchParams.get('error'), searchParams.get('code')], ['login_required', null])
  })

  test('the token for another API is refused here, and userinfo takes it for its own claims only', async () => {
    const { accessToken } = await signInApp(attacked.service, victim, elsewhere)
    assert.equal((await call('/auth/session', accessToken)).status, 401)
    const info = (await (await call('/oauth2/userinfo', accessToken)).json()) as Record<string, unknown>
    assert.deepEqual(Object.keys(info), ['sub'])
    const without = await accessTokenWith(elsewhere, 'profile')
    assert.equal((await call('/oauth2/userinfo', without)).status, 401, 'no openid: for the other API alone')
  })

  test('userinfo: without openid, after a revocation, in two places at once, by cookie alone', async () => {
    const browser = await attacked.browserOf('informed')
    const userId = (await sessionOf(attacked.service, browser))!.userId
    const plain = await accessTokenWith(web, 'email', browser)
    await assertRecorded(
      attacked,
      { action: 'call.forbidden', code: 'insufficient-scope', target: 'app:web' },
      async () => {
        const answer = await call('/oauth2/userinfo', plain)
        assert.equal(answer.status, 403)
        assert.match(answer.headers.get('www-authenticate')!, /insufficient_scope/)
      },
    )
    const mine = await signInApp(attacked.service, browser, web)
    const twice = await call('/oauth2/userinfo', mine.accessToken, {
      method: 'POST',
      body: new URLSearchParams({ access_token: mine.accessToken }),
    })
    assert.equal(twice.status, 400)
    assert.equal(twice.headers.get('www-authenticate'), 'Bearer error="invalid_request"')
    const inQuery = await attacked.service.fetch(`/oauth2/userinfo?access_token=${mine.accessToken}`)
    assert.equal(inQuery.status, 401)
    const byCookie = await browser.go(new URL('/oauth2/userinfo', attacked.service.baseUrl))
    assert.equal(byCookie.status, 401)
    assert.equal(byCookie.headers.get('access-control-allow-credentials'), null)
    await attacked.service.admin(`/users/${userId}`, { method: 'PATCH', json: { blocked: true } })
    assert.equal((await call('/oauth2/userinfo', mine.accessToken)).status, 401)
  })

  /** The access token of a sign-in with other scopes. */
  async function accessTokenWith(client: typeof web, scope: string, browser = victim): Promise<string> {
    const code = await codeOf(attacked.service, browser, client.id, scope)
    const { body } = await exchangeCode(attacked.service, client, code)
    return String(body['access_token'])
  }

  test('tokens of a withdrawn key are refused at once, as credentials and as hints', async () => {
    const old = await signInApp(attacked.service, victim, web)
    await withdrawKeys(attacked.service)
    await assertNoAccess(old.accessToken, 'a withdrawn key')
    await assertNoHint(old.idToken, 'a withdrawn key')
    const fresh = await signInApp(attacked.service, victim, web)
    assert.equal((await call('/auth/session', fresh.accessToken)).status, 200)
  })

  test('so are those that an operator whose clock is ahead withdraws', async () => {
    const old = await signInApp(attacked.service, victim, web)
    await withdrawKeys(attacked.service, 60_000)
    await assertNoAccess(old.accessToken, 'a withdrawn key')
    const fresh = await signInApp(attacked.service, victim, web)
    assert.equal((await call('/auth/session', fresh.accessToken)).status, 200)
  })
})
