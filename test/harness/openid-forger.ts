// An OpenID provider that signs whatever a test asks it to.
import { createServer } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT, type JWK, type JWTPayload } from 'jose'
import { listening } from './listening.ts'

export interface OpenIdForger {
  issuer: string
  /** The settings of a provider with this name. */
  env(name: string): Record<string, string>
  /** Changes the id_token's claims before it is signed. */
  claims: (claims: JWTPayload) => JWTPayload
  /** Makes the id_token in another way. */
  sign: ((claims: JWTPayload) => Promise<string>) | undefined
  userinfo: Record<string, unknown>
  /** Added to the redirect back; a null leaves the parameter out. */
  answer: Record<string, string | null>
  /** Changes the discovery document. */
  metadata: Record<string, unknown>
  /** What `jwks_uri` answers. */
  keys: JWK[]
  /** Where the token endpoint and the keys are now. */
  paths: { token: string; jwks: string }
  /** How the token endpoint refuses, instead of an answer with tokens. */
  refusal: { status: number; body: unknown } | undefined
  tokenRequests: URLSearchParams[]
  discoveries: number
  close(): Promise<void>
}

export const forgedClient = { id: 'postern-client', secret: 'forger-client-secret-of-32-bytes!!' }

export async function startOpenIdForger(): Promise<OpenIdForger> {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }
  let nonce: string | null = null
  let maxAge: string | null = null
  const server = createServer((request, response) => {
    const url = new URL(request.url!, forger.issuer)
    const json = (value: unknown): void => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    }
    const routes: Record<string, () => void | Promise<void>> = {
      '/.well-known/openid-configuration': () => {
        forger.discoveries += 1
        json({
          issuer: forger.issuer,
          authorization_endpoint: `${forger.issuer}/authorize`,
          token_endpoint: forger.issuer + forger.paths.token,
          userinfo_endpoint: `${forger.issuer}/userinfo`,
          jwks_uri: forger.issuer + forger.paths.jwks,
          id_token_signing_alg_values_supported: ['ES256'],
          authorization_response_iss_parameter_supported: true,
          ...forger.metadata,
        })
      },
      [forger.paths.jwks]: () => json({ keys: forger.keys }),
      '/userinfo': () => json(forger.userinfo),
      '/authorize': () => {
        nonce = url.searchParams.get('nonce')
        maxAge = url.searchParams.get('max_age')
        const back = new URL(url.searchParams.get('redirect_uri')!)
        const answer = {
          code: 'c',
          state: url.searchParams.get('state'),
          iss: forger.issuer,
          ...forger.answer,
        }
        for (const [name, value] of Object.entries(answer))
          if (value !== null) back.searchParams.set(name, value)
        response.writeHead(302, { location: back.href }).end()
      },
      [forger.paths.token]: async () => {
        let body = ''
        for await (const chunk of request) body += String(chunk)
        forger.tokenRequests.push(new URLSearchParams(body))
        const { refusal } = forger
        if (refusal) {
          response.writeHead(refusal.status, { 'content-type': 'application/json' })
          response.end(JSON.stringify(refusal.body))
          return
        }
        const now = Math.floor(Date.now() / 1000)
        const claims = forger.claims({
          iss: forger.issuer,
          aud: forgedClient.id,
          sub: 'subject-1',
          iat: now,
          exp: now + 300,
          ...(nonce !== null && { nonce }),
          ...(maxAge !== null && { auth_time: now }),
        })
        const idToken = await (forger.sign
          ? forger.sign(claims)
          : new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'k1' }).sign(privateKey))
        json({ access_token: 'at', token_type: 'Bearer', id_token: idToken })
      },
    }
    const route = routes[url.pathname]
    if (route) void route()
    else response.writeHead(404).end()
  })
  const { url, close } = await listening(server)
  const forger: OpenIdForger = {
    env: (name) => ({
      [`${name}_CLIENT_ID`]: forgedClient.id,
      [`${name}_CLIENT_SECRET`]: forgedClient.secret,
      [`${name}_ISSUER`]: forger.issuer,
    }),
    issuer: url,
    claims: (claims) => claims,
    sign: undefined,
    userinfo: { sub: 'subject-1', name: 'Grace Hopper', email: 'grace@example.com', email_verified: 'true' },
    answer: {},
    metadata: {},
    keys: [jwk],
    paths: { token: '/token', jwks: '/jwks' },
    refusal: undefined,
    tokenRequests: [],
    discoveries: 0,
    close,
  }
  return forger
}
