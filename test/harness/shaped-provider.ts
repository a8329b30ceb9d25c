// An identity provider that answers in the shape of a real one, as its documentation shows it, and insists on what that
// one insists on: how the secret comes, whether PKCE may, which headers a call must have.
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { listening } from './listening.ts'

export interface Reply {
  status?: number
  json?: unknown
  text?: string
  headers?: Record<string, string>
}

export interface Request {
  method: string
  url: URL
  headers: IncomingMessage['headers']
  form: URLSearchParams
  body: string
}

export interface Granted {
  accessToken: string
  idToken: string
  request: Request
}

/** What one provider does. Paths are those of the real one, below its host. */
export interface Shape {
  authorize: string
  token: string
  tokenAuth: 'basic' | 'post'
  /** `refused`: a code_verifier is an error. */
  pkce?: 'refused'
  /** Leaves the nonce out of the id_token. */
  nonce?: false
  /** Answers by a form instead of a redirect, with these fields beside code and state. */
  form?: () => Record<string, string>
  /** Sent as `iss` with the answer. */
  responseIssuer?: string
  /** OpenID Connect: the path of the issuer, and how its document names it; "" is the host itself. */
  issuer?: string
  metadata?: (url: string) => Record<string, unknown>
  claims?: Record<string, unknown>
  /** The issuer that the id_token names, where that is another one. */
  tokenIssuer?: (url: string) => string
  /** Checks the secret itself, in place of the configured one. */
  accepts?: (request: Request) => boolean | Promise<boolean>
  grant: (granted: Granted) => Reply
  /** How the token endpoint says no. */
  refusal: Reply
  /** `GET /user` and so on; called only with the right access token. */
  api?: Record<string, (request: Request) => Reply>
}

export interface ShapedProvider {
  url: string
  shape: Shape
  requests: Request[]
  /** Requests to one path. */
  to(path: string): Request[]
  /** An id_token for its client, with more claims. */
  idToken(more: Record<string, unknown>): Promise<string>
  /** Replaces the key that id_tokens are signed with. */
  rotate(): Promise<void>
  close(): Promise<void>
}

export const client = { id: 'postern-client.id_1', secret: 'client-secret_08-15' }
export const accessToken = 'EAAG-provider.access_token'

interface Begun {
  challenge: string | null
  nonce: string | null
  redirectUri: string
}

export async function startShapedProvider(shape: Shape): Promise<ShapedProvider> {
  const keys = { count: 0, ...(await generateKeyPair('RS256')) }
  const begun = new Map<string, Begun>()
  let codes = 0
  const server = createServer((incoming, response) => {
    handle(incoming).then(
      (reply) => send(response, reply),
      (error: unknown) => send(response, { status: 500, text: String(error) }),
    )
  })
  const { url, close } = await listening(server)
  const provider: ShapedProvider = {
    url,
    shape,
    requests: [],
    to: (path) => provider.requests.filter((request) => request.url.pathname === path),
    idToken(more) {
      const now = Math.floor(Date.now() / 1000)
      const { shape } = provider
      const iss = shape.tokenIssuer?.(url) ?? url + (shape.issuer ?? '')
      return new SignJWT({ iss, aud: client.id, iat: now, exp: now + 300, ...more, ...shape.claims })
        .setProtectedHeader({ alg: 'RS256', kid: `k${keys.count}` })
        .sign(keys.privateKey)
    },
    async rotate() {
      Object.assign(keys, await generateKeyPair('RS256'), { count: keys.count + 1 })
    },
    close,
  }

  async function handle(incoming: IncomingMessage): Promise<Reply> {
    let body = ''
    for await (const chunk of incoming) body += String(chunk)
    const request: Request = {
      method: incoming.method!,
      url: new URL(incoming.url!, url),
      headers: incoming.headers,
      form: new URLSearchParams(body),
      body,
    }
    provider.requests.push(request)
    const { shape } = provider
    const path = request.url.pathname
    if (path === shape.authorize) return authorize(request)
    if (path === shape.token) return token(request)
    if (path === `${shape.issuer?.replace(/\/$/, '')}/.well-known/openid-configuration`)
      return { json: discovery() }
    if (path === '/jwks') {
      const jwk = { ...(await exportJWK(keys.publicKey)), kid: `k${keys.count}`, alg: 'RS256', use: 'sig' }
      return { json: { keys: [jwk] } }
    }
    const call = shape.api?.[`${request.method} ${path}`]
    if (!call) return { status: 404, json: { message: 'Not Found' } }
    if (request.headers.authorization !== `Bearer ${accessToken}`)
      return { status: 401, json: { message: 'Bad credentials' } }
    return call(request)
  }

  function discovery(): Record<string, unknown> {
    const { shape } = provider
    return {
      issuer: url + shape.issuer!,
      authorization_endpoint: url + shape.authorize,
      token_endpoint: url + shape.token,
      jwks_uri: `${url}/jwks`,
      id_token_signing_alg_values_supported: ['RS256'],
      ...shape.metadata?.(url),
    }
  }

  function authorize({ url: { searchParams: asked }, headers }: Request): Reply {
    const { shape } = provider
    const redirectUri = asked.get('redirect_uri')!
    const code = `code-${(codes += 1)}`
    begun.set(code, { challenge: asked.get('code_challenge'), nonce: asked.get('nonce'), redirectUri })
    const answer = {
      code,
      state: asked.get('state')!,
      ...(shape.responseIssuer && { iss: shape.responseIssuer }),
    }
    if (shape.form) {
      const fields = { ...answer, ...shape.form() }
      const browser = headers.accept?.includes('text/html') === true
      return browser ? formPage(redirectUri, fields) : { json: { action: redirectUri, fields } }
    }
    const back = new URL(redirectUri)
    for (const [name, value] of Object.entries(answer)) back.searchParams.set(name, value)
    return { status: 302, headers: { location: back.href } }
  }

  async function token(request: Request): Promise<Reply> {
    const { shape } = provider
    const { form } = request
    const flow = begun.get(form.get('code') ?? '')
    begun.delete(form.get('code') ?? '')
    const verifier = form.get('code_verifier')
    const proven =
      shape.pkce === 'refused'
        ? verifier === null
        : verifier !== null && createHash('sha256').update(verifier).digest('base64url') === flow?.challenge
    const known = shape.accepts ? await shape.accepts(request) : hasSecret(request, shape.tokenAuth)
    if (!flow || !proven || !known || form.get('redirect_uri') !== flow.redirectUri) return shape.refusal
    const { nonce } = flow
    const idToken = await provider.idToken(nonce !== null && shape.nonce !== false ? { nonce } : {})
    return shape.grant({ accessToken, idToken, request })
  }
  return provider
}

/** What a person confirms: a page of another site that posts to us. */
function formPage(action: string, fields: Record<string, string>): Reply {
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${value.replaceAll('"', '&quot;')}">`,
  )
  const text = `<!doctype html><form method="post" action="${action}">${inputs.join('')}<button>Continue</button></form>`
  return { text, headers: { 'content-type': 'text/html' } }
}

/** RFC 6749, section 2.3.1: one way and not the other. */
function hasSecret({ headers, form }: Request, way: 'basic' | 'post'): boolean {
  const header = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`
  const inHeader = headers.authorization === header
  const inBody = form.get('client_id') === client.id && form.get('client_secret') === client.secret
  return way === 'basic' ? inHeader && !form.has('client_secret') : inBody && !headers.authorization
}

function send(response: ServerResponse, { status = 200, json, text, headers }: Reply): void {
  const type = json === undefined ? 'text/plain' : 'application/json'
  response.writeHead(status, { 'content-type': type, ...headers })
  response.end(json === undefined ? text : JSON.stringify(json))
}
