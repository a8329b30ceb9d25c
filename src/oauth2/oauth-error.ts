import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { problemAnswer, toProblem } from '../http/responses/problem-details.ts'
import { Problem } from '../errors.ts'
import { type AppLink, type ProblemWords, sendProblemPage } from '../http/pages/error-page.ts'
import type { Words } from '../http/pages/language/en.ts'
import { fill } from '../http/pages/language/languages.ts'
import { wantsPage } from '../http/requests/accept.ts'
import { type Client, linkTo } from './clients/client.ts'

/** The body of an error of RFC 6749, section 5.2. */
const OAuthErrorBody = Type.Object({ error: Type.String(), error_description: Type.String() })

/** The responses of a call that fails, for its schema. */
export const oauthErrors = { 400: OAuthErrorBody, 401: OAuthErrorBody, 413: OAuthErrorBody }

/** All others are 400 (RFC 6749, section 5.2). 404: an unknown provider in the path. 413: RFC 9126, section 2.3. */
const ownStatuses: ReadonlySet<number> = new Set([401, 404, 413])

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
    this.status = more.status ?? (error === 'invalid_client' ? 401 : 400)
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
      : { error: 'invalid_request', error_description: detailOf(toProblem(error)) }
  void reply.code(ownStatuses.has(status) ? status : 400).send(body)
}

/** The options that calls of clients have in common: what they take and answer, and the form of their errors. */
export const clientCall = <B extends TSchema, A extends TSchema>(summary: string, body: B, answer: A) => ({
  schema: { tags: ['sign-in'], summary, body, response: { 200: answer, ...oauthErrors } },
  errorHandler: answerOAuthError,
})

/**
 * An error that the client gets at its redirect URI (RFC 6749, section 4.1.2.1; OpenID Connect Core, section 3.1.2.6), or as the answer
 * when it sends such parameters itself. The description is for developers.
 */
export class AuthorizationError extends OAuthError {}

/** A request that waited here is over. Its page leads back to the app, unless the app registered itself: nobody has checked it. */
export class RequestOver extends Problem {
  readonly way: AppLink | undefined

  constructor(detail: string, client: Client | undefined) {
    super('invalid-parameter', { parameter: 'request_uri', detail: `${detail} Start again in the app.` })
    this.way = client && !client.selfRegistered ? linkTo(client) : undefined
  }
}

/** Statuses of problems that the app caused. The others concern the person's session, their rights or the service. */
const ofTheApp = new Set([400, 405, 413, 415])

/**
 * The error handler of pages that an app sends people to: a problem that the app caused becomes a page that names the app's part
 * in it. The common error handler answers everything else.
 */
export function answerWithPage(
  error: FastifyError | Error,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const problem = toProblem(error)
  if (!wantsPage(request) || !ofTheApp.has(problem.status)) throw error
  const { headers } = problemAnswer(problem, request.id, request.server.basePath)
  void sendProblemPage(reply.code(problem.status).headers(headers), problem, wordsFor)
}

function wordsFor(problem: Problem, { apps, common, errors }: Words): ProblemWords {
  // A person gets here by the browser's "Back", or after a long pause, without a fault of the app.
  if (problem instanceof RequestOver) {
    const { way } = problem
    return {
      title: apps.overTitle,
      fault: apps.over,
      advice: apps.overAdvice,
      way: way && [way.href, fill(common.backTo, { name: way.name })],
    }
  }
  return {
    title: errors.invalidTitle,
    fault: apps.invalid,
    advice: apps.invalidAdvice,
    detail: detailOf(problem),
  }
}

function detailOf({ message, extras: { parameter } }: Problem): string {
  return parameter === undefined ? message : `${parameter}: ${message}`
}
