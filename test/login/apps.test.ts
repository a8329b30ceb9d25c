import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Browser, engines, onPostgres, postgres, rowsOf, started } from '#test/harness/index.ts'
import { startOAuthProvider } from '#test/harness/oauth-provider.ts'
import { startedService, startTestService } from '#test/harness/service.ts'
import {
  appCode,
  appStart,
  codeGrant,
  exchange,
  newPkce,
  signIn,
  spa,
  upToCallback,
  whoAmI,
} from './harness.ts'

const native = { id: 'native', redirectUris: ['com.example.app:/callback'] }

describe('apps', () => {
  const provider = started(startOAuthProvider)
  const service = startedService(engines[0]!, () => ({
    env: provider.env('ACME'),
    config: { login: { clients: [spa, native] } },
  }))
  const redirectUri = spa.redirectUris[0]!

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
    const fields = codeGrant(code, pkce, { client_id: 'native', redirect_uri: uri })
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

  const broken: [string, Record<string, string>, string, number][] = [
    ['no grant_type', { client_id: 'spa' }, 'invalid_request', 400],
    ['no client_id', { grant_type: 'authorization_code' }, 'invalid_request', 400],
    ['an unknown app', { grant_type: 'authorization_code', client_id: 'x' }, 'invalid_client', 401],
    ['another grant', { grant_type: 'password', client_id: 'spa' }, 'unsupported_grant_type', 400],
    ['no code', { grant_type: 'authorization_code', client_id: 'spa' }, 'invalid_request', 400],
    ['no verifier', codeGrant('x', { verifier: '' }), 'invalid_request', 400],
    [
      'an unknown refresh token',
      { grant_type: 'refresh_token', client_id: 'spa', refresh_token: 'x' },
      'invalid_grant',
      400,
    ],
  ]
  for (const [name, fields, error, status] of broken) {
    test(`the token endpoint answers ${name} as RFC 6749 says`, async () => {
      const answer = await exchange(service, fields)
      assert.equal(answer.status, status)
      assert.equal(answer.body['error'], error)
    })
  }
})

test('two services that start on one empty database use one signing key', onPostgres, async () => {
  const database = await postgres!.createMigratedDatabase()
  const options = { databaseUrl: database.url }
  const first = await startTestService(postgres!, options)
  const second = await startTestService(postgres!, options)
  const keys = await Promise.all(
    [first, second, first, second].map(async (each) => (await each.fetch('/.well-known/jwks.json')).text()),
  )
  assert.equal(new Set(keys).size, 1)
  await first.close()
  await second.close()
  await database.drop()
})
