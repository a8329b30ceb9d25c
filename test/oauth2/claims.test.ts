// The parameter `claims` (OpenID Connect Core, section 5.5), `acr_values`, and the client's setting `idTokenClaims`.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { decodeJwt } from 'jose'
import { Browser, onOneEngine, started, startedService, startProvingProvider } from '#test/harness/index.ts'
import { newPkce, codeGrant } from '../login/harness.ts'
import { allow, answerOf, authorizeUrl, callback, secret, toApp, token, tokensOf } from './harness.ts'
import { userinfo } from './relying-party.ts'

const clients = [
  { id: 'spa', redirectUris: [callback] },
  { id: 'web', redirectUris: [callback], secret, idTokenClaims: 'minimal' as const },
  { id: 'narrow', redirectUris: [callback], scopes: ['openid', 'email'] },
  { id: 'forum', name: 'Forum', redirectUris: [callback], firstParty: false },
]
type Claims = Record<string, unknown>

onOneEngine('claims that a request asks for', (engine) => {
  const provider = started(startProvingProvider)
  const service = startedService(engine, () => ({
    env: provider.env('ACME'),
    config: { login: { clients } },
  }))
  beforeEach(() => {
    provider.profile = { id: 'ann', name: 'Ann', email: 'ann@example.com', email_verified: true }
  })

  const asking = (claims: unknown): Record<string, string> => ({ claims: JSON.stringify(claims) })
  const idTokenOf = (body: Claims): Claims => decodeJwt(String(body['id_token']))
  const toldBy = async (body: Claims): Promise<Claims> =>
    (await userinfo(service, { headers: { authorization: `Bearer ${String(body['access_token'])}` } })).claims
  const errorOf = async (more: Record<string, string>, browser = new Browser()) => {
    const { error, error_description: text } = await answerOf(service, browser, more)
    return [error, text]
  }

  test('they are in the id_token and at userinfo as requested, also after a refresh', async () => {
    const request = {
      id_token: { email: null, nickname: { essential: true }, unheard_of: null },
      userinfo: { name: { essential: true }, email_verified: null },
    }
    const first = await tokensOf(service, new Browser(), asking(request))
    const refreshed = await token(service, {
      grant_type: 'refresh_token',
      client_id: 'spa',
      refresh_token: String(first['refresh_token']),
    })
    for (const body of [first, refreshed.body]) {
      const { email, name, acr } = idTokenOf(body)
      assert.deepEqual([email, name, acr], ['ann@example.com', undefined, undefined])
      const { sub: _, ...told } = await toldBy(body)
      assert.deepEqual(told, { name: 'Ann', email_verified: true })
    }
    const narrower = await token(service, {
      grant_type: 'refresh_token',
      client_id: 'spa',
      refresh_token: String(refreshed.body['refresh_token']),
      scope: 'openid',
    })
    assert.deepEqual(Object.keys(await toldBy(narrower.body)), ['sub', 'name', 'email_verified'])
  })

  test('a token with fewer scopes than its sign-in does not get the claims that the sign-in requested', async () => {
    const more = { ...asking({ userinfo: { name: null } }), scope: 'openid email' }
    const first = await tokensOf(service, new Browser(), more)
    assert.equal((await toldBy(first))['name'], 'Ann')
    const narrower = await token(service, {
      grant_type: 'refresh_token',
      client_id: 'spa',
      refresh_token: String(first['refresh_token']),
      scope: 'openid',
    })
    assert.deepEqual(Object.keys(await toldBy(narrower.body)), ['sub'])
  })

  test('idTokenClaims: scopes includes the claims of the scopes, minimal only requested ones', async () => {
    const scope = 'openid email profile'
    const usual = idTokenOf(await tokensOf(service, new Browser(), { scope }))
    assert.deepEqual([usual['email'], usual['name']], ['ann@example.com', 'Ann'])
    const minimal = await tokensOf(service, new Browser(), {
      client_id: 'web',
      scope,
      ...asking({ id_token: { name: null } }),
    })
    assert.deepEqual([idTokenOf(minimal)['email'], idTokenOf(minimal)['name']], [undefined, 'Ann'])
    assert.equal((await toldBy(minimal))['email'], 'ann@example.com')
  })

  test('idTokenClaims is a setting of stored apps, too', async () => {
    const app = { name: 'Shop', redirectUris: [callback] }
    const made = await service.admin('/clients', {
      method: 'POST',
      json: { ...app, idTokenClaims: 'minimal' },
    })
    const { id, idTokenClaims } = (await made.json()) as Claims
    assert.deepEqual([made.status, idTokenClaims], [201, 'minimal'])
    const change = (value: unknown) =>
      service.admin(`/clients/${String(id)}`, { method: 'PATCH', json: { idTokenClaims: value } })
    assert.equal(((await (await change(null)).json()) as Claims)['idTokenClaims'], 'scopes')
    assert.equal((await change('all')).status, 400)
  })

  test('an app gets no claims of a scope that it may not request', async () => {
    const request = { id_token: { name: null, groups: null, email: null }, userinfo: { name: null } }
    const pkce = newPkce()
    const { code } = await answerOf(service, new Browser(), { client_id: 'narrow', ...asking(request) }, pkce)
    const { body } = await token(service, codeGrant(code!, pkce, { client_id: 'narrow' }))
    assert.deepEqual([idTokenOf(body)['name'], idTokenOf(body)['email']], [undefined, 'ann@example.com'])
    assert.deepEqual(Object.keys(await toldBy(body)), ['sub'])
  })

  test('an app that loses a scope no longer gets its claims', async () => {
    const app = { name: 'Shop', redirectUris: [callback], confidential: false, firstParty: true }
    const made = await service.admin('/clients', { method: 'POST', json: app })
    const { id } = (await made.json()) as { id: string }
    const request = asking({ id_token: { email: null }, userinfo: { email: null } })
    const first = await tokensOf(service, new Browser(), { client_id: id, ...request })
    assert.equal((await toldBy(first))['email'], 'ann@example.com')
    await service.admin(`/clients/${id}`, { method: 'PATCH', json: { scopes: ['openid', 'profile'] } })
    assert.deepEqual(Object.keys(await toldBy(first)), ['sub'])
    const { body } = await token(service, {
      grant_type: 'refresh_token',
      client_id: id,
      refresh_token: String(first['refresh_token']),
    })
    assert.deepEqual([idTokenOf(body)['aud'], idTokenOf(body)['email']], [id, undefined])
  })

  test('the consent page shows them, and an earlier consent does not cover them', async () => {
    const browser = new Browser()
    await tokensOf(service, browser)
    const ask = (more: Record<string, string>) =>
      browser.go(authorizeUrl(service, { client_id: 'forum', ...more }))
    const plain = await (await ask({})).text()
    assert.doesNotMatch(plain, /email address/)
    await allow(service, browser, plain)
    assert.equal((await ask({})).status, 303)
    const request = asking({ userinfo: { email: null } })
    const page = await ask(request)
    assert.equal(page.status, 200)
    const html = await page.text()
    assert.match(html, /email address/)
    const forged = html.replace(/name="proof" value="[^"]*"/, /name="proof" value="[^"]*"/.exec(plain)![0])
    await assert.rejects(allow(service, browser, forged), 'the proof of the shorter page')
    await allow(service, browser, html)
    assert.equal((await ask(request)).status, 303)
    const none = await ask({ ...asking({ id_token: { name: null } }), prompt: 'none' })
    assert.match(none.headers.get('location')!, /error=consent_required/)
  })

  test('a parameter that is huge, deep, repeated or no JSON is an error at the redirect URI', async () => {
    for (const [claims, text] of [
      [JSON.stringify({ userinfo: { name: { value: 'x'.repeat(4100) } } }), /more than 4096 characters/],
      ['{"userinfo":', /not JSON/],
      ['[1]', /not a JSON object/],
      ['"text"', /not a JSON object/],
      ['{"id_token":["email"]}', /id_token of claims is not a JSON object/],
      ['{"userinfo":true}', /userinfo of claims is not a JSON object/],
    ] as const) {
      const [error, description] = await errorOf({ claims })
      assert.equal(error, 'invalid_request')
      assert.match(description!, text)
    }
    const twice = authorizeUrl(service, asking({ userinfo: { name: null } }))
    twice.searchParams.append('claims', '{}')
    const answer = await toApp(service, new Browser(), twice)
    assert.equal(answer.searchParams.get('error_description'), 'the parameter claims came twice')
    const deep = `{"userinfo":{"name":${'['.repeat(1500)}${']'.repeat(1500)}}}`
    const proto = '{"__proto__":{"userinfo":{"email":null}},"userinfo":{"__proto__":null,"constructor":null}}'
    for (const [claims, told] of [
      [deep, ['sub', 'name']],
      [proto, ['sub']],
      ['{}', ['sub']],
      ['{"userinfo":null,"other":7}', ['sub']],
    ] as const)
      assert.deepEqual(Object.keys(await toldBy(await tokensOf(service, new Browser(), { claims }))), told)
  })

  test('if another user than the requested one signs in, the app gets no code', async () => {
    const browser = new Browser()
    const { sub } = idTokenOf(await tokensOf(service, browser))
    const naming = (value: unknown) => ({ ...asking({ id_token: { sub: value } }), prompt: 'none' })
    assert.equal((await errorOf(naming({ value: sub }), browser))[0], undefined)
    assert.equal((await errorOf(naming({ values: ['x', sub] }), browser))[0], undefined)
    for (const value of [{ value: 'somebody-else' }, { values: ['x'] }, { value: 7 }])
      assert.equal((await errorOf(naming(value), browser))[0], 'login_required')
    const { prompt: _, ...request } = naming({ value: 'somebody-else' })
    assert.equal((await errorOf(request, browser))[0], 'login_required', 'after the sign-in of another one')
  })

  test('acr is the value that was reached; if an essential one was not, the app gets an error', async () => {
    const acrOf = async (more: Record<string, string>): Promise<unknown> =>
      idTokenOf(await tokensOf(service, new Browser(), more))['acr']
    const essential = (values: string[]) => asking({ id_token: { acr: { essential: true, values } } })
    assert.equal(await acrOf({}), undefined)
    assert.equal(await acrOf({ acr_values: 'gold' }), '0')
    assert.equal(await acrOf(asking({ id_token: { acr: null } })), '0')
    assert.equal((await errorOf(essential(['gold'])))[0], 'unmet_authentication_requirements')
    assert.equal(await acrOf(essential(['gold', '0'])), '0')
    provider.profile = { ...(provider.profile as object), acrs: ['c1', 'c2'] }
    assert.equal(await acrOf({}), 'c1 c2')
    assert.equal(await acrOf({ acr_values: 'c3 c2' }), 'c2')
    assert.equal(await acrOf(essential(['c2'])), 'c2')
    assert.equal((await errorOf(essential(['c1 c2'])))[0], undefined, 'a value with a space is not an acr')
    assert.equal((await errorOf(essential(['c3'])))[0], 'unmet_authentication_requirements')
    const voluntary = { acr_values: 'c1' }
    assert.equal(await acrOf({ ...essential(['c2']), ...voluntary }), 'c2')
    const both = { ...essential(['c3']), ...voluntary }
    assert.equal((await errorOf(both))[0], 'unmet_authentication_requirements')
  })
})
