// An identity provider that keeps to the rules: a code belongs to the client, the redirect URI, the PKCE challenge and the
// person that it was made for, and is good once. What an attack must get past is then the service alone.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { listening } from '#test/harness/listening.ts'

export interface Person {
  id: string
  name?: string
  email?: string
  email_verified?: boolean
  picture?: string
}

export interface HonestProvider {
  url: string
  /** Every call of the token endpoint, good or bad. */
  tokenRequests: URLSearchParams[]
  /** Every token that it gave out. */
  issued: string[]
  /** What a client NAME of it sets: by its addresses, or by its issuer when it speaks OpenID Connect. */
  env(name: string): Record<string, string>
  /** A person gives consent at this authorization URL; the callback that the browser is then sent to. */
  approve(authorization: URL | string, person: Person | string): URL
  close(): Promise<void>
}

const client = { id: 'honest-client', secret: 'honest-client-secret-of-32-bytes' }

interface Grant {
  redirectUri: string
  challenge: string | null
  nonce: string | null
  maxAge: string | null
  person: Person
}

/** @param options.iss whether answers name their issuer (RFC 9207); by default only those of OpenID Connect do. */
export async function startHonestProvider(
  options: { openid?: boolean; iss?: boolean } = {},
): Promise<HonestProvider> {
  const { openid = false, iss = openid } = options
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'honest', alg: 'ES256', use: 'sig' }
  const codes = new Map<string, Grant>()
  const people = new Map<string, Person>()

  const server = createServer((request, response) => {
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    handle(request).then(
      ([status, body]) => answer(status, body),
      (error: unknown) => answer(500, { error: String(error) }),
    )
  })
  const { url, close } = await listening(server)

  async function handle(request: IncomingMessage): Promise<[status: number, body: unknown]> {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    switch (request.url) {
      case '/.well-known/openid-configuration':
        return [200, discovery()]
      case '/jwks':
        return [200, { keys: [jwk] }]
      case '/token':
        return redeem(new URLSearchParams(body))
      case '/profile': {
        const person = people.get(request.headers.authorization ?? '')
        return person ? [200, { ...person, sub: person.id }] : [401, { error: 'invalid_token' }]
      }
      default:
        return [404, { error: 'not_found' }]
    }
  }

  const discovery = (): Record<string, unknown> => ({
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    userinfo_endpoint: `${url}/profile`,
    jwks_uri: `${url}/jwks`,
    end_session_endpoint: `${url}/end-session`,
    id_token_signing_alg_values_supported: ['ES256'],
    authorization_response_iss_parameter_supported: iss,
  })

  async function redeem(form: URLSearchParams): Promise<[status: number, body: unknown]> {
    provider.tokenRequests.push(form)
    const code = form.get('code') ?? ''
    const grant = codes.get(code)
    codes.delete(code)
    const verifier = form.get('code_verifier') ?? ''
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const right =
      grant &&
      grant.redirectUri === form.get('redirect_uri') &&
      grant.challenge === challenge &&
      form.get('client_id') === client.id &&
      form.get('client_secret') === client.secret
    if (!right) return [400, { error: 'invalid_grant' }]
    const token = randomBytes(16).toString('hex')
    people.set(`Bearer ${token}`, grant.person)
    provider.issued.push(token)
    const answer = { access_token: token, token_type: 'Bearer' }
    if (!openid) return [200, answer]
    const idToken = await new SignJWT({
      ...(grant.nonce !== null && { nonce: grant.nonce }),
      ...(grant.maxAge !== null && { auth_time: Math.floor(Date.now() / 1000) }),
    })
      .setProtectedHeader({ alg: 'ES256', kid: 'honest' })
      .setIssuer(url)
      .setAudience(client.id)
      .setSubject(grant.person.id)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey)
    provider.issued.push(idToken)
    return [200, { ...answer, id_token: idToken }]
  }

  const provider: HonestProvider = {
    url,
    tokenRequests: [],
    issued: [],
    env: (name) => ({
      [`${name}_CLIENT_ID`]: client.id,
      [`${name}_CLIENT_SECRET`]: client.secret,
      [`${name}_TOKEN_AUTH`]: 'post',
      ...(openid
        ? { [`${name}_ISSUER`]: url }
        : {
            [`${name}_AUTH_URL`]: `${url}/authorize`,
            [`${name}_TOKEN_URL`]: `${url}/token`,
            [`${name}_PROFILE_URL`]: `${url}/profile`,
          }),
    }),
    approve(authorization, person) {
      const asked = new URL(authorization)
      assert.equal(asked.origin, url, 'this is not its authorization URL')
      assert.equal(asked.searchParams.get('client_id'), client.id)
      const redirectUri = asked.searchParams.get('redirect_uri')!
      const code = randomBytes(16).toString('hex')
      codes.set(code, {
        redirectUri,
        challenge: asked.searchParams.get('code_challenge'),
        nonce: asked.searchParams.get('nonce'),
        maxAge: asked.searchParams.get('max_age'),
        person: typeof person === 'string' ? { id: person, name: person } : person,
      })
      const back = new URL(redirectUri)
      back.searchParams.set('code', code)
      back.searchParams.set('state', asked.searchParams.get('state') ?? '')
      if (iss) back.searchParams.set('iss', url)
      return back
    },
    close,
  }
  return provider
}
