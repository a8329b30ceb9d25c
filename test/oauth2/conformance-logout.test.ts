// The modules of the OpenID conformance suite's plans RP-initiated logout and back-channel logout, by their names; the table
// is in docs/security/openid-conformance.md.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { createRemoteJWKSet, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import { Browser, onEachEngine, started, startOAuthProvider, startReceiver } from '#test/harness/index.ts'
import { startTestService } from '#test/harness/service.ts'
import { until } from '../emitting/harness.ts'
import { clockWith } from '../harness/manual-clock.ts'
import { postForm } from './app-sessions.ts'
import { exchangeCode, suiteClients, suiteUrl, visit, type Tokens } from './relying-party.ts'

const afterwards = 'https://app.example.com/post_logout_redirect'

onEachEngine('OpenID conformance of logout', (engine) => {
  let browser: Browser
  let tokens: Tokens
  const [suite] = suiteClients
  const provider = started(startOAuthProvider)
  const receiver = started(() => startReceiver(200))
  const service = started(async () => {
    const client = { ...suite, postLogoutRedirectUris: [afterwards], backchannelLogoutUri: receiver.url }
    return startTestService(engine, {
      env: { ...provider.env('ACME'), ALLOW_PRIVATE_NETWORK: 'true' },
      config: { login: { clients: [client] } },
      parts: { clock: clockWith({ 1_000: 50 }) },
    })
  })
  beforeEach(async () => {
    provider.profile = { id: 'ann' }
    browser = new Browser()
    const { answer } = await visit(service, browser, suiteUrl(service))
    tokens = await exchangeCode(service, answer['code'])
  })

  const state = 'x'.repeat(128)
  function endSession(more: Record<string, string | undefined>): Promise<Response> {
    const fields = {
      id_token_hint: tokens.idToken,
      post_logout_redirect_uri: afterwards,
      state,
      ...more,
    }
    const url = new URL('/oauth2/end-session', service.baseUrl)
    for (const [name, value] of Object.entries(fields))
      if (value !== undefined) url.searchParams.set(name, value)
    return browser.go(url)
  }
  /** What the suite asks at the end: an authorization request with `prompt=none`. */
  async function isSignedIn(): Promise<boolean> {
    const { answer } = await visit(service, browser, suiteUrl(service, { prompt: 'none' }))
    if (answer['code'] !== undefined) return true
    assert.equal(answer['error'], 'login_required')
    return false
  }
  /** An error page, or a page that asks: nothing leads back to the app, and the person is still signed in. */
  async function assertRefused(response: Response): Promise<string> {
    assert.deepEqual([response.headers.get('location'), response.headers.get('refresh')], [null, null])
    assert.equal(await isSignedIn(), true)
    return response.text()
  }

  test('oidcc-rp-initiated-logout-discovery-…, oidcc-backchannel-logout-discovery-endpoint-verification', async () => {
    const response = await service.fetch('/.well-known/openid-configuration')
    const metadata = (await response.json()) as Record<string, unknown>
    assert.equal(metadata['end_session_endpoint'], `${service.baseUrl}/oauth2/end-session`)
    assert.equal(metadata['backchannel_logout_supported'], true)
    assert.equal(metadata['backchannel_logout_session_supported'], true)
  })

  test('oidcc-rp-initiated-logout', async () => {
    const answer = await endSession({})
    assert.equal(answer.headers.get('location'), `${afterwards}?state=${state}`)
    assert.equal(await isSignedIn(), false)
  })

  test('oidcc-rp-initiated-logout-no-state', async () => {
    const answer = await endSession({ state: undefined })
    assert.equal(answer.headers.get('location'), afterwards)
    assert.equal(await isSignedIn(), false)
  })

  test('oidcc-rp-initiated-logout-bad-post-logout-redirect-uri, -query-added-to-post-logout-redirect-uri', async () => {
    for (const wrong of ['https://app.example.com/wrong', `${afterwards}?foo=bar`])
      await assertRefused(await endSession({ post_logout_redirect_uri: wrong }))
  })

  test('oidcc-rp-initiated-logout-bad-id-token-hint, -modified-id-token-hint', async () => {
    const { privateKey } = await generateKeyPair('RS256')
    const forged = await new SignJWT(tokens.claims).setProtectedHeader({ alg: 'RS256' }).sign(privateKey)
    const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')
    const modified = `${none}.${tokens.idToken.split('.')[1]!}.`
    for (const hint of [forged, modified]) await assertRefused(await endSession({ id_token_hint: hint }))
  })

  test('oidcc-rp-initiated-logout-no-id-token-hint', async () => {
    await assertRefused(await endSession({ id_token_hint: undefined }))
  })

  test('oidcc-rp-initiated-logout-no-params, -only-state: asks first, then the person is signed out', async () => {
    for (const given of [{ state: undefined }, {}]) {
      const asked = await endSession({
        id_token_hint: undefined,
        post_logout_redirect_uri: undefined,
        ...given,
      })
      assert.match(await assertRefused(asked), /action="\/oauth2\/end-session\/confirm"/)
    }
    const done = await postForm(service, browser, '/oauth2/end-session/confirm', {})
    assert.match(await done.text(), /You are signed out/)
    assert.equal(await isSignedIn(), false)
  })

  test('oidcc-rp-initiated-logout-no-post-logout-redirect-uri', async () => {
    const answer = await endSession({ post_logout_redirect_uri: undefined })
    assert.deepEqual([answer.status, answer.headers.get('location')], [200, null])
    assert.match(await answer.text(), /You are signed out/)
    assert.equal(await isSignedIn(), false)
  })

  test('oidcc-backchannel-rp-initiated-logout', async () => {
    const answer = await endSession({})
    assert.equal(answer.headers.get('location'), `${afterwards}?state=${state}`)
    const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', service.baseUrl))
    // The calls of the tests before arrive here, too.
    const ours = await until(async () => {
      const received = receiver.calls.map(async ({ body }) => {
        const fields = new URLSearchParams(body.toString())
        assert.deepEqual([...fields.keys()], ['logout_token'])
        const options = { issuer: service.baseUrl, audience: 'suite', requiredClaims: ['iat', 'jti'] }
        return (await jwtVerify(fields.get('logout_token')!, keys, options)).payload
      })
      return (await Promise.all(received)).find(({ sid }) => sid === tokens.claims['sid'])
    }, 'the logout token of this sign-in')
    assert.equal(ours.sub, tokens.claims.sub)
    assert.equal(ours['nonce'], undefined)
    assert.deepEqual(ours['events'], { 'http://schemas.openid.net/event/backchannel-logout': {} })
    assert.equal(await isSignedIn(), false)
  })
})
