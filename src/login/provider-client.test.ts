import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { systemClock } from '../clock.ts'
import { codeOf } from './callback.ts'
import { ProviderClient } from './provider-client.ts'
import { resolveProvider } from './providers/settings.ts'
import type { ProviderFetch } from './token-exchange.ts'

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

function startClient(fetch: ProviderFetch, timeout?: number): ProviderClient {
  const provider = resolveProvider({ name: 'acme', clientId: 'id', clientSecret: 's', issuer })
  assert.ok('kind' in provider)
  return new ProviderClient({
    provider,
    fetch,
    allowPrivateNetwork: false,
    clock,
    ...(timeout !== undefined && { timeout }),
  })
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

test('nothing is discovered before somebody signs in, and then once, however many do', async () => {
  const client = startClient(counting)
  assert.equal(discoveries, 0)
  await Promise.all([begin(client), begin(client), begin(client)])
  await begin(client)
  assert.equal(discoveries, 1)
})

test('a discovered address does not bring parameters of the flow along', async () => {
  const { searchParams } = await begin(startClient(counting))
  assert.deepEqual(searchParams.getAll('state'), ['ours'])
  assert.equal(searchParams.get('audience'), 'x')
})

test('a failed discovery is not tried again for five seconds, and then is', async () => {
  const client = startClient(counting)
  answer = async () => {
    throw new TypeError('fetch failed')
  }
  for (let time = 0; time < 3; time += 1) await assert.rejects(begin(client), /fetch failed/)
  assert.equal(discoveries, 1)
  answer = async () => Response.json(document)
  now += 4_999
  await assert.rejects(begin(client))
  now += 1
  await begin(client)
  assert.equal(discoveries, 2)
})

test('the document is read again after an hour; while that fails the old one is good enough', async () => {
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

test('a provider that hangs is given up on', async () => {
  const hanging: ProviderFetch = (_url, { signal }) =>
    new Promise((_resolve, reject) =>
      signal!.addEventListener('abort', () => reject(signal!.reason as Error)),
    )
  const failure: unknown = await begin(startClient(hanging, 0.05)).catch((error: unknown) => error)
  assert.equal(codeOf(failure), 'provider-unavailable')
})

const wrong: [string, () => Response][] = [
  ['a page', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
  ['an array', () => Response.json([])],
  ['a document of another issuer', () => Response.json({ ...document, issuer: 'https://evil.example' })],
  ['a redirect', () => new Response(null, { status: 302, headers: { location: 'http://169.254.169.254/' } })],
]
for (const [what, response] of wrong) {
  test(`${what} in place of the discovery document is a failure`, async () => {
    answer = async () => response()
    await assert.rejects(begin(startClient(counting)))
  })
}
