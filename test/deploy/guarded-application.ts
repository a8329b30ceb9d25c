// An application behind a proxy, guarded by Postern as the files in deploy/ say: on Postern's own host, a subdomain and another domain.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, type TestContext } from 'node:test'
import { engines } from '../harness/engines.ts'
import { startOAuthProvider, type OAuthProvider } from '../harness/oauth-provider.ts'
import { adminKey, startTestService, type TestService } from '../harness/service.ts'
import { eventually } from '../receiving/harness.ts'
import { domain, own, startGuard, subdomain, type Guard, type GuardKind } from './guards.ts'
import { ProxiedClient, type Answer } from './proxied-client.ts'

/** A request as the application got it. */
export interface Seen {
  method: string
  url: string
  headers: IncomingHttpHeaders
  bytes: number
  sha256: string
}

export const places = [
  ['a path of the own host', `https://${own}/app`],
  ['a subdomain', `https://${subdomain}`],
  ['another domain', `https://${domain}`],
] as const

/** It runs during the tests of the suite that calls this. */
export class GuardedApplication {
  readonly seen: Seen[] = []
  readonly streams: ServerResponse[] = []
  #provider!: OAuthProvider
  #guard!: Guard

  constructor(kind: GuardKind, { answersPreflights = false } = {}) {
    let application: Server
    let service: TestService
    before(async () => {
      application = startApplication(this.seen, this.streams)
      application.listen(0, '127.0.0.1')
      await once(application, 'listening')
      this.#provider = await startOAuthProvider()
      const allow = 'signed-in' as const
      const programs = { scopes: ['api:read'] }
      const paths = {
        '/public/*': 'everyone',
        '/admin/*': { roles: ['admin'] },
        '/api/*': [
          { methods: ['GET'], allow, programs, cors: { origins: ['https://spa.example'] } },
          { methods: ['POST'], allow, programs: { scopes: ['api:write'] } },
        ],
        '/cors/*': { allow, cors: 'application' },
      } as const
      service = await startTestService(engines[0]!, {
        env: {
          ...this.#provider.env('ACME'),
          NODE_ENV: 'production',
          ALLOW_PRIVATE_NETWORK: 'true',
          BASE_URL: `https://${own}`,
          TRUSTED_PROXIES: '127.0.0.1',
          RATE_LIMIT: 'on',
        },
        config: {
          forwardAuth: {
            hosts: {
              [own]: { allow },
              [subdomain]: { allow, paths, token: true },
              [domain]: { allow },
            },
          },
        },
      })
      const addressOf = (server: Server) => `127.0.0.1:${(server.address() as AddressInfo).port}`
      this.#guard = await startGuard(kind, {
        postern: addressOf(service.app.server),
        application: addressOf(application),
        answersPreflights,
      })
      const client = new ProxiedClient(this.#guard)
      await eventually(async () => (await client.ask(`https://${own}/readyz`)).status === 200, 'it is ready')
      client.close()
    })
    after(async () => {
      await service.close()
      await this.#guard.close()
      await this.#provider.close()
      application.closeAllConnections()
      application.close()
    })
  }

  /** A browser in which nobody is signed in. */
  visitor(t: TestContext): ProxiedClient {
    const client = new ProxiedClient(this.#guard)
    t.after(() => client.close())
    return client
  }

  /** Signs a person in on the page to which a guarded one led. */
  async signIn(client: ProxiedClient, id: string, { url }: { url: URL }): Promise<Answer & { url: URL }> {
    assert.equal(url.host + url.pathname, `${own}/login`)
    this.#provider.profile = { id, displayName: id }
    const returnTo = encodeURIComponent(url.searchParams.get('return_to')!)
    return client.open(`https://${own}/auth/acme?return_to=${returnTo}`)
  }

  /** A browser in which this person is signed in. @param at where they began */
  async signedIn(t: TestContext, id: string, at: string = places[1][1]): Promise<ProxiedClient> {
    const client = this.visitor(t)
    const { status } = await this.signIn(client, id, await client.open(`${at}/`))
    assert.equal(status, 200)
    return client
  }

  /** An API key with these scopes. */
  async newKey(client: ProxiedClient, ...scopes: string[]): Promise<string> {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'program', scopes })
    const answer = await client.ask(`https://${own}/keys`, { method: 'POST', headers, body })
    assert.equal(answer.status, 201, answer.body)
    return (JSON.parse(answer.body) as { key: string }).key
  }

  async signOut(client: ProxiedClient): Promise<void> {
    const headers = { 'sec-fetch-site': 'same-origin' }
    await client.ask(`https://${own}/auth/logout`, { method: 'POST', headers })
  }
}

/** Answers with what it got; `/events` is a stream that the test writes. */
function startApplication(seen: Seen[], streams: ServerResponse[]): Server {
  return createServer((request, response) => {
    const { method = '', url = '', headers } = request
    if (url.endsWith('/events')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      streams.push(response)
      return
    }
    const hash = createHash('sha256')
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      hash.update(chunk)
    })
    request.on('end', () => {
      const one = { method, url, headers, bytes, sha256: hash.digest('hex') }
      seen.push(one)
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(one))
    })
  })
}
