import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser, onEachEngine, rowsOf, started, startOAuthProvider } from '#test/harness/index.ts'
import { startTestService } from '#test/harness/service.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { appCode, appStart, exchange, newPkce, signIn, spa, upToCallback, whoAmI } from './harness.ts'

onEachEngine('apps', (engine) => {
  let shift = 0
  const native = { id: 'native', redirectUris: ['com.example.app:/callback'] }
  const provider = started(startOAuthProvider)
  const service = started(async () => {
    const clock = { ...systemClock, now: () => Date.now() + shift }
    const config = { login: { clients: [spa, native] } }
    return startTestService(engine, { env: provider.env('ACME'), config, parts: { clock } })
  })

  const redirectUri = spa.redirectUris[0]!
  const codeFields = (code: string, verifier: string): Record<string, string> => ({
    grant_type: 'authorization_code',
    client_id: 'spa',
    code,
    code_verifier: verifier,
    redirect_uri: redirectUri,
  })
  const refreshFields = (token: unknown): Record<string, string> => ({
    grant_type: 'refresh_token',
    client_id: 'spa',
    refresh_token: String(token),
  })
  async function newTokens(): Promise<Record<string, unknown>> {
    const pkce = newPkce()
    const { status, body } = await exchange(service, codeFields(await appCode(service, pkce), pkce.verifier))
    assert.equal(status, 200)
    return body
  }
  const statusWith = async (token: unknown): Promise<number> =>
    (await service.fetch('/auth/session', { headers: { authorization: `Bearer ${String(token)}` } })).status

  test('the app gets a code with its state and the issuer, and the browser gets no session', async () => {
    const browser = new Browser()
    const target = new URL(await signIn(service, browser, appStart(newPkce())))
    assert.equal(target.origin + target.pathname, redirectUri)
    assert.equal(target.searchParams.get('state'), 'app-state')
    assert.equal(target.searchParams.get('iss'), service.baseUrl)
    assert.equal(await whoAmI(service, browser), undefined)
  })

  test('an app with a private URI scheme gets its code', async () => {
    const pkce = newPkce()
    const uri = native.redirectUris[0]!
    const code = await appCode(service, pkce, { client_id: 'native', redirect_uri: uri, state: undefined })
    const fields = { ...codeFields(code, pkce.verifier), client_id: 'native', redirect_uri: uri }
    assert.equal((await exchange(service, fields)).status, 200)
  })

  test('a denial at the provider is sent to the app', async () => {
    const browser = new Browser()
    const callback = await upToCallback(service, browser, appStart(newPkce()))
    callback.searchParams.delete('code')
    callback.searchParams.set('error', 'access_denied')
    callback.searchParams.set('error_description', 'words of the provider')
    const target = new URL((await browser.go(callback)).headers.get('location')!)
    assert.equal(target.origin + target.pathname, redirectUri)
    assert.equal(target.searchParams.get('error'), 'access_denied')
    assert.equal(target.searchParams.get('state'), 'app-state')
    assert.ok(!target.href.includes('words'))
    const told = target.searchParams.get('error_description')!
    // RFC 6749, section 4.1.2.1: the characters that may be in it.
    assert.match(told, /^[\x20-\x21\x23-\x5B\x5D-\x7E]+$/)
    const { support_id: supportId } = (
      await rowsOf(service, 'audit_log', { code: 'access-denied' }, 'id')
    ).at(-1)!
    assert.ok(supportId && told.endsWith(supportId.slice(0, 8)))
  })

  test('JSON is accepted as well as a form', async () => {
    const pkce = newPkce()
    const body = JSON.stringify(codeFields(await appCode(service, pkce), pkce.verifier))
    const response = await service.fetch('/auth/token', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('cache-control'), 'no-store')
  })

  test('refresh tokens rotate; reuse is accepted within the grace period, and later revokes the family', async () => {
    const first = await newTokens()
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => exchange(service, refreshFields(first['refresh_token']))),
    )
    for (const { status } of answers) assert.equal(status, 200)
    const next = answers[0]!.body
    assert.equal(new Set(answers.map(({ body }) => body['refresh_token'])).size, 5)
    assert.equal(await statusWith(next['access_token']), 200)
    shift += 11_000
    assert.equal(
      (await exchange(service, refreshFields(first['refresh_token']))).body['error'],
      'invalid_grant',
    )
    assert.equal((await exchange(service, refreshFields(next['refresh_token']))).status, 400)
    assert.equal(await statusWith(next['access_token']), 401)
  })

  test('signing out with an access token revokes its family', async () => {
    const { access_token: token, refresh_token: refresh } = await newTokens()
    const headers = { authorization: `Bearer ${String(token)}` }
    assert.equal((await service.fetch('/auth/logout', { method: 'POST', headers })).status, 204)
    assert.equal(await statusWith(token), 401)
    assert.equal((await exchange(service, refreshFields(refresh))).status, 400)
  })

  test('an access token expires after 15 minutes, and a changed one is refused', async () => {
    const { access_token: token } = await newTokens()
    const [head, , signature] = String(token).split('.')
    const forged = Buffer.from(
      JSON.stringify({ iss: service.baseUrl, aud: service.baseUrl, sub: 'x', sid: 'x', exp: 9e9 }),
    )
    assert.equal(await statusWith(`${head}.${forged.toString('base64url')}.${signature}`), 401)
    const unsigned = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')
    assert.equal(await statusWith(`${unsigned}.${forged.toString('base64url')}.AA`), 401)
    shift += 15 * 60_000 + 1_000
    assert.equal(await statusWith(token), 401)
  })

  const broken: [string, Record<string, string>, string, number][] = [
    ['no grant_type', { client_id: 'spa' }, 'invalid_request', 400],
    ['no client_id', { grant_type: 'authorization_code' }, 'invalid_request', 400],
    ['an unknown app', { grant_type: 'authorization_code', client_id: 'x' }, 'invalid_client', 401],
    ['another grant', { grant_type: 'password', client_id: 'spa' }, 'unsupported_grant_type', 400],
    ['no code', { grant_type: 'authorization_code', client_id: 'spa' }, 'invalid_request', 400],
    ['no verifier', { ...codeFields('x', 'x'), code_verifier: '' }, 'invalid_request', 400],
    ['an unknown refresh token', refreshFields('x'), 'invalid_grant', 400],
  ]
  for (const [name, fields, error, status] of broken) {
    test(`the token endpoint answers ${name} as RFC 6749 says`, async () => {
      const answer = await exchange(service, fields)
      assert.equal(answer.status, status)
      assert.equal(answer.body['error'], error)
    })
  }

  test('broken bodies are invalid_request, never a 500', async () => {
    const bodies: [string, string][] = [
      ['application/json', '{'],
      ['application/json', '{"grant_type":1}'],
      ['application/json', '[]'],
      ['application/x-www-form-urlencoded', 'client_id=spa&client_id=other&grant_type=refresh_token'],
      ['text/plain', 'x'],
    ]
    for (const [type, body] of bodies) {
      const response = await service.fetch('/auth/token', {
        method: 'POST',
        headers: { 'content-type': type },
        body,
      })
      assert.equal(response.status, 400, `${type} ${body}`)
      assert.equal(((await response.json()) as { error: string }).error, 'invalid_request')
    }
  })

  const skip = engine.name === 'sqlite' ? 'one SQLite file has one service' : false
  test('two services that start on one empty database use one signing key', { skip }, async () => {
    const database = await engine.createMigratedDatabase()
    const options = { env: provider.env('ACME'), databaseUrl: database.url }
    const first = await startTestService(engine, options)
    const second = await startTestService(engine, options)
    const keys = await Promise.all(
      [first, second, first, second].map(async (each) => (await each.fetch('/.well-known/jwks.json')).text()),
    )
    assert.equal(new Set(keys).size, 1)
    await first.close()
    await second.close()
    await database.drop()
  })
})
