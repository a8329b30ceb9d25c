// What providers do in their own way, beside a sign-in that goes well (providers.test.ts).
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, afterEach, before, describe, test } from 'node:test'
import { Browser } from '#test/harness/browser.ts'
import { engines } from '#test/harness/engines.ts'
import {
  accessToken,
  client,
  startShapedProvider,
  type Reply,
  type Shape,
  type ShapedProvider,
} from '#test/harness/shaped-provider.ts'
import { startTestService, type TestService } from '#test/harness/service.ts'
import { counts, whoAmI } from './harness.ts'
import { objectId, providerCases, tenant } from './provider-shapes.ts'
import { finish, identityOf, signInShaped, toAnswer } from './shaped-sign-in.ts'

const personalTenant = '9188040d-6c67-4c5b-b112-36a304b66dad'

describe('what providers do in their own way', () => {
  const providers = new Map<string, ShapedProvider>()
  let service: TestService
  /** Instances, each with the case that it is one of and what more is set for it. */
  const instances: [name: string, preset: string, more: Record<string, string>][] = [
    ['github', 'github', {}],
    ['google', 'google', {}],
    ['workspace', 'google', { HOSTED_DOMAIN: 'example.com' }],
    ['anyspace', 'google', { HOSTED_DOMAIN: '*' }],
    ['microsoft', 'microsoft', {}],
    ['work', 'microsoft', { TENANT: 'organizations' }],
    ['home', 'microsoft', { TENANT: 'consumers' }],
    ['one', 'microsoft', { TENANT: tenant }],
    ['apple', 'apple', { CLIENT_SECRET: client.secret }],
    ['facebook', 'facebook', {}],
    ['gitlab', 'gitlab', {}],
    ['slack', 'slack', {}],
    ['team', 'slack', { TEAM: 'T123ABC456' }],
    ['linkedin', 'linkedin', {}],
    ['x', 'x', {}],
    ['twitch', 'twitch', {}],
    ['bitbucket', 'bitbucket', {}],
    ['notion', 'notion', {}],
    ['dropbox', 'dropbox', {}],
    ['discord', 'discord', {}],
  ]
  const originals = new Map<string, Shape>()
  before(async () => {
    const env: Record<string, string> = {}
    for (const [name, preset, more] of instances) {
      const { shape, env: addresses } = providerCases[preset]!
      const provider = await startShapedProvider(shape)
      providers.set(name, provider)
      originals.set(name, shape)
      const prefix = name.toUpperCase()
      Object.assign(env, addresses(provider.url, prefix), {
        [`${prefix}_CLIENT_ID`]: client.id,
        [`${prefix}_CLIENT_SECRET`]: client.secret,
      })
      if (name !== preset) env[`${prefix}_PRESET`] = preset
      for (const [key, value] of Object.entries(more)) env[`${prefix}_${key}`] = value
    }
    service = await startTestService(engines[0]!, { env })
  })
  afterEach(() => {
    for (const [name, shape] of originals) {
      const provider = providers.get(name)!
      provider.shape = shape
      provider.requests.length = 0
    }
  })
  after(async () => {
    await service.close()
    for (const provider of providers.values()) await provider.close()
  })

  /** Changes what a provider does, for this test. */
  const change = (name: string, more: Partial<Shape>): ShapedProvider => {
    const provider = providers.get(name)!
    provider.shape = { ...provider.shape, ...more }
    return provider
  }
  const api = (name: string, calls: Record<string, () => Reply>): ShapedProvider =>
    change(name, { api: { ...originals.get(name)!.api, ...calls } })
  /** Where a sign-in by a changed provider ends: '/dashboard', or the failure's code. */
  const outcome = async (name: string, browser = new Browser()): Promise<string> => {
    const target = new URL(await signInShaped(service, browser, name), service.baseUrl)
    return target.searchParams.get('error') ?? target.pathname
  }

  describe('GitHub', () => {
    for (const status of [401, 403, 404]) {
      test(`the list of addresses answered with ${status}: signed in with the public address, unverified`, async () => {
        api('github', { 'GET /user/emails': () => ({ status, json: { message: 'Not Found' } }) })
        assert.equal(await outcome('github'), '/dashboard')
        const { email, verified } = await identityOf(service, 'github')
        assert.deepEqual({ email, verified }, { email: 'public@example.com', verified: false })
      })
    }

    test('a primary address that is not verified does not count as verified', async () => {
      const list = [
        { email: 'new@example.com', primary: true, verified: false },
        { email: 'old@example.com', primary: false, verified: true },
      ]
      api('github', { 'GET /user/emails': () => ({ json: list }) })
      assert.equal(await outcome('github'), '/dashboard')
      const { email, verified } = await identityOf(service, 'github')
      assert.deepEqual({ email, verified }, { email: 'new@example.com', verified: false })
    })

    test('the id is kept digit by digit, and the login stands in for the name', async () => {
      const text = '{"id":9007199254740993,"login":"big","name":null,"email":null}'
      api('github', { 'GET /user': () => ({ text, headers: { 'content-type': 'application/json' } }) })
      assert.equal(await outcome('github'), '/dashboard')
      const { providerId, name } = await identityOf(service, 'github')
      assert.deepEqual({ providerId, name }, { providerId: '9007199254740993', name: 'big' })
    })

    test('every call names who makes it', async () => {
      assert.equal(await outcome('github'), '/dashboard')
      const calls = providers
        .get('github')!
        .requests.filter(({ url }) => url.pathname !== '/login/oauth/authorize')
      assert.equal(calls.length, 3)
      for (const { headers } of calls) assert.equal(headers['user-agent'], 'postern')
    })
  })

  test('GitHub’s own address: an answer without its issuer fails, and the code is not sent', async () => {
    const provider = await startShapedProvider(providerCases['github']!.shape)
    const env = {
      GITHUB_CLIENT_ID: client.id,
      GITHUB_CLIENT_SECRET: client.secret,
      GITHUB_TOKEN_URL: `${provider.url}/login/oauth/access_token`,
      GITHUB_PROFILE_URL: `${provider.url}/user`,
    }
    const strict = await startTestService(engines[0]!, { env })
    try {
      for (const iss of [undefined, 'https://github.com', 'https://evil.example/login/oauth']) {
        const browser = new Browser()
        const start = await browser.go(new URL('/auth/github', strict.baseUrl))
        const asked = new URL(start.headers.get('location')!)
        assert.equal(asked.origin + asked.pathname, 'https://github.com/login/oauth/authorize')
        const state = asked.searchParams.get('state')!
        const query = new URLSearchParams({ code: 'c', state, ...(iss !== undefined && { iss }) }).toString()
        const callback = new URL(`/auth/github/callback?${query}`, strict.baseUrl)
        assert.match(await finish(strict, browser, callback), /^\/login\?error=provider-answer-invalid&/)
      }
      assert.equal(provider.requests.length, 0)
    } finally {
      await strict.close()
      await provider.close()
    }
  })

  describe('Google', () => {
    test('tokens that name the issuer without https:// are its own; of another name they are not', async () => {
      // Only Google's real issuer has the short name, so the rule itself is tried in presets.test.ts.
      change('google', { tokenIssuer: () => 'accounts.google.com' })
      assert.equal(await outcome('google'), 'provider-answer-invalid')
    })

    const domains: [string, string, string | undefined, string][] = [
      ['workspace', 'the domain asked for', 'example.com', '/dashboard'],
      ['workspace', 'another domain', 'evil.example', 'account-not-admitted'],
      ['workspace', 'no domain (gmail.com)', undefined, 'account-not-admitted'],
      ['anyspace', 'any domain', 'other.example', '/dashboard'],
      ['anyspace', 'no domain (gmail.com)', undefined, 'account-not-admitted'],
      ['google', 'no domain (gmail.com)', undefined, '/dashboard'],
    ]
    for (const [name, account, hd, end] of domains) {
      test(`${name}: an account of ${account} ends at ${end}`, async () => {
        const before = await counts(service)
        change(name, { claims: { sub: 'g-1', ...(hd !== undefined && { hd }) } })
        api(name, { 'GET /v1/userinfo': () => ({ json: { sub: 'g-1', name: 'G' } }) })
        assert.equal(await outcome(name), end)
        if (end !== '/dashboard') assert.deepEqual(await counts(service), before)
      })
    }

    test('the domain is also asked for, and every instance of a preset has its own callback', async () => {
      const location = (await service.fetch('/auth/workspace')).headers.get('location')!
      const { searchParams } = new URL(location)
      assert.equal(searchParams.get('hd'), 'example.com')
      assert.equal(searchParams.get('redirect_uri'), `${service.baseUrl}/auth/workspace/callback`)
    })
  })

  describe('Microsoft', () => {
    const claims = { sub: 'pairwise', tid: tenant, oid: objectId, email: 'a@example.com', name: 'A' }
    const personal = { ...claims, tid: personalTenant }
    const inTenant = (tid: string) => ({ tokenIssuer: (url: string) => `${url}/${tid}/v2.0` })

    const people: [string, string, Record<string, unknown>, string, string][] = [
      ['microsoft', 'a work account', claims, tenant, '/dashboard'],
      ['microsoft', 'a personal account', personal, personalTenant, '/dashboard'],
      ['work', 'a work account', claims, tenant, '/dashboard'],
      ['work', 'a personal account', personal, personalTenant, 'account-not-admitted'],
      ['home', 'a personal account', personal, personalTenant, '/dashboard'],
      ['home', 'a work account', claims, tenant, 'account-not-admitted'],
      ['one', 'the tenant', claims, tenant, '/dashboard'],
      ['one', 'a personal account', personal, personalTenant, 'account-not-admitted'],
      [
        'microsoft',
        'an account that names another tenant than its issuer',
        claims,
        personalTenant,
        'provider-answer-invalid',
      ],
      ['microsoft', 'no tenant', { ...claims, tid: undefined }, tenant, 'provider-answer-invalid'],
      [
        'microsoft',
        'a tenant that is no id',
        { ...claims, tid: '../common' },
        '../common',
        'provider-answer-invalid',
      ],
      ['microsoft', 'no object id', { ...claims, oid: undefined }, tenant, 'account-not-admitted'],
    ]
    for (const [name, person, its, tid, end] of people) {
      test(`${name}: ${person} ends at ${end}`, async () => {
        change(name, { claims: its, ...inTenant(tid) })
        assert.equal(await outcome(name), end)
      })
    }

    test('a person is the pair of tenant and object id: the same object id elsewhere is somebody else', async () => {
      const ids = []
      for (const tid of [tenant, personalTenant, tenant]) {
        const browser = new Browser()
        change('microsoft', { claims: { ...claims, tid }, ...inTenant(tid) })
        assert.equal(await outcome('microsoft', browser), '/dashboard')
        ids.push((await whoAmI(service, browser))!.id)
      }
      assert.equal(ids[0], ids[2])
      assert.notEqual(ids[0], ids[1])
    })

    const addresses: [string, Record<string, unknown>, boolean][] = [
      ['the address alone', {}, false],
      ['email_verified, which Microsoft does not send', { email_verified: true }, false],
      ['the domain owner verified', { xms_edov: true }, true],
      ['the domain owner verified, as a text', { xms_edov: '1' }, true],
      ['the domain owner not verified', { xms_edov: false }, false],
      ['the domain owner not verified, as a text', { xms_edov: '0' }, false],
      ['a verified primary address', { verified_primary_email: ['a@example.com'] }, true],
      ['another verified primary address', { verified_primary_email: ['b@example.com'] }, false],
    ]
    for (const [what, more, verified] of addresses) {
      test(`an address with ${what} is ${verified ? '' : 'not '}verified`, async () => {
        change('microsoft', { claims: { ...claims, ...more } })
        assert.equal(await outcome('microsoft'), '/dashboard')
        assert.equal((await identityOf(service, 'microsoft')).verified, verified)
      })
    }

    test('in a tenant of one’s own its administrator answers for the addresses', async () => {
      change('one', { claims })
      assert.equal(await outcome('one'), '/dashboard')
      assert.equal((await identityOf(service, 'one')).verified, true)
    })

    test('the endpoint of Graph is not asked: the id_token knows more', async () => {
      assert.equal(await outcome('microsoft'), '/dashboard')
      assert.equal(providers.get('microsoft')!.to('/oidc/userinfo').length, 0)
    })
  })

  describe('Apple', () => {
    const begin = async (browser: Browser): Promise<string> =>
      (await browser.go(new URL('/auth/apple', service.baseUrl))).headers.get('location')!
    const post = (fields: Record<string, string> | string): Promise<Response> =>
      service.fetch('/auth/apple/callback', { method: 'POST', body: new URLSearchParams(fields) })

    test('the name comes at the first sign-in only, and stays', async () => {
      const browser = new Browser()
      assert.equal(await outcome('apple', browser), '/dashboard')
      change('apple', { form: () => ({}) })
      assert.equal(await outcome('apple', browser), '/dashboard')
      assert.equal((await identityOf(service, 'apple')).name, 'Ada Lovelace')
      assert.equal((await whoAmI(service, browser))!.name, 'Ada Lovelace')
    })

    test('the POST itself decides nothing: without the cookie the GET that it leads to fails', async () => {
      const callback = await toAnswer(await begin(new Browser()))
      const target = await finish(service, new Browser(), callback)
      assert.match(target, /^\/login\?error=sign-in-expired&/)
      assert.equal(providers.get('apple')!.to('/auth/token').length, 0)
    })

    test('of the form only state, code, error, iss and the name go on; an id_token in it is not looked at', async () => {
      const state = 'S'.repeat(43)
      const user = JSON.stringify({ name: { firstName: 'A', lastName: 7 }, email: 'evil@example.com' })
      const answer = await post({ state, code: 'c', id_token: 'x.y.z', scope: 'admin', user })
      assert.equal(answer.status, 303)
      assert.equal(answer.headers.get('location'), `/auth/apple/callback?state=${state}&code=c&name=A`)
      assert.equal(answer.headers.getSetCookie().length, 0)
    })

    const shapes: [string, Record<string, string> | string, number][] = [
      ['no state', { code: 'c' }, 400],
      ['a state of another form', { state: 'x', code: 'c' }, 400],
      ['a state with a line break', { state: `${'S'.repeat(42)}\n`, code: 'c' }, 400],
      ['two states', `state=${'S'.repeat(43)}&state=${'T'.repeat(43)}&code=c`, 400],
      ['a code without end', { state: 'S'.repeat(43), code: 'c'.repeat(5_000) }, 400],
      ['more than 16 KiB', { state: 'S'.repeat(43), junk: 'c'.repeat(20_000) }, 413],
    ]
    for (const [what, fields, status] of shapes) {
      test(`a form with ${what} goes no further`, async () => {
        assert.equal((await post(fields)).status, status)
      })
    }

    for (const user of ['{', '[]', '7', '{"name":"x"}', '{"name":{"firstName":{"a":1}}}', '{"name":null}']) {
      test(`a user field of ${user} is no name, and no failure`, async () => {
        const answer = await post({ state: 'S'.repeat(43), code: 'c', user })
        assert.equal(new URL(answer.headers.get('location')!, service.baseUrl).searchParams.get('name'), null)
      })
    }

    test('a cancelled sign-in comes back as a form too', async () => {
      const browser = new Browser()
      const state = new URL(await begin(browser)).searchParams.get('state')!
      const led = await post({ state, error: 'user_cancelled_authorize' })
      const target = await finish(service, browser, new URL(led.headers.get('location')!, service.baseUrl))
      assert.match(target, /^\/login\?error=access-denied&/)
    })

    test('a form from another provider is not led on', async () => {
      const init = { method: 'POST', body: new URLSearchParams({ state: 'S'.repeat(43), code: 'c' }) }
      assert.equal((await service.fetch('/auth/github/callback', init)).status, 404)
      assert.equal((await service.fetch('/auth/nobody/callback', init)).status, 404)
    })

    for (const [flag, verified] of [
      ['true', true],
      [true, true],
      ['false', false],
      [1, false],
    ] as const) {
      test(`email_verified of ${JSON.stringify(flag)} means ${verified}`, async () => {
        change('apple', { claims: { sub: '1.2.3', email: 'a@example.com', email_verified: flag } })
        assert.equal(await outcome('apple'), '/dashboard')
        assert.equal((await identityOf(service, 'apple')).verified, verified)
      })
    }
  })

  test('Facebook: the profile is asked for with a proof of the secret and for the fields that are needed', async () => {
    assert.equal(await outcome('facebook'), '/dashboard')
    const [call] = providers.get('facebook')!.to('/v24.0/me')
    const proof = createHmac('sha256', client.secret).update(accessToken).digest('hex')
    assert.equal(call!.url.searchParams.get('appsecret_proof'), proof)
    assert.equal(call!.url.searchParams.get('fields'), 'id,name,email')
  })

  test('GitLab: an address that was never confirmed is not verified', async () => {
    const user = { id: 2, username: 'u', name: null, email: 'u@example.com', confirmed_at: null }
    api('gitlab', { 'GET /api/v4/user': () => ({ json: user }) })
    assert.equal(await outcome('gitlab'), '/dashboard')
    const expected = { providerId: '2', name: 'u', email: 'u@example.com', verified: false }
    assert.deepEqual(await identityOf(service, 'gitlab'), expected)
  })

  describe('Slack', () => {
    test('a member of the workspace that is configured signs in, and it is asked for', async () => {
      assert.equal(await outcome('team'), '/dashboard')
      const [asked] = providers.get('team')!.to('/openid/connect/authorize')
      assert.equal(asked!.url.searchParams.get('team'), 'T123ABC456')
    })

    test('a member of another workspace does not, whatever the userinfo says', async () => {
      change('team', { claims: { sub: 'U123ABC456', 'https://slack.com/team_id': 'T999' } })
      assert.equal(await outcome('team'), 'account-not-admitted')
    })
  })

  test('LinkedIn: neither a verifier nor a nonce is sent, and a configured PKCE is', async () => {
    assert.equal(await outcome('linkedin'), '/dashboard')
    const provider = providers.get('linkedin')!
    const [asked] = provider.to('/oauth/v2/authorization')
    const [exchange] = provider.to('/oauth/v2/accessToken')
    for (const parameter of ['code_challenge', 'code_challenge_method', 'nonce'])
      assert.ok(!asked!.url.searchParams.has(parameter))
    assert.ok(!exchange!.form.has('code_verifier'))
  })

  describe('X', () => {
    test('a confirmed address is one; a user name is none', async () => {
      const data = { id: '1', username: 'ada@example.com', confirmed_email: 'ada@example.org' }
      api('x', { 'GET /2/users/me': () => ({ json: { data } }) })
      assert.equal(await outcome('x'), '/dashboard')
      const expected = { providerId: '1', name: 'ada@example.com', email: 'ada@example.org', verified: true }
      assert.deepEqual(await identityOf(service, 'x'), expected)
      api('x', { 'GET /2/users/me': () => ({ json: { data: { id: '1', username: 'ada@example.com' } } }) })
      assert.equal(await outcome('x'), '/dashboard')
      assert.equal((await identityOf(service, 'x')).email, null)
    })

    test('a token without the scope for the profile is a refusal', async () => {
      api('x', { 'GET /2/users/me': () => ({ status: 403, json: { title: 'Forbidden', detail: '<i>' } }) })
      assert.equal(await outcome('x'), 'provider-refused')
    })

    test('an answer without data is nobody', async () => {
      api('x', { 'GET /2/users/me': () => ({ json: { errors: [{ title: 'x' }] } }) })
      assert.equal(await outcome('x'), 'provider-answer-invalid')
    })
  })

  test('Twitch: nothing is asked beyond the id_token', async () => {
    assert.equal(await outcome('twitch'), '/dashboard')
    assert.equal(providers.get('twitch')!.to('/oauth2/userinfo').length, 0)
  })

  describe('Bitbucket', () => {
    test('an address that is not confirmed is not verified', async () => {
      const values = [{ email: 'erik@example.com', is_primary: true, is_confirmed: false }]
      api('bitbucket', { 'GET /2.0/user/emails': () => ({ json: { values } }) })
      assert.equal(await outcome('bitbucket'), '/dashboard')
      const { email, verified } = await identityOf(service, 'bitbucket')
      assert.deepEqual({ email, verified }, { email: 'erik@example.com', verified: false })
    })

    test('without the scope for addresses there is none', async () => {
      api('bitbucket', { 'GET /2.0/user/emails': () => ({ status: 403, json: { type: 'error' } }) })
      assert.equal(await outcome('bitbucket'), '/dashboard')
      assert.equal((await identityOf(service, 'bitbucket')).email, null)
    })
  })

  test('Notion: a bot that belongs to a workspace is nobody', async () => {
    const bot = {
      object: 'user',
      id: 'b',
      type: 'bot',
      bot: { owner: { type: 'workspace', workspace: true } },
    }
    api('notion', { 'GET /v1/users/me': () => ({ json: bot }) })
    assert.equal(await outcome('notion'), 'provider-answer-invalid')
  })

  describe('token responses', () => {
    const json = (body: unknown, status = 200): Partial<Shape> => ({ grant: () => ({ status, json: body }) })
    const answers: [string, string, Partial<Shape>, string][] = [
      ['discord', 'without a token_type', json({ access_token: accessToken }), '/dashboard'],
      [
        'discord',
        'with an odd token_type',
        json({ access_token: accessToken, token_type: 'user' }),
        '/dashboard',
      ],
      [
        'discord',
        'with an empty refresh token',
        json({ access_token: accessToken, token_type: 'Bearer', refresh_token: '' }),
        '/dashboard',
      ],
      [
        'discord',
        'with expires_in as a text and a null error',
        json({ access_token: accessToken, token_type: 'Bearer', expires_in: '3600', error: null }),
        '/dashboard',
      ],
      [
        'facebook',
        'as a form, like those of old versions',
        { grant: () => ({ text: `access_token=${accessToken}&expires=5183944` }) },
        '/dashboard',
      ],
      [
        'facebook',
        'with status 500',
        json({ error: { message: 'busy', code: 2 } }, 500),
        'provider-unavailable',
      ],
      [
        'discord',
        'with status 429',
        json({ message: 'You are being rate limited.' }, 429),
        'provider-unavailable',
      ],
      ['slack', 'of success without a token', json({ ok: true }), 'provider-refused'],
      [
        'google',
        'without an id_token',
        json({ access_token: accessToken, token_type: 'Bearer' }),
        'provider-answer-invalid',
      ],
      [
        'github',
        'with an error beside a token',
        json({ access_token: accessToken, error: 'x' }),
        'provider-refused',
      ],
    ]
    for (const [name, what, shape, end] of answers) {
      test(`${name}: one ${what} ends at ${end}`, async () => {
        change(name, shape)
        assert.equal(await outcome(name), end)
      })
    }
  })

  const profiles: [number, string][] = [
    [401, 'provider-refused'],
    [403, 'provider-refused'],
    [429, 'provider-unavailable'],
    [503, 'provider-unavailable'],
  ]
  for (const [status, end] of profiles) {
    test(`a profile answered with ${status} ends at ${end}`, async () => {
      const headers = { 'www-authenticate': 'Bearer error="invalid_token"' }
      api('discord', {
        'GET /api/users/@me': () => ({ status, json: {}, ...(status === 401 && { headers }) }),
      })
      assert.equal(await outcome('discord'), end)
    })
  }

  describe('answers without end', () => {
    const endless: Reply = { text: 'x'.repeat(10_000_000), headers: { 'content-type': 'application/json' } }

    test('a profile of 10 MB is not read to its end', async () => {
      api('discord', { 'GET /api/users/@me': () => endless })
      assert.equal(await outcome('discord'), 'provider-unavailable')
    })

    test('a further document of 10 MB is done without', async () => {
      api('github', { 'GET /user/emails': () => endless })
      assert.equal(await outcome('github'), '/dashboard')
    })

    test('a profile of HTML, of an array or of nothing is nobody', async () => {
      for (const reply of [{ text: '<html>' }, { json: [] }, { text: '' }, { json: null }]) {
        api('discord', { 'GET /api/users/@me': () => reply })
        assert.equal(await outcome('discord'), 'provider-answer-invalid')
      }
    })
  })

  describe('new keys', () => {
    test('people sign in right after a provider has changed its keys, many at once', async () => {
      for (const name of ['google', 'microsoft']) {
        const provider = providers.get(name)!
        assert.equal(await outcome(name), '/dashboard')
        for (let round = 0; round < 2; round += 1) {
          await provider.rotate()
          const ends = await Promise.all([outcome(name), outcome(name), outcome(name)])
          assert.deepEqual(ends, ['/dashboard', '/dashboard', '/dashboard'])
          assert.equal(await outcome(name), '/dashboard')
        }
        // Each code was sent once, however often the answer was looked at.
        const sent = provider.to(provider.shape.token).map(({ form }) => form.get('code'))
        assert.equal(new Set(sent).size, sent.length)
      }
    })

    test('the keys are not fetched for every sign-in', async () => {
      assert.equal(await outcome('google'), '/dashboard')
      const provider = providers.get('google')!
      provider.requests.length = 0
      for (let time = 0; time < 3; time += 1) assert.equal(await outcome('google'), '/dashboard')
      assert.equal(provider.to('/jwks').length, 0)
      assert.equal(provider.requests.filter(({ url }) => url.pathname.startsWith('/.well-known/')).length, 0)
    })

    test('with a tenant of its own in every token they are not, either', async () => {
      assert.equal(await outcome('microsoft'), '/dashboard')
      const provider = providers.get('microsoft')!
      provider.requests.length = 0
      assert.equal(await outcome('microsoft'), '/dashboard')
      assert.equal(provider.to('/jwks').length, 0)
    })
  })
})
