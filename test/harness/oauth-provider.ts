// A plain OAuth 2.0 provider that redirects at once, remembers what it was asked, and answers as a test wants it to.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface RecordedRequest {
  method: string
  url: URL
  headers: IncomingMessage['headers']
  body: string
}

export interface OAuthProvider {
  url: string
  /** What /authorize, /token and /profile were asked. */
  requests: RecordedRequest[]
  tokenRequests(): RecordedRequest[]
  /** Whom /profile describes. */
  profile: unknown
  /** Answers instead of /token, when set. */
  token: ((request: RecordedRequest, response: ServerResponse) => void) | undefined
  /** Added to the redirect back. */
  answer: Record<string, string>
  /** Environment of a provider NAME that is this one. */
  env(name: string): Record<string, string>
  close(): Promise<void>
}

export const tokens = {
  access: 'provider-access-token-4711',
  id: 'not.a.jwt',
  refresh: 'provider-refresh-token-4711',
}
export const clientSecret = 'client-secret-0815'

export async function startOAuthProvider(): Promise<OAuthProvider> {
  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider: OAuthProvider = {
    url,
    requests: [],
    tokenRequests: () => provider.requests.filter((request) => request.url.pathname === '/token'),
    profile: { id: 'u-1', displayName: 'Ada Lovelace', emails: [{ value: 'ada@example.com' }] },
    token: undefined,
    answer: {},
    env: (name) => ({
      [`${name}_CLIENT_ID`]: 'postern-client',
      [`${name}_CLIENT_SECRET`]: clientSecret,
      [`${name}_AUTH_URL`]: `${url}/authorize`,
      [`${name}_TOKEN_URL`]: `${url}/token`,
      [`${name}_PROFILE_URL`]: `${url}/profile`,
    }),
    close: () =>
      new Promise((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    for await (const chunk of incoming) body += String(chunk)
    const request = {
      method: incoming.method!,
      url: new URL(incoming.url!, url),
      headers: incoming.headers,
      body,
    }
    provider.requests.push(request)
    const json = (value: unknown, status = 200): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    }
    switch (request.url.pathname) {
      case '/authorize': {
        const back = new URL(request.url.searchParams.get('redirect_uri')!)
        back.searchParams.set('code', `code-${provider.requests.length}`)
        back.searchParams.set('state', request.url.searchParams.get('state') ?? '')
        for (const [name, value] of Object.entries(provider.answer)) back.searchParams.set(name, value)
        response.writeHead(302, { location: back.href }).end()
        return
      }
      case '/token':
        if (provider.token) return provider.token(request, response)
        json({
          access_token: tokens.access,
          token_type: 'Bearer',
          id_token: tokens.id,
          refresh_token: tokens.refresh,
        })
        return
      case '/profile':
        if (request.headers.authorization !== `Bearer ${tokens.access}`)
          return json({ error: 'invalid_token' }, 401)
        json(provider.profile)
        return
      default:
        json({ error: 'not_found' }, 404)
    }
  }
  return provider
}
