// An identity provider that cannot authenticate a person again, such as GitHub: an app that asks for it must not be told that it was
// done (OpenID Connect Core, section 3.1.2.1), nor at what time.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decodeJwt } from 'jose'
import { Browser, engines, started, startedService } from '#test/harness/index.ts'
import { startOAuthProvider, startProvingProvider } from '#test/harness/oauth-provider.ts'
import { newPkce } from '../login/harness.ts'
import { answerOf, authorizeUrl, callback, secret, token } from '../oauth2/harness.ts'

type Fields = Record<string, string>

describe('times of an authentication that nobody proved', () => {
  const plain = started(startOAuthProvider)
  const proving = started(startProvingProvider)
  const service = startedService(engines[0]!, () => ({
    env: { ...plain.env('ACME'), ...proving.env('CORP') },
    login: {
      clients: [
        { id: 'strict', redirectUris: [callback], secret },
        { id: 'lenient', redirectUris: [callback], secret, reauthenticationProof: 'when-supported' },
      ],
    },
  }))
  /** The claims of the tokens of a sign-in, of a refresh and of introspection. */
  async function timesOf(clientId: string, more: Fields, browser = new Browser()): Promise<unknown[]> {
    const pkce = newPkce()
    const answer = await answerOf(service, browser, { client_id: clientId, ...more }, pkce)
    assert.ok(answer['code'], JSON.stringify(answer))
    const client = { client_id: clientId, client_secret: secret }
    const { body } = await token(service, {
      ...client,
      grant_type: 'authorization_code',
      code: answer['code'],
      code_verifier: pkce.verifier,
      redirect_uri: callback,
    })
    const refresh = { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) }
    const { body: later } = await token(service, { ...client, ...refresh })
    const asked = new URLSearchParams({ ...client, token: String(later['access_token']) })
    const introspected = await service.fetch('/oauth2/introspect', { method: 'POST', body: asked })
    const { auth_time: time } = (await introspected.json()) as { auth_time?: number }
    const ofToken = (one: unknown) => decodeJwt(String(one))['auth_time']
    return [body['id_token'], body['access_token'], later['id_token'], later['access_token']]
      .map(ofToken)
      .concat(time)
  }

  const requests: Fields[] = [
    { prompt: 'login' },
    { max_age: '0' },
    { max_age: '1' },
    { max_age: '3600' },
    { prompt: 'login', max_age: '0' },
  ]
  test('prompt=login and max_age are answered with login_required', async () => {
    for (const more of requests)
      for (const fields of [more, { ...more, provider: 'acme' }]) {
        const fresh = await answerOf(service, new Browser(), { client_id: 'strict', ...fields })
        assert.deepEqual(
          [fresh['error'], fresh['code']],
          ['login_required', undefined],
          JSON.stringify(fields),
        )
        const browser = new Browser()
        await answerOf(service, browser, { client_id: 'strict' })
        const known = await answerOf(service, browser, { client_id: 'strict', ...fields })
        assert.deepEqual(
          [known['error'], known['code']],
          ['login_required', undefined],
          JSON.stringify(fields),
        )
        assert.match(known['error_description']!, /does not prove/)
        // Not even silently, by the session that the attempt made.
        const silent = await answerOf(service, browser, { client_id: 'strict', ...fields, prompt: 'none' })
        if (fields['max_age'] !== undefined) assert.equal(silent['error'], 'login_required')
      }
  })

  test('with reauthenticationProof: when-supported a new sign-in counts, and no token has a time', async () => {
    for (const more of requests)
      assert.deepEqual(await timesOf('lenient', more), Array(5).fill(undefined), JSON.stringify(more))
    const browser = new Browser()
    await answerOf(service, browser, { client_id: 'lenient' })
    const again = await browser.go(authorizeUrl(service, { client_id: 'lenient', prompt: 'login' }))
    assert.match(again.headers.get('location')!, /^\/login\?.*reauthenticate=true/)
  })

  test('a sign-in that nobody asked to repeat has no time either', async () => {
    assert.deepEqual(await timesOf('strict', {}), Array(5).fill(undefined))
  })

  test('a provider that proves it gives its own time, and a code', async () => {
    for (const more of [{}, ...requests])
      for (const client of ['strict', 'lenient']) {
        const at = Date.now() - 20_000
        proving.now = () => at
        const times = await timesOf(client, { ...more, provider: 'corp' })
        assert.deepEqual(times, Array(5).fill(Math.floor(at / 1000)), JSON.stringify(more))
      }
  })

  test('the setting has two values', async () => {
    const app = { name: 'x', redirectUris: [callback] }
    const make = (json: object) => service.admin('/clients', { method: 'POST', json: { ...app, ...json } })
    const made = (await (await make({})).json()) as Fields
    assert.equal(made['reauthenticationProof'], 'required')
    const lenient = (await (await make({ reauthenticationProof: 'when-supported' })).json()) as Fields
    assert.equal(lenient['reauthenticationProof'], 'when-supported')
    assert.equal((await make({ reauthenticationProof: 'never' })).status, 400)
  })
})
