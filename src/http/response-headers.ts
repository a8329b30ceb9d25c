/** Headers of answers that the OpenAPI document describes, each once. */
const described = {
  ETag: ['Names this answer: sent back as `If-None-Match` it spares what is known (304).', '^(W/)?"[^"]*"$'],
  Link: ['The pages beside this one, as `rel="next"`, `prev`, `first`, `last` (RFC 8288).'],
  'Cache-Control': ['Who may keep the answer, and for how long.'],
  Vary: ['By which headers of the request the answer differs.'],
  'Content-Encoding': ['The compression, where `Accept-Encoding` allows one.', '^(br|gzip)$'],
  'Content-Disposition': ['The name of the file, for browsers that save it.', '^attachment; filename="'],
  Location: ['Where to go on.'],
  Refresh: ['Where the page leads on to.'],
  'Set-Cookie': ['A cookie that is set, or taken back. Scripts cannot read it.'],
  'Access-Control-Allow-Origin': ['The origin whose pages may read the answer.'],
  'Access-Control-Allow-Credentials': ['Whether they may read it with a cookie.', '^true$'],
  'Access-Control-Expose-Headers': ['The headers that they may read.'],
  'WWW-Authenticate': ['By what to sign in (RFC 9110, section 11.6.1).'],
  Allow: ['The methods that the address knows; with 405, always.'],
  'Postern-Data-Age': [
    'Seconds by which the answer may be behind at most, since it was read on a standby; `0.00` when the primary answered. Only where `DATABASE_REPLICA_URL` is set.',
    '^\\d+\\.\\d\\d$',
  ],
  'Retry-After': ['Seconds to wait before the next call; with 429 and 503, always.', 1],
  'RateLimit-Limit': ['Calls a minute that the narrowest limit allows.', 1],
  'RateLimit-Remaining': ['Calls that are left of it.', 0],
  'RateLimit-Reset': ['Seconds until all of them are left again.', 0],
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
}

type References = Record<string, { $ref: string }>

/** Headers of rate limits. */
export const ofLimits = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'] as const
/** Suffix of components whose header is optional. */
const optional = '-sometimes'

const ofCrossOrigin = [
  'Access-Control-Allow-Origin',
  'Access-Control-Allow-Credentials',
  'Access-Control-Expose-Headers',
] as const

/** The headers of an answer that a route declares, as references into the components. */
export function headersOfDeclared(status: string, sender: Sender): References {
  const { always = [], sometimes = [] } = sender.sends
  const common = commonOf(sender)
  if (Number(status) >= 400) return references(common.always, [...always, ...sometimes, ...common.sometimes])
  const led = status === '303' ? (['Location'] as const) : []
  return references([...led, ...always, ...common.always], [...sometimes, ...common.sometimes])
}

/** The headers of the problem with this status, which any call may get; `default` stands for all others. */
export function headersOfProblem(status: '401' | '429' | '503' | 'default', sender: Sender): References {
  const { always = [], sometimes = [] } = sender.sends
  const common = commonOf(sender)
  const perhaps = [...always, ...sometimes, ...common.sometimes]
  // They include answers to requests that reached no route.
  if (status === 'default')
    return references(['Cache-Control'], [...ofProblems, ...common.always, ...perhaps])
  const certain = status === '401' ? 'WWW-Authenticate' : 'Retry-After'
  return references([certain, ...common.always], perhaps)
}

const ofProblems = ['Retry-After', 'WWW-Authenticate', 'Allow'] as const

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
