// What providers do in their own way, beside a sign-in that goes well (providers.test.ts).
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { afterEach, describe, test } from 'node:test'
import { Browser, engines, scoped, started, startTestService } from '#test/harness/index.ts'
import {
  accessToken,
  client,
  startShapedProvider,
  type Reply,
  type Shape,
} from '#test/harness/shaped-provider.ts'
import { counts, whoAmI } from './harness.ts'
import { providerCases } from './provider-shapes.ts'
import { startQuirks } from './quirks.ts'
import { finish, identityOf } from './shaped-sign-in.ts'

const quirks = started(() =>
  startQuirks([
    ['github', 'github'],
    ['google', 'google'],
    ['workspace', 'google', { HOSTED_DOMAIN: 'example.com' }],
    ['anyspace', 'google', { HOSTED_DOMAIN: '*' }],
    ['microsoft', 'microsoft'],
    ['slack', 'slack'],
    ['team', 'slack', { TEAM: 'T123ABC456' }],
    ['facebook', 'facebook'],
    ['gitlab', 'gitlab'],
    ['linkedin', 'linkedin'],
    ['x', 'x'],
    ['twitch', 'twitch'],
    ['bitbucket', 'bitbucket'],
    ['notion', 'notion'],
    ['discord', 'discord'],
  ]),
)
afterEach(() => quirks.reset())

describe('GitHub', () => {
  for (const status of [401, 403, 404]) {
    test(`if the list of addresses responds with ${status}, the public address is used, unverified`, async () => {
      quirks.api('github', { 'GET /user/emails': () => ({ status, json: { message: 'Not Found' } }) })
      assert.equal(await quirks.outcome('github'), '/dashboard')
      const { email, verified } = await identityOf(quirks.service, 'github')
      assert.deepEqual({ email, verified }, { email: 'public@example.com', verified: false })
    })
  }

  test('a list that cannot be read this time fails the sign-in, so that no address is lost', async () => {
    assert.equal(await quirks.outcome('github'), '/dashboard')
    const failing: Record<string, Reply> = {
      'too many calls': { status: 429, json: {} },
      'a server error': { status: 503, text: 'unavailable' },
      'a redirect': { status: 302, headers: { location: 'https://example.com/' } },
      "a rate limit with GitHub's status": {
        status: 403,
        headers: { 'x-ratelimit-remaining': '0' },
        json: {},
      },
      'a second rate limit of GitHub': { status: 403, headers: { 'retry-after': '60' }, json: {} },
      'broken JSON': { text: '[{"email":"octo', headers: { 'content-type': 'application/json' } },
    }
    for (const [what, reply] of Object.entries(failing)) {
      quirks.api('github', { 'GET /user/emails': () => reply })
      assert.equal(await quirks.outcome('github'), 'provider-unavailable', what)
    }
    quirks.api('github', { 'GET /user/emails': () => ({ json: { message: 'not a list' } }) })
    assert.equal(await quirks.outcome('github'), 'provider-answer-invalid')
    const { email, verified } = await identityOf(quirks.service, 'github')
    assert.deepEqual({ email, verified }, { email: 'octocat@example.com', verified: true })
  })

  test('a list that the token may not read any more leaves a verified address as it is', async () => {
    const id = '77'
    quirks.api('github', {
      'GET /user': () => ({ json: { id, login: 'late', email: 'public@example.com' } }),
    })
    assert.equal(await quirks.outcome('github'), '/dashboard')
    quirks.api('github', {
      'GET /user': () => ({ json: { id, login: 'late', email: 'public@example.com' } }),
      'GET /user/emails': () => ({ status: 403, json: { message: 'Forbidden' } }),
    })
    assert.equal(await quirks.outcome('github'), '/dashboard')
    const { providerId, email, verified } = await identityOf(quirks.service, 'github')
    assert.deepEqual(
      { providerId, email, verified },
      { providerId: id, email: 'octocat@example.com', verified: true },
    )
  })

  test('a primary address that is not verified does not count as verified', async () => {
    const list = [
      { email: 'new@example.com', primary: true, verified: false },
      { email: 'old@example.com', primary: false, verified: true },
    ]
    quirks.api('github', { 'GET /user/emails': () => ({ json: list }) })
    assert.equal(await quirks.outcome('github'), '/dashboard')
    const { email, verified } = await identityOf(quirks.service, 'github')
    assert.deepEqual({ email, verified }, { email: 'new@example.com', verified: false })
  })

  test('the id keeps all digits, and the login replaces a missing name', async () => {
    const text = '{"id":9007199254740993,"login":"big","name":null,"email":null}'
    quirks.api('github', { 'GET /user': () => ({ text, headers: { 'content-type': 'application/json' } }) })
    assert.equal(await quirks.outcome('github'), '/dashboard')
    const { providerId, name } = await identityOf(quirks.service, 'github')
    assert.deepEqual({ providerId, name }, { providerId: '9007199254740993', name: 'big' })
  })

  test('every request has a User-Agent', async () => {
    assert.equal(await quirks.outcome('github'), '/dashboard')
    const calls = quirks
      .provider('github')
      .requests.filter(({ url }) => url.pathname !== '/login/oauth/authorize')
    assert.equal(calls.length, 3)
    for (const { headers } of calls) assert.equal(headers['user-agent'], 'postern')
  })
})

test('github.com: a response without its issuer fails, and the code is not sent', async () => {
  await using provider = scoped(await startShapedProvider(providerCases['github']!.shape))
  const env = {
    GITHUB_CLIENT_ID: client.id,
    GITHUB_CLIENT_SECRET: client.secret,
    GITHUB_TOKEN_URL: `${provider.url}/login/oauth/access_token`,
    GITHUB_PROFILE_URL: `${provider.url}/user`,
  }
  await using strict = await startTestService(engines[0]!, { env })
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
})

describe('Google', () => {
  test('tokens with the issuer without https:// are accepted, others are not', async () => {
    // Only Google's real issuer has the short name, so the rule itself is tried in provider-client.test.ts.
    quirks.change('google', { tokenIssuer: () => 'accounts.google.com' })
    assert.equal(await quirks.outcome('google'), 'provider-answer-invalid')
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
      const before = await counts(quirks.service)
      quirks.change(name, { claims: { sub: 'g-1', ...(hd !== undefined && { hd }) } })
      quirks.api(name, { 'GET /v1/userinfo': () => ({ json: { sub: 'g-1', name: 'G' } }) })
      assert.equal(await quirks.outcome(name), end)
      if (end !== '/dashboard') assert.deepEqual(await counts(quirks.service), before)
    })
  }

  test('hd is sent, too, and every instance of a preset has its own callback', async () => {
    const location = (await quirks.service.fetch('/auth/workspace')).headers.get('location')!
    const { searchParams } = new URL(location)
    assert.equal(searchParams.get('hd'), 'example.com')
    assert.equal(searchParams.get('redirect_uri'), `${quirks.service.baseUrl}/auth/workspace/callback`)
  })
})

test('Facebook: the profile is requested with a proof of the secret and the needed fields', async () => {
  assert.equal(await quirks.outcome('facebook'), '/dashboard')
  const [call] = quirks.provider('facebook').to('/v24.0/me')
  const proof = createHmac('sha256', client.secret).update(accessToken).digest('hex')
  assert.equal(call!.url.searchParams.get('appsecret_proof'), proof)
  assert.equal(
    call!.url.searchParams.get('fields'),
    'id,name,first_name,middle_name,last_name,email,picture.type(large)',
  )
})

test('GitLab: an unconfirmed address is not verified', async () => {
  const user = { id: 2, username: 'u', name: null, email: 'u@example.com', confirmed_at: null }
  quirks.api('gitlab', { 'GET /api/v4/user': () => ({ json: user }) })
  assert.equal(await quirks.outcome('gitlab'), '/dashboard')
  const expected = { providerId: '2', name: 'u', email: 'u@example.com', verified: false }
  assert.deepEqual(await identityOf(quirks.service, 'gitlab'), expected)
})

describe('Slack', () => {
  test('a member of the configured workspace signs in, and the workspace is requested', async () => {
    assert.equal(await quirks.outcome('team'), '/dashboard')
    const [asked] = quirks.provider('team').to('/openid/connect/authorize')
    assert.equal(asked!.url.searchParams.get('team'), 'T123ABC456')
  })

  test('a member of another workspace is refused, regardless of the userinfo', async () => {
    quirks.change('team', { claims: { sub: 'U123ABC456', 'https://slack.com/team_id': 'T999' } })
    assert.equal(await quirks.outcome('team'), 'account-not-admitted')
  })

  test('the same user id in another workspace is another user', async () => {
    const ids = []
    for (const team of ['T1', 'T2', 'T1']) {
      const browser = new Browser()
      quirks.change('slack', { claims: { sub: 'U123ABC456', 'https://slack.com/team_id': team } })
      assert.equal(await quirks.outcome('slack', browser), '/dashboard')
      assert.equal((await identityOf(quirks.service, 'slack')).providerId, `${team}:U123ABC456`)
      ids.push((await whoAmI(quirks.service, browser))!.id)
    }
    assert.equal(ids[0], ids[2])
    assert.notEqual(ids[0], ids[1])
  })

  test('an id_token without a workspace is refused, regardless of the userinfo', async () => {
    for (const team of [undefined, '', 'T1:U1', 7]) {
      quirks.change('slack', { claims: { sub: 'U123ABC456', 'https://slack.com/team_id': team } })
      assert.equal(await quirks.outcome('slack'), 'provider-answer-invalid')
    }
  })
})

test('LinkedIn: neither a verifier nor a nonce is sent', async () => {
  assert.equal(await quirks.outcome('linkedin'), '/dashboard')
  const provider = quirks.provider('linkedin')
  const [asked] = provider.to('/oauth/v2/authorization')
  const [exchange] = provider.to('/oauth/v2/accessToken')
  for (const parameter of ['code_challenge', 'code_challenge_method', 'nonce'])
    assert.ok(!asked!.url.searchParams.has(parameter))
  assert.ok(!exchange!.form.has('code_verifier'))
})

describe('X', () => {
  test('a confirmed address is used, and a user name is not an address', async () => {
    const data = { id: '1', username: 'ada@example.com', confirmed_email: 'ada@example.org' }
    quirks.api('x', { 'GET /2/users/me': () => ({ json: { data } }) })
    assert.equal(await quirks.outcome('x'), '/dashboard')
    const expected = { providerId: '1', name: 'ada@example.com', email: 'ada@example.org', verified: true }
    assert.deepEqual(await identityOf(quirks.service, 'x'), expected)
    quirks.api('x', {
      'GET /2/users/me': () => ({ json: { data: { id: '2', username: 'ada@example.com' } } }),
    })
    assert.equal(await quirks.outcome('x'), '/dashboard')
    assert.equal((await identityOf(quirks.service, 'x')).email, null)
  })

  test('a token without the scope for the profile is refused', async () => {
    quirks.api('x', {
      'GET /2/users/me': () => ({ status: 403, json: { title: 'Forbidden', detail: '<i>' } }),
    })
    assert.equal(await quirks.outcome('x'), 'provider-refused')
  })

  test('a response without data signs nobody in', async () => {
    quirks.api('x', { 'GET /2/users/me': () => ({ json: { errors: [{ title: 'x' }] } }) })
    assert.equal(await quirks.outcome('x'), 'provider-answer-invalid')
  })
})

test('Twitch: only the id_token is used', async () => {
  assert.equal(await quirks.outcome('twitch'), '/dashboard')
  assert.equal(quirks.provider('twitch').to('/oauth2/userinfo').length, 0)
})

describe('Bitbucket', () => {
  test('an unconfirmed address is not verified', async () => {
    const values = [{ email: 'erik@example.com', is_primary: true, is_confirmed: false }]
    quirks.api('bitbucket', { 'GET /2.0/user/emails': () => ({ json: { values } }) })
    assert.equal(await quirks.outcome('bitbucket'), '/dashboard')
    const { email, verified } = await identityOf(quirks.service, 'bitbucket')
    assert.deepEqual({ email, verified }, { email: 'erik@example.com', verified: false })
  })

  test('a list that cannot be read this time fails the sign-in', async () => {
    for (const reply of [{ status: 503, json: {} }, { status: 429, json: {} }, { text: '{"values":[' }]) {
      quirks.api('bitbucket', { 'GET /2.0/user/emails': () => reply })
      assert.equal(await quirks.outcome('bitbucket'), 'provider-unavailable')
    }
  })

  test('without the scope for addresses there is no address', async () => {
    quirks.api('bitbucket', {
      'GET /2.0/user': () => ({ json: { uuid: '{another}', display_name: 'Another' } }),
      'GET /2.0/user/emails': () => ({ status: 403, json: { type: 'error' } }),
    })
    assert.equal(await quirks.outcome('bitbucket'), '/dashboard')
    assert.equal((await identityOf(quirks.service, 'bitbucket')).email, null)
  })
})

test('Notion: a bot of a workspace signs nobody in', async () => {
  const bot = {
    object: 'user',
    id: 'b',
    type: 'bot',
    bot: { owner: { type: 'workspace', workspace: true } },
  }
  quirks.api('notion', { 'GET /v1/users/me': () => ({ json: bot }) })
  assert.equal(await quirks.outcome('notion'), 'provider-answer-invalid')
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
      quirks.change(name, shape)
      assert.equal(await quirks.outcome(name), end)
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
  test(`a profile response with ${status} ends at ${end}`, async () => {
    const headers = { 'www-authenticate': 'Bearer error="invalid_token"' }
    quirks.api('discord', {
      'GET /api/users/@me': () => ({ status, json: {}, ...(status === 401 && { headers }) }),
    })
    assert.equal(await quirks.outcome('discord'), end)
  })
}

describe('endless responses', () => {
  const endless: Reply = { text: 'x'.repeat(10_000_000), headers: { 'content-type': 'application/json' } }

  test('a profile of 10 MB is not read completely', async () => {
    quirks.api('discord', { 'GET /api/users/@me': () => endless })
    assert.equal(await quirks.outcome('discord'), 'provider-unavailable')
  })

  test('an additional document of 10 MB is not read completely', async () => {
    quirks.api('github', { 'GET /user/emails': () => endless })
    assert.equal(await quirks.outcome('github'), 'provider-unavailable')
  })

  test('a profile that is HTML, an array or empty signs nobody in', async () => {
    for (const reply of [{ text: '<html>' }, { json: [] }, { text: '' }, { json: null }]) {
      quirks.api('discord', { 'GET /api/users/@me': () => reply })
      assert.equal(await quirks.outcome('discord'), 'provider-answer-invalid')
    }
  })
})

describe('new keys', () => {
  test("concurrent sign-ins succeed right after a change of the provider's keys", async () => {
    for (const name of ['google', 'microsoft']) {
      const provider = quirks.provider(name)
      assert.equal(await quirks.outcome(name), '/dashboard')
      for (let round = 0; round < 2; round += 1) {
        await provider.rotate()
        const ends = await Promise.all([quirks.outcome(name), quirks.outcome(name), quirks.outcome(name)])
        assert.deepEqual(ends, ['/dashboard', '/dashboard', '/dashboard'])
        assert.equal(await quirks.outcome(name), '/dashboard')
      }
      // Each code was sent once, however often the answer was looked at.
      const sent = provider.to(provider.shape.token).map(({ form }) => form.get('code'))
      assert.equal(new Set(sent).size, sent.length)
    }
  })

  test('the keys are not fetched for every sign-in', async () => {
    assert.equal(await quirks.outcome('google'), '/dashboard')
    const provider = quirks.provider('google')
    provider.requests.length = 0
    for (let time = 0; time < 3; time += 1) assert.equal(await quirks.outcome('google'), '/dashboard')
    assert.equal(provider.to('/jwks').length, 0)
    assert.equal(provider.requests.filter(({ url }) => url.pathname.startsWith('/.well-known/')).length, 0)
  })

  test('the keys are not fetched for every tenant, either', async () => {
    assert.equal(await quirks.outcome('microsoft'), '/dashboard')
    const provider = quirks.provider('microsoft')
    provider.requests.length = 0
    assert.equal(await quirks.outcome('microsoft'), '/dashboard')
    assert.equal(provider.to('/jwks').length, 0)
  })
})
