/** What an error carries beside its code and status. */
export interface ErrorParts {
  detail?: string | undefined
  requestId?: string | undefined
  /** Seconds. */
  retryAfter?: number | undefined
  pointer?: string | undefined
  cause?: unknown
}

/**
 * An error of the service, or of the way to it. `code` is stable: that of the problem (RFC 9457), of OAuth (`invalid_grant`), or
 * one of this library: `unreachable`, `unavailable` (a 5xx of a gateway before the service), `timeout`, `unexpected-answer`,
 * `invalid-token`, `keys-unavailable`, `invalid-signature`.
 */
export class PosternError extends Error {
  override readonly name: string = 'PosternError'
  readonly code: string
  /** The HTTP status to answer with: that of the service, 401 for a refused token, 503 when the service was not reached. */
  readonly status: number
  readonly detail: string | undefined
  /** Finds the cause in the service's log. */
  readonly requestId: string | undefined
  /** Seconds after which the call may be repeated. */
  readonly retryAfter: number | undefined
  /** The field of the body that was refused, as a JSON pointer: `/price`. */
  readonly pointer: string | undefined
  /** The content of `WWW-Authenticate`, if it is more than the code. */
  challenge: string | undefined

  constructor(
    code: string,
    status: number,
    { detail, requestId, retryAfter, pointer, cause }: ErrorParts = {},
  ) {
    super(detail ?? code, cause === undefined ? undefined : { cause })
    this.code = code
    this.status = status
    this.detail = detail
    this.requestId = requestId
    this.retryAfter = retryAfter
    this.pointer = pointer
  }
}

/** 401: no credential, or one that is not valid any more. */
export class NotSignedInError extends PosternError {
  override readonly name: string = 'NotSignedInError'
}

/** 403: the credential lacks a role, a scope, a recent sign-in or a second factor; `code` says which. */
export class ForbiddenError extends PosternError {
  override readonly name: string = 'ForbiddenError'
}

/** 404 and 410. */
export class NotFoundError extends PosternError {
  override readonly name: string = 'NotFoundError'
}

/** 409. */
export class ConflictError extends PosternError {
  override readonly name: string = 'ConflictError'
}

/** 429. */
export class RateLimitedError extends PosternError {
  override readonly name: string = 'RateLimitedError'
}

/** 5xx, no answer, or none in time. */
export class UnavailableError extends PosternError {
  override readonly name: string = 'UnavailableError'
}

const classes: Record<number, typeof PosternError> = {
  401: NotSignedInError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  410: NotFoundError,
  429: RateLimitedError,
}

/** The error of the class that belongs to a status. */
export function errorOf(code: string, status: number, parts: ErrorParts = {}): PosternError {
  const Class = status >= 500 ? UnavailableError : (classes[status] ?? PosternError)
  return new Class(code, status, parts)
}

function pointerOf(source: unknown): string | undefined {
  const pointer = (source as { pointer?: unknown } | null | undefined)?.pointer
  return typeof pointer === 'string' && pointer !== '' ? pointer : undefined
}

/** The error that a response describes: a problem (RFC 9457), an error of OAuth (RFC 6749, section 5.2), or neither. */
export async function errorOfResponse(response: Response): Promise<PosternError> {
  const body = (await response.json().catch(() => undefined)) as Record<string, unknown> | null | undefined
  const text = (name: string): string | undefined => {
    const value = body?.[name]
    return typeof value === 'string' ? value : undefined
  }
  // A gateway answers with a page of its own while the service cannot be reached, and that passes.
  const unnamed = response.status >= 500 ? 'unavailable' : 'unexpected-answer'
  return errorOf(text('code') ?? text('error') ?? unnamed, response.status, {
    detail: text('detail') ?? text('error_description') ?? text('title') ?? unexplained(body, response),
    requestId: text('requestId') ?? response.headers.get('x-request-id') ?? undefined,
    retryAfter: retryAfterOf(response.headers),
    pointer: pointerOf(body?.['source']),
  })
}

/** What a log would otherwise show of a gateway's page is the code alone. */
function unexplained(body: unknown, { status }: Response): string | undefined {
  return body === undefined
    ? `The answer has the status ${status}, and no description of an error.`
    : undefined
}

/** Retry-After in seconds (RFC 9110, section 10.2.3); `undefined` without a valid one. */
export function retryAfterOf(headers: Headers, now = Date.now()): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value)
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1000))
}
