// A plain OAuth 2.0 provider that redirects at once, remembers what it was asked, and answers as a test wants it to. With `proves` it
// speaks OpenID Connect and says when it authenticated the person: now.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { listening } from './listening.ts'

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
  /** The clock of `auth_time`. */
  now: () => number
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

/** The same, speaking OpenID Connect. */
export const startProvingProvider = (): Promise<OAuthProvider> => startOAuthProvider({ proves: true })

export async function startOAuthProvider({ proves = false } = {}): Promise<OAuthProvider> {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'upstream', alg: 'ES256', use: 'sig' }
  const nonces = new Map<string, string | null>()
  const server = createServer((request, response) => void handle(request, response))
  const { url, close } = await listening(server)
  const provider: OAuthProvider = {
    url,
    requests: [],
    tokenRequests: () => provider.requests.filter((request) => request.url.pathname === '/token'),
    profile: { id: 'u-1', displayName: 'Ada Lovelace', emails: [{ value: 'ada@example.com' }] },
    token: undefined,
    answer: {},
    now: () => Date.now(),
    env: (name) => ({
      [`${name}_CLIENT_ID`]: 'postern-client',
      [`${name}_CLIENT_SECRET`]: clientSecret,
      ...(proves
        ? { [`${name}_ISSUER`]: url }
        : {
            [`${name}_AUTH_URL`]: `${url}/authorize`,
            [`${name}_TOKEN_URL`]: `${url}/token`,
            [`${name}_PROFILE_URL`]: `${url}/profile`,
          }),
    }),
    close,
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
        nonces.set(back.searchParams.get('code')!, request.url.searchParams.get('nonce'))
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
          id_token: proves ? await idToken(new URLSearchParams(body).get('code') ?? '') : tokens.id,
          refresh_token: tokens.refresh,
        })
        return
      case '/profile':
        if (request.headers.authorization !== `Bearer ${tokens.access}`)
          return json({ error: 'invalid_token' }, 401)
        json(provider.profile)
        return
      case '/.well-known/openid-configuration':
        if (!proves) return json({ error: 'not_found' }, 404)
        json({
          issuer: url,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
          jwks_uri: `${url}/keys`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['ES256'],
        })
        return
      case '/keys':
        json({ keys: [jwk] })
        return
      default:
        json({ error: 'not_found' }, 404)
    }
  }
  async function idToken(code: string): Promise<string> {
    const { id, ...claims } = provider.profile as { id: string }
    const [now, nonce] = [Math.floor(provider.now() / 1000), nonces.get(code)]
    return new SignJWT({ ...claims, auth_time: now, ...(nonce && { nonce }) })
      .setProtectedHeader({ alg: 'ES256', kid: 'upstream' })
      .setIssuer(url)
      .setSubject(id)
      .setAudience('postern-client')
      .setIssuedAt()
      .setExpirationTime('1 day')
      .sign(privateKey)
  }
  return provider
}
