// The modules of the OpenID conformance suite's plans basic, form_post and config, by their names; the table is in
// docs/security/openid-conformance.md.
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { Browser, onEachEngine, started, startedService, startProvingProvider } from '#test/harness/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { newPkce } from '../login/harness.ts'
import { basic, callback, secret, token } from './harness.ts'
import {
  exchangeCode,
  suiteClients,
  suiteUrl,
  tokensOfBody,
  userinfo,
  visit,
  type Parameters,
  type Tokens,
} from './relying-party.ts'

onEachEngine('OpenID conformance', (engine) => {
  let shift = 0
  const provider = started(startProvingProvider)
  const service = startedService(engine, () => ({
    env: provider.env('ACME'),
    config: { login: { clients: suiteClients } },
    parts: { clock: { ...systemClock, now: () => Date.now() + shift } },
  }))
  beforeEach(() => {
    provider.now = () => Date.now() + shift
    const picture = 'https://example.com/ann.png'
    provider.profile = { id: 'ann', name: 'Ann', email: 'ann@example.com', email_verified: true, picture }
  })

  const metadataOf = async (): Promise<Record<string, unknown>> =>
    (await (await service.fetch('/.well-known/openid-configuration')).json()) as Record<string, unknown>

  for (const mode of ['query', 'form_post'])
    describe(`response_mode ${mode}`, () => {
      const ask = (more: Parameters = {}): URL => suiteUrl(service, { response_mode: mode, ...more })
      const go = (browser: Browser, more: Parameters = {}) => visit(service, browser, ask(more))
      /** A sign-in that must succeed. */
      async function succeed(more: Parameters = {}, browser = new Browser()): Promise<Tokens> {
        const { answer } = await go(browser, more)
        assert.deepEqual([answer['state'], answer['iss']], ['the-state', service.baseUrl])
        return exchangeCode(service, answer['code'])
      }
      const bearer = ({ access }: Tokens) => ({ headers: { authorization: `Bearer ${access}` } })
      const claimsOf = async (tokens: Tokens) => (await userinfo(service, bearer(tokens))).claims

      test('oidcc-server, oidcc-idtoken-signature', async () => {
        const { claims } = await succeed()
        assert.equal(claims['nonce'], 'the-nonce')
        assert.deepEqual(typeof claims['auth_time'], 'number')
        assert.equal(claims.exp! - claims.iat!, 900)
      })

      test('oidcc-response-type-missing', async () => {
        const { answer } = await go(new Browser(), { response_type: undefined })
        assert.deepEqual([answer['error'], answer['state']], ['invalid_request', 'the-state'])
      })

      test('oidcc-userinfo-get, -post-header, -post-body', async () => {
        const tokens = await succeed()
        for (const init of [
          bearer(tokens),
          { method: 'POST', ...bearer(tokens) },
          { method: 'POST', body: new URLSearchParams({ access_token: tokens.access }) },
        ]) {
          const { status, claims } = await userinfo(service, init)
          assert.deepEqual([status, claims], [200, { sub: tokens.claims.sub }])
        }
      })

      test('oidcc-ensure-request-without-nonce-succeeds-for-code-flow', async () => {
        assert.equal((await succeed({ nonce: undefined })).claims['nonce'], undefined)
      })

      test('oidcc-scope-profile, -email, -address, -phone, -all', async () => {
        const scoped = async (scope: string) => claimsOf(await succeed({ scope }))
        const told = {
          name: 'Ann Lee',
          family_name: 'Lee',
          given_name: 'Ann',
          middle_name: 'Mary',
          nickname: 'Annie',
          preferred_username: 'ann',
          profile: 'https://example.com/ann',
          picture: 'https://example.com/ann.png',
          website: 'https://ann.example.com/',
          gender: 'female',
          birthdate: '1990-10-16',
          zoneinfo: 'Europe/Rome',
          locale: 'it-IT',
        }
        const before = provider.profile as object
        provider.profile = { ...before, id: 'ann-lee', ...told }
        const { sub, updated_at, ...profile } = await scoped('openid profile')
        assert.deepEqual(profile, told)
        assert.deepEqual([typeof sub, typeof updated_at], ['string', 'number'])
        provider.profile = before
        assert.equal((await succeed({ scope: 'openid email' })).claims['email'], undefined)
        const email = await scoped('openid email')
        assert.deepEqual(
          [email['email'], email['email_verified'], email['name']],
          ['ann@example.com', true, undefined],
        )
        // Not in scopes_supported, so the suite skips these: they are ignored.
        for (const scope of ['openid address', 'openid phone'])
          assert.deepEqual(Object.keys(await scoped(scope)), ['sub'])
        const all = await scoped('openid address email phone profile')
        assert.deepEqual([all['name'], all['email']], ['Ann', 'ann@example.com'])
      })

      test('oidcc-alternate-happy-flow', async () => {
        const url = ask({ scope: 'email profile openid' })
        url.search = new URLSearchParams([...url.searchParams].toReversed()).toString()
        const { answer } = await visit(service, new Browser(), url)
        const { claims } = await exchangeCode(service, answer['code'])
        assert.equal(claims['email'], undefined, 'only userinfo was asked for it')
      })

      test('oidcc-ensure-request-with-acr-values-succeeds: acr is one of the values', async () => {
        const { acr_values_supported: values } = (await metadataOf()) as { acr_values_supported: string[] }
        assert.deepEqual(values, ['0'])
        assert.equal((await succeed({ acr_values: values.join(' ') })).claims['acr'], '0')
        provider.profile = { ...(provider.profile as object), acr: 'silver' }
        assert.equal((await succeed({ acr_values: 'gold silver' })).claims['acr'], 'silver')
      })

      test('oidcc-display-*, -ui-locales, -claims-locales, -login-hint, -unknown-parameter', async () => {
        for (const more of [
          { display: 'page' },
          { display: 'popup' },
          { ui_locales: 'se' },
          { claims_locales: 'se' },
          { login_hint: 'buffy@example.com' },
          { extra: 'foobar' },
        ])
          await succeed(more)
      })

      test('oidcc-claims-essential', async () => {
        const tokens = await succeed({ claims: JSON.stringify({ userinfo: { name: { essential: true } } }) })
        assert.deepEqual(await claimsOf(tokens), { sub: tokens.claims.sub, name: 'Ann' })
        assert.equal(tokens.claims['name'], undefined)
      })

      test('oidcc-prompt-login', async () => {
        const browser = new Browser()
        const first = await succeed({}, browser)
        shift += 1000
        const { answer, signedIn } = await go(browser, { prompt: 'login' })
        assert.equal(signedIn, true)
        const second = await exchangeCode(service, answer['code'])
        assert.ok(Number(second.claims['auth_time']) > Number(first.claims['auth_time']))
      })

      test('oidcc-prompt-none-not-logged-in', async () => {
        const { answer, signedIn } = await go(new Browser(), { prompt: 'none' })
        assert.deepEqual([answer['error'], signedIn], ['login_required', false])
      })

      test('oidcc-prompt-none-logged-in, oidcc-id-token-hint, oidcc-max-age-10000', async () => {
        const browser = new Browser()
        const first = await succeed({ max_age: '15000' }, browser)
        for (const more of [
          { prompt: 'none' },
          { prompt: 'none', id_token_hint: first.idToken },
          { max_age: '10000' },
        ]) {
          const { answer, signedIn } = await go(browser, more)
          assert.equal(signedIn, false)
          const { claims } = await exchangeCode(service, answer['code'])
          assert.deepEqual([claims.sub, claims['auth_time']], [first.claims.sub, first.claims['auth_time']])
        }
      })

      test('oidcc-max-age-1', async () => {
        const browser = new Browser()
        const first = await succeed({}, browser)
        shift += 2000
        const { answer, signedIn } = await go(browser, { max_age: '1' })
        assert.equal(signedIn, true)
        const second = await exchangeCode(service, answer['code'])
        assert.ok(Number(second.claims['auth_time']) > Number(first.claims['auth_time']))
      })

      test('oidcc-codereuse, oidcc-codereuse-30seconds', async () => {
        const { answer } = await go(new Browser())
        const tokens = await exchangeCode(service, answer['code'])
        shift += 30_000
        const fields = { grant_type: 'authorization_code', code: answer['code']!, redirect_uri: callback }
        const { status, body } = await token(service, fields, basic('suite'))
        assert.deepEqual([status, body['error']], [400, 'invalid_grant'])
        assert.equal((await userinfo(service, bearer(tokens))).status, 401)
      })

      test('oidcc-ensure-registered-redirect-uri, with a path, a suffix and a query added', async () => {
        for (const redirect of [`${callback}/more`, `${callback}2`, `${callback}?foo=bar`, `${callback}#x`]) {
          const url = ask({ redirect_uri: redirect })
          const { status, answer, page } = await visit(service, new Browser(), url, {
            headers: { accept: 'text/html' },
          })
          assert.deepEqual([status, answer], [400, {}])
          assert.match(page, /redirect_uri/)
        }
      })

      test('oidcc-ensure-post-request-succeeds', async () => {
        const { origin, pathname, searchParams } = ask()
        const posted = await visit(service, new Browser(), new URL(pathname, origin), {
          method: 'POST',
          body: searchParams,
        })
        await exchangeCode(service, posted.answer['code'])
      })

      test('oidcc-server-client-secret-post', async () => {
        const { answer } = await go(new Browser())
        const fields = { grant_type: 'authorization_code', code: answer['code']!, redirect_uri: callback }
        const post = { ...fields, client_id: 'suite', client_secret: secret }
        const { status, body } = await token(service, post)
        assert.equal(status, 200)
        await tokensOfBody(service, body)
      })

      test('oidcc-request-uri-unsigned-…, oidcc-unsigned-request-object-…: refused as not supported', async () => {
        const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`
        for (const [more, error] of [
          [{ request: unsigned }, 'request_not_supported'],
          [{ request_uri: 'https://app.example.com/request.jwt' }, 'request_uri_not_supported'],
        ] as const)
          assert.equal((await go(new Browser(), more)).answer['error'], error)
      })

      test('the error about a request object is posted if the object alone says response_mode=form_post', async () => {
        const claims = { response_mode: 'form_post', state: 'of-the-object', scope: 'openid' }
        const object = Buffer.from(JSON.stringify(claims)).toString('base64url')
        const url = ask({ request: `e30.${object}.`, state: undefined, response_mode: undefined })
        const answer = await new Browser().go(url)
        const page = await answer.text()
        assert.equal(answer.status, 200, page)
        assert.match(page, new RegExp(`<form method="post" action="${callback}">`))
        assert.match(page, /name="error" value="request_not_supported"/)
        assert.match(page, /name="state" value="of-the-object"/)
        for (const broken of ['e30', 'e30.e.', `e30.${'A'.repeat(9000)}.`, 'e30.bnVsbA.'])
          assert.equal(
            (await go(new Browser(), { request: broken })).answer['error'],
            'request_not_supported',
          )
      })

      test('oidcc-ensure-request-object-with-redirect-uri: the wrong URI beside it gets a page', async () => {
        const object = Buffer.from(JSON.stringify({ redirect_uri: callback })).toString('base64url')
        const url = ask({ redirect_uri: 'https://other.example.com/', request: `e30.${object}.` })
        const { status, answer } = await visit(service, new Browser(), url)
        assert.deepEqual([status, answer], [400, {}])
      })

      test('oidcc-refresh-token', async () => {
        const first = await succeed({ scope: 'openid' })
        const refresh = (refreshToken: string, clientId: string) =>
          token(
            service,
            { grant_type: 'refresh_token', refresh_token: refreshToken, scope: 'openid' },
            basic(clientId),
          )
        shift += 1000
        const { status, body } = await refresh(first.refresh, 'suite')
        assert.equal(status, 200)
        const second = await tokensOfBody(service, body)
        for (const name of ['iss', 'sub', 'aud', 'auth_time'])
          assert.deepEqual(second.claims[name], first.claims[name], name)
        assert.ok(second.claims.iat! > first.claims.iat!)
        assert.equal(second.claims['nonce'], undefined)
        await claimsOf(second)
        const foreign = await refresh(second.refresh, 'suite-2')
        assert.deepEqual([foreign.status, foreign.body['error']], [400, 'invalid_grant'])
      })

      test('oidcc-ensure-request-with-valid-pkce-succeeds', async () => {
        const { verifier, challenge } = newPkce()
        const { answer } = await go(new Browser(), {
          code_challenge: challenge,
          code_challenge_method: 'S256',
        })
        await exchangeCode(service, answer['code'], { code_verifier: verifier })
      })
    })

  test('oidcc-discovery-endpoint-verification', async () => {
    const response = await service.fetch('/.well-known/openid-configuration')
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8')
    const metadata = await metadataOf()
    const list = (name: string): unknown[] => {
      assert.ok(Array.isArray(metadata[name]), name)
      return metadata[name]
    }
    assert.equal(metadata['issuer'], service.baseUrl)
    assert.deepEqual(list('response_types_supported'), ['code'])
    assert.deepEqual(list('subject_types_supported'), ['public'])
    assert.ok(list('id_token_signing_alg_values_supported').includes('RS256'))
    assert.ok(list('grant_types_supported').includes('refresh_token'))
    assert.ok(list('scopes_supported').includes('openid'))
    assert.ok(list('claims_supported').includes('sub'))
    assert.deepEqual(list('code_challenge_methods_supported'), ['S256'])
    for (const name of ['request_parameter', 'request_uri_parameter'])
      assert.equal(metadata[`${name}_supported`], false)
    assert.equal(metadata['claims_parameter_supported'], true)
    const keys = await service.fetch(new URL(String(metadata['jwks_uri'])).pathname)
    const { keys: published } = (await keys.json()) as { keys: Record<string, string>[] }
    assert.ok(published.some(({ kty }) => kty === 'RSA'))
    for (const key of published) {
      assert.ok(key['kid'])
      assert.deepEqual([key['d'], key['use']], [undefined, 'sig'])
    }
  })
})
