import { createVerifier, type TokenDemands, type Verifier, type VerifierOptions } from './tokens/verifier.ts'

export type { TokenDemands, Verifier } from './tokens/verifier.ts'
export * from './errors.ts'

export interface ProtectedResourceOptions extends Omit<VerifierOptions, 'audience'> {
  /** The API's URL as its clients write it. Tokens must have it in `aud`. */
  resource: string
  /** The scopes that the API supports. */
  scopes?: readonly string[] | undefined
  /** The API's display name. */
  name?: string | undefined
  /** The URL of the documentation for developers. */
  documentation?: string | undefined
}

/** The metadata of an API (RFC 9728, section 2). */
export interface ResourceMetadata {
  resource: string
  authorization_servers: string[]
  bearer_methods_supported: string[]
  scopes_supported?: string[]
  resource_name?: string
  resource_documentation?: string
}

/** A response of Node.js, also that of Express. */
interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): { end(body?: string): unknown }
}
interface NodeRequest {
  method?: string | undefined
  url?: string | undefined
  /** Express removes the path of a router from `url`. */
  originalUrl?: string | undefined
}

export interface ProtectedResource extends Verifier {
  readonly metadata: ResourceMetadata
  /** Where clients request the metadata: `/.well-known/oauth-protected-resource` and the path of the API. */
  readonly metadataPath: string
  readonly metadataUrl: string
  /** The headers of the metadata: pages of any origin may read them. */
  readonly metadataHeaders: Readonly<Record<string, string>>
  /** `WWW-Authenticate` for error responses, which points clients to the metadata. The adapters' guards send it. */
  readonly challenge: (code: string, demands?: TokenDemands) => string
  /** The response to a request for the metadata; `undefined` for other requests. */
  respond(request: Request): Response | undefined
  /** The same for Node.js, Express and Connect: `app.use(resource.serve)`. */
  serve(request: NodeRequest, response: NodeResponse, next: () => void): void
}

const wellKnown = '/.well-known/oauth-protected-resource'

/**
 * An API, such as an MCP server, whose clients find the service by the API's own metadata (RFC 9728), and whose tokens are verified here.
 * @throws TypeError for a `resource` that is not a URL, or has a fragment
 */
export function createProtectedResource(options: ProtectedResourceOptions): ProtectedResource {
  const { resource, scopes, name, documentation, ...verification } = options
  const url = URL.canParse(resource) ? new URL(resource) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || resource.includes('#'))
    throw new TypeError(`resource must be an http or https address without a fragment, unlike ${resource}`)
  // RFC 9728, section 3.1: a path of only a slash is omitted.
  const metadataPath = wellKnown + url.pathname.replace(/^\/$/, '')
  const metadataUrl = url.origin + metadataPath + url.search
  const metadata: ResourceMetadata = {
    resource,
    authorization_servers: [options.issuer],
    bearer_methods_supported: ['header'],
    ...(scopes && { scopes_supported: [...scopes] }),
    ...(name !== undefined && { resource_name: name }),
    ...(documentation !== undefined && { resource_documentation: documentation }),
  }
  const metadataHeaders = {
    'content-type': 'application/json',
    'cache-control': 'public, max-age=300',
    'access-control-allow-origin': '*',
  }
  const answerTo = (method: string, path: string) => {
    if (path !== metadataPath) return undefined
    if (method === 'GET' || method === 'HEAD')
      return { status: 200, headers: metadataHeaders, body: JSON.stringify(metadata) }
    if (method === 'OPTIONS') return { status: 204, headers: preflight, body: null }
    return { status: 405, headers: { allow: 'GET, HEAD, OPTIONS' }, body: null }
  }
  return {
    ...createVerifier({ ...verification, audience: resource }),
    metadata,
    metadataPath,
    metadataUrl,
    metadataHeaders,
    challenge: (code, demands) => challengeOf(code, demands, metadataUrl),
    respond(request) {
      const answer = answerTo(request.method, new URL(request.url).pathname)
      return answer && new Response(answer.body, { status: answer.status, headers: answer.headers })
    },
    serve({ method = 'GET', url: path = '', originalUrl = path }, response, next) {
      const answer = answerTo(method, originalUrl.replace(/\?.*$/s, ''))
      if (!answer) return next()
      response.writeHead(answer.status, answer.headers).end(answer.body ?? undefined)
    },
  }
}

/** Clients in browsers send headers of their own with such a request, `MCP-Protocol-Version` among them. */
const preflight = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET',
  'access-control-allow-headers': '*',
  'access-control-max-age': '86400',
}

/** RFC 6750, section 3, and RFC 9728, section 5.1. */
function challengeOf(code: string, { scope = [] }: TokenDemands = {}, metadataUrl: string): string {
  const error = code === 'invalid-token' || code === 'insufficient-scope' ? code.replace('-', '_') : undefined
  const scopes = [scope].flat().join(' ')
  const parameters = [
    ...(error === undefined ? [] : [`error="${error}"`]),
    ...(scopes === '' ? [] : [`scope="${scopes}"`]),
    `resource_metadata="${metadataUrl}"`,
  ]
  return `Bearer ${parameters.join(', ')}`
}
