import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { systemClock } from '../../runtime/clock.ts'
import { ProviderClient } from './provider-client.ts'
import { resolveProvider } from '../providers/resolve-provider.ts'
import type { ProviderFetch } from './provider-server.ts'

let now = 0
let discoveries = 0
let answer: () => Promise<Response> = async () => Response.json(document)
const clock = { ...systemClock, now: () => now }
const issuer = 'https://id.example'
const document = {
  issuer,
  authorization_endpoint: `${issuer}/authorize?state=planted&audience=x`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/jwks`,
}

beforeEach(() => {
  now = 1_000_000
  discoveries = 0
  answer = async () => Response.json(document)
})

function startClient(fetch: ProviderFetch): ProviderClient {
  const provider = resolveProvider({ name: 'acme', clientId: 'id', clientSecret: 's', issuer })
  assert.ok('kind' in provider)
  return new ProviderClient({ provider, fetch, allowPrivateNetwork: false, clock })
}

const counting: ProviderFetch = () => {
  discoveries += 1
  return answer()
}

const begin = (client: ProviderClient): Promise<URL> =>
  client.authorizationUrl({
    redirectUri: 'https://gate.example/auth/acme/callback',
    state: 'ours',
    challenge: undefined,
    nonce: undefined,
  })

test('a choice of the account is asked for by a prompt that the provider knows', async () => {
  const demands = {
    reauthenticate: false,
    secondFactor: false,
    acrValues: [],
    selectAccount: true,
    loginHint: undefined,
  }
  const promptOf = async (supported: unknown): Promise<string | null> => {
    answer = async () => Response.json({ ...document, prompt_values_supported: supported })
    const client = startClient(counting)
    const redirectUri = 'https://gate.example/auth/acme/callback'
    const request = { redirectUri, state: 'ours', challenge: undefined, nonce: undefined, demands }
    return (await client.authorizationUrl(request)).searchParams.get('prompt')
  }
  assert.equal(await promptOf(undefined), 'select_account')
  assert.equal(await promptOf(['none', 'login', 'select_account']), 'select_account')
  assert.equal(await promptOf(['none', 'login', 'consent']), 'login', 'Keycloak 26')
  assert.equal(await promptOf(['none']), 'select_account')
})

test('discovery happens at the first sign-in, once for concurrent sign-ins', async () => {
  const client = startClient(counting)
  assert.equal(discoveries, 0)
  await Promise.all([begin(client), begin(client), begin(client)])
  await begin(client)
  assert.equal(discoveries, 1)
})

test('a built-in provider is loaded before its discovery, because loading exceeds the request timeout', async () => {
  const provider = resolveProvider({ name: 'acme', clientId: 'id', clientSecret: 's', issuer })
  assert.ok('kind' in provider && provider.kind === 'openid')
  const steps: string[] = []
  const loaded = async (): Promise<void> => {
    await new Promise(setImmediate)
    steps.push('loaded')
  }
  const fetch: ProviderFetch = () => {
    steps.push('asked')
    return answer()
  }
  const parts = { fetch, allowPrivateNetwork: false, clock }
  await begin(new ProviderClient({ ...parts, provider: { ...provider, loaded } }))
  assert.deepEqual(steps, ['loaded', 'asked'])
})

test('parameters of the flow are removed from a discovered address', async () => {
  const { searchParams } = await begin(startClient(counting))
  assert.deepEqual(searchParams.getAll('state'), ['ours'])
  assert.equal(searchParams.get('audience'), 'x')
})

test('a failed discovery is retried after five seconds', async () => {
  const client = startClient(counting)
  answer = async () => {
    throw new TypeError('fetch failed')
  }
  for (let time = 0; time < 3; time += 1) await assert.rejects(begin(client), { name: 'DiscoveryFailed' })
  assert.equal(discoveries, 1)
  answer = async () => Response.json(document)
  now += 4_999
  await assert.rejects(begin(client))
  now += 1
  await begin(client)
  assert.equal(discoveries, 2)
})

test('the document is read again after one hour; if that fails, the old one stays in use', async () => {
  const client = startClient(counting)
  await begin(client)
  now += 3_600_000 - 1
  await begin(client)
  assert.equal(discoveries, 1)
  now += 1
  answer = async () => new Response('busy', { status: 503 })
  assert.equal((await begin(client)).pathname, '/authorize')
  assert.equal((await begin(client)).pathname, '/authorize')
  assert.equal(discoveries, 2)
  now += 60_000
  answer = async () => Response.json({ ...document, authorization_endpoint: `${issuer}/moved` })
  assert.equal((await begin(client)).pathname, '/moved')
  assert.equal(discoveries, 3)
})

test('Google: the response has the full issuer, and the id_token the short one', async () => {
  const google = 'https://accounts.google.com'
  const provider = resolveProvider({ name: 'google', clientId: 'id', clientSecret: 's' })
  assert.ok('kind' in provider)
  const { publicKey, privateKey } = await generateKeyPair('RS256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'RS256', use: 'sig' }
  const seconds = Math.floor(Date.now() / 1000)
  const idTokenOf = (tokenIssuer: string): Promise<string> =>
    new SignJWT({ sub: 'g-1', nonce: 'n', email: 'g@x.example', email_verified: true })
      .setProtectedHeader({ alg: 'RS256', kid: 'k' })
      .setIssuer(tokenIssuer)
      .setAudience('id')
      .setIssuedAt(seconds)
      .setExpirationTime(seconds + 300)
      .sign(privateKey)
  const tokens = {
    access_token: 'at',
    token_type: 'Bearer',
    id_token: await idTokenOf('accounts.google.com'),
  }
  const answers: Record<string, unknown> = {
    [`${google}/.well-known/openid-configuration`]: {
      ...document,
      issuer: google,
      authorization_response_iss_parameter_supported: true,
    },
    [document.token_endpoint]: tokens,
    [document.jwks_uri]: { keys: [jwk] },
  }
  const fetch: ProviderFetch = async (url) => Response.json(answers[url])
  const client = new ProviderClient({ provider, fetch, allowPrivateNetwork: false, clock: systemClock })
  for (const isError of [false, true]) {
    await client.checkIssuer({ issuer: google, isError })
    for (const issuer of ['https://accounts.google.com.evil.example', 'https://id.example', undefined])
      await assert.rejects(client.checkIssuer({ issuer, isError }), /issuer/)
  }
  const url = new URL('https://gate.example/auth/google/callback?code=c&state=s')
  const identify = () => client.identity({ url, state: 's', verifier: undefined, nonce: 'n' })
  const { identity } = await identify()
  assert.deepEqual([identity.providerId, identity.emailVerified], ['g-1', true])
  for (const forged of ['accounts.google.com.evil.example', 'https://accounts.google.com.evil.example']) {
    tokens.id_token = await idTokenOf(forged)
    await assert.rejects(identify(), forged)
  }
})

test('the provider’s own sign-out has the client id, and is off by default', async () => {
  const endSession = async (settings: object, endpoint: unknown): Promise<string | undefined> => {
    const provider = resolveProvider({ name: 'acme', clientId: 'id', clientSecret: 's', issuer, ...settings })
    assert.ok('kind' in provider)
    answer = async () => Response.json({ ...document, end_session_endpoint: endpoint })
    const client = new ProviderClient({ provider, fetch: counting, allowPrivateNetwork: false, clock })
    const request = { postLogoutRedirectUri: 'https://gate.example/out?a=1', state: 'x&y' }
    return (await client.endSessionUrl(request))?.href
  }
  const there = `${issuer}/logout?client_id=planted&realm=a`
  assert.equal(
    await endSession({ endSession: true }, there),
    `${issuer}/logout?client_id=id&realm=a&post_logout_redirect_uri=https%3A%2F%2Fgate.example%2Fout%3Fa%3D1&state=x%26y`,
  )
  assert.equal(await endSession({}, there), undefined)
  for (const unusable of [undefined, 7, 'no address', 'javascript:alert(1)', 'http://id.example/logout'])
    assert.equal(await endSession({ endSession: true }, unusable), undefined, String(unusable))
  const oauth = {
    endSession: true,
    issuer: undefined,
    authUrl: `${issuer}/a`,
    tokenUrl: `${issuer}/t`,
    profileUrl: `${issuer}/p`,
  }
  assert.equal(await endSession(oauth, there), undefined)
  answer = async () => new Response('down', { status: 503 })
  const provider = resolveProvider({
    name: 'acme',
    clientId: 'id',
    clientSecret: 's',
    issuer,
    endSession: true,
  })
  assert.ok('kind' in provider)
  const client = new ProviderClient({ provider, fetch: counting, allowPrivateNetwork: false, clock })
  assert.equal(
    await client.endSessionUrl({ postLogoutRedirectUri: 'https://gate.example', state: 's' }),
    undefined,
  )
})
