/**
 * Every problem that a client can be answered with (RFC 9457): a stable code, the status, a title and what to do.
 * The reference page and GET /problems/{code} are made from this table.
 */
export const problems = {
  'bad-request': [400, 'Malformed request', 'Correct the request as the detail says.'],
  'invalid-parameter': [400, 'Invalid parameter', 'Correct the parameter that the response names.'],
  'invalid-body': [
    400,
    'Invalid body',
    'Send a body in the documented format. The detail names the first invalid field.',
  ],
  'invalid-cursor': [
    400,
    'Invalid cursor',
    'Send a cursor exactly as you received it, with the same filters and sort. Omit it to start over.',
  ],
  'malformed-event': [
    400,
    'Malformed event',
    'Send a JSON object with a non-empty string `id` and a non-empty string `type`.',
  ],
  'not-signed-in': [
    401,
    'Credentials are missing or no longer valid',
    'Sign in at /login, or send `Authorization: Bearer <API key or access token>`.',
  ],
  forbidden: [403, 'Not allowed', 'Use credentials with the permission that the detail names.'],
  'insufficient-scope': [
    403,
    'The API key lacks a scope',
    'Use a key with the scope that the detail names: `postern keys create NAME --scope SCOPE`.',
  ],
  'foreign-origin': [
    403,
    'Cross-site request rejected',
    'Call from the same origin, or authenticate with an Authorization header instead of the cookie.',
  ],
  'reauthentication-needed': [
    403,
    'A recent sign-in is needed',
    'Sign in again at /auth/{provider}?reauthenticate=true, then repeat the request.',
  ],
  'second-factor-needed': [
    403,
    'A sign-in with a second factor is needed',
    'Sign in again at /auth/{provider}?second_factor=true, then repeat the request.',
  ],
  impersonating: [
    403,
    'Not allowed while acting for a user',
    'Stop acting for the user: POST /auth/impersonation/stop, or the button on each page.',
  ],
  'not-found': [404, 'Not found', 'Check the URL and the ID.'],
  'unknown-provider': [
    404,
    'Unknown identity provider',
    'Use a provider that is configured; GET /login shows them.',
  ],
  'method-not-allowed': [405, 'Method not allowed', 'Use a method that the Allow header names.'],
  'not-acceptable': [406, 'Response format not available', 'Send the Accept header that the detail names.'],
  'request-timeout': [
    408,
    'The request took too long to arrive',
    'Send headers and body without long pauses.',
  ],
  conflict: [409, 'Conflict', 'See the detail.'],
  'id-conflict': [
    409,
    'An event with this ID and different content already exists',
    'Use a new ID for new content. To repeat a request, send the same content.',
  ],
  'other-portal-session': [
    409,
    'The portal is open for another customer',
    'Ask the user. To end that session, repeat the request with `replace: true`. The link stays valid meanwhile.',
  ],
  'last-identity': [409, 'The last identity cannot be unlinked', 'Link another identity first.'],
  'last-admin': [
    409,
    'This is the last admin',
    'Grant another account the admin role first, or use the command line: postern users role, postern users block.',
  ],
  'identity-taken': [
    409,
    'This identity belongs to another account',
    'Sign in with it, or unlink it there first.',
  ],
  'misdirected-request': [
    421,
    'Addressed to another host',
    'Call a service in demo mode as localhost, 127.0.0.1 or [::1]. To serve other hosts, run it with NODE_ENV=production.',
  ],
  'no-longer-kept': [
    410,
    'No longer stored',
    'Raise PAYLOAD_RETENTION_DAYS to store new data longer. Deleted data cannot be restored.',
  ],
  'body-too-large': [413, 'The body is too large', 'Send a smaller body. The detail names the limit.'],
  'uri-too-long': [414, 'The URL is too long', 'Send fewer or shorter parameters.'],
  'unsupported-media-type': [415, 'Unsupported media type', 'Send `Content-Type: application/json`.'],
  unprocessable: [422, 'The request cannot be processed', 'See the detail.'],
  'prefetch-rejected': [
    425,
    'Prefetch rejected',
    'Open the link directly. It has side effects, so it cannot be prefetched.',
  ],
  'too-slow': [
    422,
    'The query takes too long',
    'Select fewer rows with filters. A statement may take as long as the detail says.',
  ],
  'headers-too-large': [431, 'The headers are too large', 'Send fewer or shorter headers.'],
  'too-many-requests': [429, 'Too many requests', 'Wait for the time in Retry-After.'],
  internal: [500, 'Internal error', 'Repeat the request later. The log has the cause under the request ID.'],
  'body-consumed': [
    500,
    'The body was read before it reached Postern',
    'Mount Postern before parsers such as `express.json()`, or exclude its paths from them; in an API route of Next.js set `export const config = { api: { bodyParser: false } }`.',
  ],
  'provider-unavailable': [503, 'The identity provider is unavailable', 'Try again in a minute.'],
  'client-document-unavailable': [
    503,
    'App metadata document unavailable',
    'Try again in a minute. The document at the client_id must be public, and its server must respond within five seconds.',
  ],
  overloaded: [503, 'Too busy', 'Repeat the request after the time in Retry-After.'],
  'storage-unavailable': [
    503,
    'The database is unavailable',
    'Repeat the request after the time in Retry-After.',
  ],
  'database-newer': [
    503,
    'The database belongs to a newer version',
    'Repeat the request: a process of the newer version will handle it. The log names the change that this process does not know.',
  ],
  stopping: [503, 'The service is stopping', 'Repeat the request: another process will handle it.'],
} as const satisfies Record<string, readonly [status: number, title: string, advice: string]>

export type ProblemCode = keyof typeof problems

interface ProblemExtras {
  detail?: string
  /** What to do, where the text of the code would be wrong for the caller. */
  advice?: string
  /** The parameter at fault, as JSON:API's `source.parameter`. */
  parameter?: string
  /** A JSON pointer to the field at fault. */
  pointer?: string
  /** Seconds, sent as the Retry-After header. */
  retryAfter?: number
  /** Sent as the WWW-Authenticate header (RFC 9110, section 11.6.1); default `Bearer` with 401. */
  challenge?: string
  cause?: unknown
}

/** An error that the client is told about, as problem details. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly status: number
  readonly extras: ProblemExtras

  constructor(code: ProblemCode, extras: ProblemExtras = {}) {
    super(
      extras.detail ?? problems[code][1],
      extras.cause === undefined ? undefined : { cause: extras.cause },
    )
    this.name = 'Problem'
    this.code = code
    this.status = problems[code][0]
    this.extras = extras
  }
}

/** @param pointer a JSON pointer to the field at fault */
export function invalidBody(pointer: string, detail: string): Problem {
  return new Problem('invalid-body', { detail, pointer })
}
