// Parameters without a value count as omitted (RFC 6749, sections 3.1 and 3.2), at every OAuth and OpenID endpoint. Clients that
// always send a field, such as node-oauth with `client_secret=`, depend on it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Browser, engines, started } from '#test/harness/index.ts'
import { newPkce, signIn, upToCallback, whoAmI, type Pkce } from '../login/harness.ts'
import { answerOf, authorizeUrl, basic, callback, secret, tokensOf } from '../oauth2/harness.ts'
import { startAttackedProvider } from './provider-harness.ts'

const device = 'urn:ietf:params:oauth:grant-type:device_code'
const after = 'https://app.example.com/bye'
type Fields = Record<string, string>

describe('parameters without a value', () => {
  const attacked = started(() =>
    startAttackedProvider(engines[0]!, {
      clients: [
        { id: 'spa', redirectUris: [callback], postLogoutRedirectUris: [after], deviceGrant: true },
        { id: 'web', redirectUris: [callback], secret },
        { id: 'job', secret, clientCredentials: true },
      ],
    }),
  )
  const post = async (path: string, fields: Fields, headers: Fields = {}) => {
    const answer = await attacked.service.fetch(path, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers,
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, text, body: text === '' ? {} : JSON.parse(text) }
  }
  const codeFor = async (clientId: string, pkce: Pkce | undefined): Promise<Fields> => {
    const none = { code_challenge: undefined, code_challenge_method: undefined }
    const more = { client_id: clientId, ...(pkce ? {} : none) }
    const { code } = await answerOf(attacked.service, new Browser(), more, pkce)
    return { grant_type: 'authorization_code', code: code!, redirect_uri: callback }
  }

  test('a public app with an empty secret, in the body, in JSON and with Basic, at every endpoint', async () => {
    const pkce = newPkce()
    const credentials: [name: string, fields: Fields, headers: Fields][] = [
      ['client_secret=', { client_id: 'spa', client_secret: '' }, {}],
      ['client_assertion=', { client_id: 'spa', client_assertion: '', client_assertion_type: '' }, {}],
      ['Basic with an empty password', {}, basic('spa', '')],
      ['both', { client_id: 'spa', client_secret: '' }, basic('spa', '')],
    ]
    for (const [name, fields, headers] of credentials) {
      const code = { ...(await codeFor('spa', pkce)), code_verifier: pkce.verifier }
      const tokens = await post('/oauth2/token', { ...code, ...fields }, headers)
      assert.equal(tokens.status, 200, `${name}: ${tokens.text}`)
      const refresh = { grant_type: 'refresh_token', refresh_token: String(tokens.body.refresh_token) }
      const refreshed = await post('/oauth2/token', { ...refresh, scope: '', ...fields }, headers)
      assert.equal(refreshed.status, 200, `${name}: ${refreshed.text}`)
      const pushed = Object.fromEntries(authorizeUrl(attacked.service, { client_id: 'spa' }).searchParams)
      assert.equal(
        (await post('/oauth2/par', { ...pushed, ...fields, resource: '' }, headers)).status,
        201,
        name,
      )
      const started = await post('/oauth2/device_authorization', { resource: '', ...fields }, headers)
      assert.equal(started.status, 200, `${name}: ${started.text}`)
      const { device_code: deviceCode } = started.body
      const poll = await post(
        '/oauth2/token',
        { grant_type: device, device_code: deviceCode, ...fields },
        headers,
      )
      assert.equal(poll.body.error, 'authorization_pending', name)
      const revoked = await post(
        '/oauth2/revoke',
        { token: refreshed.body.refresh_token, ...fields },
        headers,
      )
      assert.equal(revoked.status, 200, `${name}: ${revoked.text}`)
    }
    const json = {
      ...(await codeFor('spa', pkce)),
      code_verifier: pkce.verifier,
      client_id: 'spa',
      client_secret: '',
    }
    const answer = await attacked.service.fetch('/auth/token', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(json),
    })
    assert.equal(answer.status, 200, await answer.text())
  })

  test('a confidential app with one method and empty fields of the others', async () => {
    const ways: [fields: Fields, headers: Fields][] = [
      [{ client_secret: '' }, basic('web', secret)],
      [{ client_assertion: '', client_assertion_type: '' }, basic('web', secret)],
      [{ client_id: 'web', client_secret: secret, client_assertion: '' }, {}],
      [{ client_id: '' }, basic('web', secret)],
    ]
    for (const [fields, headers] of ways) {
      const code = { ...(await codeFor('web', undefined)), code_verifier: '' }
      const tokens = await post('/oauth2/token', { ...code, ...fields }, headers)
      assert.equal(tokens.status, 200, `${JSON.stringify(fields)}: ${tokens.text}`)
      const asked = { token: String(tokens.body.access_token), token_type_hint: '', ...fields }
      assert.equal((await post('/oauth2/introspect', asked, headers)).body.active, true)
    }
  })

  test('an empty secret authenticates no confidential app', async () => {
    const code = await codeFor('web', undefined)
    const empty = await post('/oauth2/token', { ...code, client_id: 'web', client_secret: '' })
    assert.deepEqual([empty.status, empty.body.error], [401, 'invalid_client'])
    const header = await post('/oauth2/token', code, basic('web', ''))
    assert.deepEqual([header.status, header.body.error], [401, 'invalid_client'])
    // RFC 6749, section 5.2: the client used the Authorization header.
    assert.match(header.headers.get('www-authenticate')!, /^Basic /)
    const other = await post('/oauth2/token', { ...code, client_id: 'spa' }, basic('web', ''))
    assert.deepEqual([other.status, other.body.error], [400, 'invalid_request'])
  })

  test('resource= and scope= of a machine client', async () => {
    const fields = { grant_type: 'client_credentials', client_id: 'job', client_secret: secret }
    const tokens = await post('/oauth2/token', { ...fields, resource: '', scope: '' })
    assert.equal(tokens.status, 200, tokens.text)
  })

  test('each parameter of an authorization request', async () => {
    const empty = [
      'prompt',
      'max_age',
      'login_hint',
      'nonce',
      'resource',
      'acr_values',
      'id_token_hint',
      'request',
    ]
    const ignored = ['response_mode', 'request_uri', 'provider', 'registration', 'scope', 'state']
    for (const name of [...empty, ...ignored]) {
      const answer = await answerOf(attacked.service, new Browser(), { [name]: '' })
      assert.ok(answer['code'], `${name}=: ${JSON.stringify(answer)}`)
    }
    // An empty value beside another one is no repetition.
    const url = authorizeUrl(attacked.service)
    url.searchParams.append('state', '')
    url.searchParams.append('client_id', '')
    const form = await attacked.service.fetch('/oauth2/authorize', {
      method: 'POST',
      body: url.searchParams,
      redirect: 'manual',
    })
    assert.equal(form.status, 303)
  })

  test('end-session: each optional parameter, alone and beside the others', async () => {
    const { id_token: hint } = await tokensOf(attacked.service, new Browser())
    for (const [query, status] of [
      [{ id_token_hint: '' }, 200],
      [{ client_id: '' }, 200],
      [{ post_logout_redirect_uri: '', state: '' }, 200],
      [{ client_id: 'spa', id_token_hint: '', post_logout_redirect_uri: after }, 303],
      [{ id_token_hint: String(hint), client_id: '', post_logout_redirect_uri: after, state: '' }, 303],
    ] as const) {
      const search = new URLSearchParams(query).toString()
      const answer = await attacked.service.fetch(`/oauth2/end-session?${search}`, { redirect: 'manual' })
      assert.equal(answer.status, status, search)
      if (status === 303) assert.equal(answer.headers.get('location'), after)
    }
  })

  test('the start of a sign-in, and the callback', async () => {
    for (const name of [
      'client_id',
      'redirect_uri',
      'code_challenge',
      'reauthenticate',
      'select_account',
      'return_to',
    ]) {
      const browser = new Browser()
      assert.equal(
        await signIn(attacked.service, browser, `/auth/acme?${name}=&${name}=`),
        '/dashboard',
        name,
      )
    }
    for (const name of ['error', 'iss', 'error_description', 'name']) {
      const browser = new Browser()
      const back = await upToCallback(attacked.service, browser)
      back.searchParams.set(name, '')
      back.searchParams.append('state', '')
      assert.equal((await browser.go(back)).headers.get('location'), '/dashboard', name)
      assert.ok(await whoAmI(attacked.service, browser))
    }
    const page = await (await attacked.service.fetch('/login?error=&return_to=&reauthenticate=')).text()
    assert.doesNotMatch(page, /role="alert"/)
  })

  test('an empty value gives no right: a public app still needs its verifier, a code its redirect URI', async () => {
    const pkce = newPkce()
    const code = { ...(await codeFor('spa', pkce)), client_id: 'spa' }
    for (const fields of [
      { ...code, code_verifier: '' },
      { ...code, code_verifier: pkce.verifier, redirect_uri: '' },
    ]) {
      const { status, body } = await post('/oauth2/token', fields)
      assert.deepEqual([status, body.error], [400, 'invalid_request'])
    }
  })
})
