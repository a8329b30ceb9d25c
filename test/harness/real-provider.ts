// oidc-provider as a provider that is somebody else's: with pages to sign in and to consent on, keys that are changed,
// and a clock of its own.
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { Adapter, AdapterPayload, JWK } from 'oidc-provider'
import { Provider } from 'oidc-provider/lib/provider.js'
import type { Browser } from './browser.ts'
import { listening } from './listening.ts'

export interface RealProvider {
  issuer: string
  client: { id: string; secret: string }
  /** Calls of the token endpoint, by their status. */
  exchanges: number[]
  /** Lets these redirect URIs in. */
  register(redirectUris: string[]): void
  /** From now on it signs with another key, and publishes that alone. */
  rotate(): void
  /** Sets its clock so many milliseconds before ours (or behind, when negative). */
  skew(ms: number): void
  /** Goes through its pages as a person who signs in and consents, or not; the callback that the browser is sent to. */
  visit(browser: Browser, authorization: URL, person: string, consents?: boolean): Promise<URL>
  close(): Promise<void>
}

// Within what the provider does, the time is another one.
const skews = new AsyncLocalStorage<number>()
const now = Date.now.bind(Date)

export async function startRealProvider(): Promise<RealProvider> {
  let handle: ReturnType<Provider['callback']> | undefined
  let skew = 0
  let redirectUris: string[] = []
  let key = newKey()
  const adapter = createStore()
  const server = createServer((request, response) => {
    if (request.url === '/token') response.on('finish', () => provider.exchanges.push(response.statusCode))
    skews.run(skew, () => void handle!(request, response))
  })
  const { url: issuer, close } = await listening(server)
  const client = { id: 'real-client', secret: 'a-secret-that-the-real-provider-knows' }
  Date.now = () => now() + (skews.getStore() ?? 0)

  function build(): void {
    // It warns that the pages are made for development, which is what they are here for.
    const { warn } = console
    console.warn = () => undefined
    const built = new Provider(issuer, {
      adapter,
      clients: [
        {
          client_id: client.id,
          client_secret: client.secret,
          redirect_uris: redirectUris,
          grant_types: ['authorization_code'],
          response_types: ['code'],
          token_endpoint_auth_method: 'client_secret_post',
          id_token_signed_response_alg: 'ES256',
        },
      ],
      jwks: { keys: [key] },
      cookies: { keys: ['a-key-of-the-test'] },
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
      // It is for the tests to send a challenge, or not to.
      pkce: { required: () => false },
      ttl: {
        IdToken: 60,
        Interaction: 600,
        Session: 600,
        Grant: 600,
        AccessToken: 60,
        AuthorizationCode: 60,
      },
      findAccount: (_ctx, sub) => ({
        accountId: sub,
        claims: () => ({ sub, name: sub, email: `${sub}@example.com`, email_verified: true }),
      }),
    })
    handle = built.callback()
    console.warn = warn
  }

  const provider: RealProvider = {
    issuer,
    client,
    exchanges: [],
    register(uris) {
      redirectUris = uris
      build()
    },
    rotate() {
      key = newKey()
      build()
    },
    skew(ms) {
      skew = ms
    },
    async visit(browser, authorization, person, consents = true) {
      let url: URL | string = authorization
      for (let page = 0; page < 5; page += 1) {
        const shown = await browser.follow(url, (next) => next.origin === issuer)
        if (shown.next) return shown.next
        const html = await shown.response.text()
        assert.equal(shown.response.status, 200, html)
        const action = /<form[^>]* action="([^"]+)"/.exec(html)![1]!
        const prompt = /name="prompt" value="(\w+)"/.exec(html)![1]!
        if (prompt === 'consent' && !consents) {
          url = new URL(/href="([^"]+\/abort)"/.exec(html)![1]!, issuer)
          continue
        }
        const body = new URLSearchParams({ prompt, login: person, password: 'any' })
        const sent: Response = await browser.go(new URL(action, issuer), { method: 'POST', body })
        url = new URL(sent.headers.get('location')!, issuer)
      }
      throw new Error('the provider did not lead back')
    },
    close() {
      Date.now = now
      return close()
    },
  }
  return provider
}

function newKey(): JWK {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig', kid: randomUUID() }
}

/** One store for all providers that follow one another, so that a code outlives a change of keys. */
function createStore(): (kind: string) => Adapter {
  const entries = new Map<string, AdapterPayload>()
  return (kind) => ({
    upsert: async (id, payload) => void entries.set(`${kind}:${id}`, payload),
    find: async (id) => entries.get(`${kind}:${id}`),
    findByUid: async (uid) =>
      [...entries].find(([name, payload]) => name.startsWith(`${kind}:`) && payload.uid === uid)?.[1],
    findByUserCode: async () => undefined,
    destroy: async (id) => void entries.delete(`${kind}:${id}`),
    async consume(id) {
      entries.get(`${kind}:${id}`)!.consumed = Math.floor(Date.now() / 1000)
    },
    async revokeByGrantId(grantId) {
      for (const [name, payload] of entries) if (payload.grantId === grantId) entries.delete(name)
    },
  })
}
