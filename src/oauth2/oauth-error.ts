import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { toProblem } from '../http/responses/problem-details.ts'

/** The body of an error of RFC 6749, section 5.2. */
const OAuthErrorBody = Type.Object({ error: Type.String(), error_description: Type.String() })

/** The responses of a call that fails, for its schema. */
export const oauthErrors = { 400: OAuthErrorBody, 401: OAuthErrorBody, 413: OAuthErrorBody }

/** All others are 400 (RFC 6749, section 5.2). 413: RFC 9126, section 2.3. */
const ownStatuses: ReadonlySet<number> = new Set([401, 413])

/** An error that clients get in the form of RFC 6749, section 5.2. */
export class OAuthError extends Error {
  readonly error: string
  readonly status: number
  /** `WWW-Authenticate`, for a client that used the Authorization header. */
  readonly challenge: string | undefined

  constructor(
    error: string,
    description: string,
    more: { status?: number; challenge?: string | undefined } = {},
  ) {
    super(description)
    this.error = error
    this.status = more.status ?? 400
    this.challenge = more.challenge
  }
}

/**
 * The error handler of routes that clients call. RFC 6749 has no error code for faults of the service, rate limits and slow
 * bodies: the common error handler answers those.
 */
export function answerOAuthError(
  error: FastifyError | Error,
  _request: FastifyRequest,
  reply: FastifyReply,
): void {
  const status = error instanceof OAuthError ? error.status : toProblem(error).status
  if (status >= 500 || status === 429 || status === 408) throw error
  if (error instanceof OAuthError && error.challenge !== undefined)
    void reply.header('www-authenticate', error.challenge)
  const body =
    error instanceof OAuthError
      ? { error: error.error, error_description: error.message }
      : { error: 'invalid_request', error_description: toProblem(error).message }
  void reply.code(ownStatuses.has(status) ? status : 400).send(body)
}

/** The options that calls of clients have in common: what they take and answer, and the form of their errors. */
export const clientCall = <B extends TSchema, A extends TSchema>(summary: string, body: B, answer: A) => ({
  schema: { tags: ['sign-in'], summary, body, response: { 200: answer, ...oauthErrors } },
  errorHandler: answerOAuthError,
})

/**
 * An error that the client gets at its redirect URI (RFC 6749, section 4.1.2.1; OpenID Connect Core, section 3.1.2.6).
 * The description is for developers.
 */
export class AuthorizationError extends Error {
  readonly error: string

  constructor(error: string, description: string) {
    super(description)
    this.error = error
  }
}
