import type { RouteOptions, FastifyInstance, FastifyReply } from 'fastify'

/** Headers of answers that the OpenAPI document describes, each once. */
const described = {
  ETag: [
    'Identifies this answer. With `If-None-Match`, an unchanged answer is 304 without a body.',
    '^(W/)?"[^"]*"$',
  ],
  Link: ['The neighbouring pages, as `rel="next"`, `prev`, `first`, `last` (RFC 8288).'],
  'Cache-Control': ['Which caches may store the response, and for how long.'],
  Vary: ['The request headers that the answer depends on.'],
  'Content-Language': ['The language of the page.'],
  'Content-Encoding': ['The compression, if `Accept-Encoding` allows one.', '^(br|gzip)$'],
  'Content-Disposition': ['The file name for browsers that save the answer.', '^attachment; filename="'],
  Location: ['The address of the redirect.'],
  Refresh: ['The address that the page redirects to.'],
  'Set-Cookie': ['Sets or deletes a cookie that scripts cannot read.'],
  'Remote-User': ["The user's ID; `app:…` or `key:…` for a program without a user; empty without a session."],
  'Remote-Email': ['The verified e-mail address, percent-encoded; may be empty.'],
  'Remote-Name': ['The name, percent-encoded; may be empty.'],
  'Remote-Groups': ['The groups, separated by commas, each percent-encoded; may be empty.'],
  'Remote-Client': ['The client ID of the app, or `key:` and the ID of the API key; empty for a person.'],
  'Remote-Scope': ["The program's scopes, separated by spaces; empty for a person."],
  'Remote-Token': ['A signed token (JWT) of the user for the application; may be empty.'],
  Cookie: ['The cookies of the request without those of this service; may be empty.'],
  Authorization: [
    'That of the request, if it has one; `Postern removed` in place of a program’s credential.',
  ],
  'Access-Control-Allow-Origin': ['The origin whose pages may read the answer.'],
  'Access-Control-Allow-Credentials': ['Whether these pages may send a cookie.', '^true$'],
  'Access-Control-Expose-Headers': ['The headers that these pages may read.'],
  'WWW-Authenticate': ['The accepted authentication scheme (RFC 9110, section 11.6.1).'],
  Allow: ['The methods of the path; always with 405.'],
  'WebHook-Allowed-Origin': ['The sender that asked, which may send.'],
  'WebHook-Allowed-Rate': ['Requests per minute that it may send; `*` is no limit.'],
  'Postern-Data-Age': [
    'The maximum age of the answer in seconds, if a standby was read; `0.00` when the primary answered. Only where `DATABASE_REPLICA_URL` is set.',
    '^\\d+\\.\\d\\d$',
  ],
  'X-Accel-Buffering': ['Makes a proxy forward the response without buffering.', '^no$'],
  'Retry-After': ['Seconds to wait before the next call; always with 429 and 503.', 1],
  'RateLimit-Limit': ['Calls per minute that the narrowest limit allows.', 1],
  'RateLimit-Remaining': ['Calls that this limit still allows.', 0],
  'RateLimit-Reset': ['Seconds until all calls of this limit are allowed again.', 0],
} as const satisfies Record<string, readonly [description: string, form?: string | number]>

export type HeaderName = keyof typeof described

/** Which of them a route sends. */
export interface Sends {
  /** With every success. */
  readonly always?: readonly HeaderName[]
  /** With some. */
  readonly sometimes?: readonly HeaderName[]
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Headers of this route's successes, besides those that follow from its status, limits and access. */
    sends?: Sends
  }
}

/** What determines the headers of one route's answers. */
export interface Sender {
  sends: Sends
  /** Whether calls are counted, as they are unless the settings say otherwise. */
  limited: boolean
  /** Whether pages of other origins may read its answers. */
  crossOrigin: boolean
  /** Whether it says by itself to which origins it answers: see `showLimitsToPages`. */
  ownOrigins: boolean
}

type References = Record<string, { $ref: string }>

/** Headers of rate limits. */
export const ofLimits = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'] as const
/** Headers of a page in the language of its reader; see `pageView`. Any problem may be such a page. */
export const ofPages = ['Content-Language', 'Vary'] as const
/** Suffix of components whose header is optional. */
const optional = '-sometimes'

const ofCrossOrigin = [
  'Access-Control-Allow-Origin',
  'Access-Control-Allow-Credentials',
  'Access-Control-Expose-Headers',
] as const

const ofShownLimits = ['Access-Control-Allow-Origin', 'Access-Control-Expose-Headers'] as const

/** The headers of an answer that a route declares, as references into the components. */
export function headersOfDeclared(status: string, sender: Sender): References {
  const { always = [], sometimes = [] } = sender.sends
  const common = commonOf(sender)
  const challenge = status === '401' ? (['WWW-Authenticate'] as const) : []
  if (Number(status) >= 400)
    return references(common.always, [...challenge, ...always, ...sometimes, ...ofPages, ...common.sometimes])
  const led = status === '303' ? (['Location'] as const) : []
  return references([...led, ...always, ...common.always], [...sometimes, ...common.sometimes])
}

/** The headers of the problem with this status, which any call may get; `default` stands for all others. */
export function headersOfProblem(status: '401' | '429' | '503' | 'default', sender: Sender): References {
  const { always = [], sometimes = [] } = sender.sends
  const common = commonOf(sender)
  const shown = sender.ownOrigins && status !== '401' && status !== '503' ? ofShownLimits : []
  const perhaps = [...always, ...sometimes, ...ofPages, ...common.sometimes, ...shown]
  // They include answers to requests that reached no route.
  if (status === 'default')
    return references(['Cache-Control'], [...ofProblems, ...common.always, ...perhaps])
  const certain = status === '401' ? 'WWW-Authenticate' : 'Retry-After'
  return references([certain, ...common.always], perhaps)
}

const ofProblems = ['Retry-After', 'WWW-Authenticate', 'Allow', ...ofPages] as const

function commonOf({ limited, crossOrigin }: Sender): Required<Sends> {
  return {
    always: ['Cache-Control', ...(limited ? ofLimits : []), ...(crossOrigin ? (['Vary'] as const) : [])],
    sometimes: crossOrigin ? ofCrossOrigin : [],
  }
}

function references(always: readonly HeaderName[], perhaps: readonly HeaderName[]): References {
  const certain = new Set(always)
  return Object.fromEntries([
    ...always.map((name) => [name, { $ref: `#/components/headers/${name}` }] as const),
    ...perhaps
      .filter((name) => !certain.has(name))
      .map((name) => [name, { $ref: `#/components/headers/${name}${optional}` }] as const),
  ])
}

/** All of them, for the components of the document. */
export function headerComponents(): Record<string, object> {
  const entries = Object.entries(described).flatMap(([name, [description, form]]) => {
    const schema =
      typeof form === 'number'
        ? { type: 'integer', minimum: form }
        : { type: 'string', ...(form !== undefined && { pattern: form }) }
    return [
      [name, { description, required: true, schema }],
      [`${name}${optional}`, { description, schema }],
    ] as const
  })
  return Object.fromEntries(entries)
}

interface Known {
  url: string
  /** Made at the first request without a route, or from another origin. */
  pattern?: RegExp
  methods: string[]
  forMachines: boolean
}

/** The methods of each path, for 405 with Allow instead of 404. */
export class RouteMethods {
  readonly #routes: Known[] = []

  add(route: RouteOptions): void {
    this.#routes.push({
      url: route.url,
      methods: [route.method].flat(),
      forMachines: route.config?.forMachines === true,
    })
  }

  /** Every declared route, as `GET /users`. */
  all(): string[] {
    return this.#routes.flatMap(({ url, methods }) => methods.map((method) => `${method} ${url}`))
  }

  /**
   * The methods of the routes that match a request's path, sorted. A literal path takes precedence over parameters:
   * `/auth/logout` is not the provider `logout`.
   */
  allowedFor(url: string): string[] {
    return namesOf(this.#matching(url))
  }

  /** The same, without routes for machines. */
  forPages(url: string): string[] {
    return namesOf(this.#matching(url).filter(({ forMachines }) => !forMachines))
  }

  #matching(url: string): Known[] {
    const path = url.split('?', 1)[0]!
    const matching = this.#routes.filter((route) => (route.pattern ??= patternOf(route.url)).test(path))
    const exact = matching.filter((route) => route.url === path)
    return exact.length > 0 ? exact : matching
  }
}

/** @param url in the router's syntax */
function patternOf(url: string): RegExp {
  const pattern = url
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/:[^/]+/g, '[^/]+')
    .replaceAll('\\*', '.*')
  return new RegExp(`^${pattern}$`)
}

function namesOf(routes: readonly Known[]): string[] {
  return [...new Set(routes.flatMap(({ methods }) => methods))].toSorted()
}

/** No inline script or style, nothing from elsewhere, no frames. Pages that need more say so themselves. */
const contentSecurityPolicy = policyWith("frame-ancestors 'none'")

function policyWith(frameAncestors: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    frameAncestors,
    "base-uri 'none'",
  ].join(';')
}

/** The headers of a page that pages of these origins, and no others, may show in a frame. */
export function framedBy(origins: readonly string[]): Record<string, string> {
  if (origins.length === 0) return {}
  return {
    'content-security-policy': policyWith(`frame-ancestors ${origins.join(' ')}`),
    // Pages that are isolated (Cross-Origin-Embedder-Policy) load a frame of another origin only with this.
    'cross-origin-resource-policy': 'cross-origin',
  }
}

/** The policy of answers that hold nothing for a browser to load. No page of another origin can frame them either. */
const nothing = "default-src 'none';frame-ancestors 'none'"

/**
 * The headers of every answer (OWASP's list for services with few pages). They are constant, so they are created once: building
 * them for each request cost more than reading a page of a list.
 */
export interface SecurityHeaders {
  /**
   * The headers of every answer, including raw routes, as a flat list of names and values. A handler whose answers may be stored
   * sets `Cache-Control` itself.
   */
  readonly common: readonly string[]
  /** Adds the common headers to an answer, and those for browsers unless it is for machines. */
  readonly protect: (reply: FastifyReply, forMachines?: boolean) => void
}

export function securityHeaders({ https }: { https: boolean }): SecurityHeaders {
  const forAll = Object.entries({
    'cache-control': 'no-store',
    'content-security-policy': nothing,
    'x-content-type-options': 'nosniff',
    ...(https && { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }),
  })
  const forBrowsers = Object.entries({
    'content-security-policy': contentSecurityPolicy,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
  })
  // Of two values with one name the second one counts.
  const all = [...new Map([...forAll, ...forBrowsers])]
  return {
    common: forAll.flat(),
    protect(reply, forMachines = false) {
      for (const [name, value] of forMachines ? forAll : all) reply.header(name, value)
    },
  }
}

/** Adds them to every answer, before any other hook, because hooks may answer. */
export function addSecurityHeaders(app: FastifyInstance, headers: SecurityHeaders): void {
  app.decorate('securityHeaders', headers)
  app.addHook('onRequest', (request, reply, done) => {
    headers.protect(reply, request.routeOptions.config.forMachines)
    done()
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Called by programs only, and often: answered without the headers for browsers. */
    forMachines?: boolean
  }
  interface FastifyInstance {
    securityHeaders: SecurityHeaders
  }
}
