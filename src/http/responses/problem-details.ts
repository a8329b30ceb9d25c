import type { FastifyBaseLogger, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { invalidBody, Problem, type ProblemCode, problems } from '../../errors.ts'
import { sendProblemPage } from '../pages/error-page.ts'
import { wantsPage } from '../requests/accept.ts'
import { NewerDatabase } from '../../storage/migrate.ts'
import { TransactionOver } from '../../storage/lazy-transaction.ts'
import { isWithoutRoom, StorageUnavailable } from '../../storage/unavailable.ts'
import type { Clock } from '../../runtime/clock.ts'

export const problemMediaType = 'application/problem+json; charset=utf-8'

/** Fastify's own errors that a client can cause: https://fastify.dev/docs/latest/Reference/Errors/ */
const fastifyErrors: Record<string, ProblemCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body-too-large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported-media-type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'bad-request',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'invalid-body',
  FST_ERR_CTP_INVALID_JSON_BODY: 'invalid-body',
  FST_ERR_BAD_URL: 'bad-request',
  FST_ERR_MAX_PARAM_LENGTH: 'uri-too-long',
}

/** Instead of Fastify's messages, which repeat the path: anyone can write a link with any text to our error page. */
const pathFaults: Readonly<Record<string, string>> = {
  FST_ERR_BAD_URL: 'The path is not percent-encoded correctly.',
  FST_ERR_MAX_PARAM_LENGTH: 'A segment of the path is too long.',
}

/** Every error as a problem: known ones as they are, all others as a bare `internal`. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof StorageUnavailable || (error instanceof TransactionOver && error.outOfTime))
    return new Problem('storage-unavailable', { retryAfter: 5, cause: error })
  // Calls that were under way when a newer version migrated.
  if (error instanceof NewerDatabase) return new Problem('database-newer', { retryAfter: 5, cause: error })
  const { code, statusCode, validation, message } = error as FastifyError
  if (validation) {
    const [first] = validation
    const pointer = first?.instancePath ?? ''
    const fault = first?.message ?? 'is not of the documented form'
    return invalidBody(pointer, `${pointer || 'The body'} ${fault}.`)
  }
  const known = code === undefined ? undefined : fastifyErrors[code]
  if (known) {
    const detail = pathFaults[code] ?? `${message.replace(/\.$/, '')}.`
    return new Problem(known, { detail, cause: error })
  }
  if (statusCode === 429) return new Problem('too-many-requests', { cause: error })
  // secure-json-parse and the like: an error of parsing that names its status.
  if (statusCode === 400)
    return new Problem('bad-request', { detail: `${message.replace(/\.$/, '')}.`, cause: error })
  return new Problem('internal', { cause: error })
}

/** The body of a problem answer (RFC 9457, section 3). */
export function problemBody(problem: Problem, requestId: string, basePath: string): Record<string, unknown> {
  const [status, title, general] = problems[problem.code]
  const { detail, advice = general, parameter, pointer } = problem.extras
  return {
    type: `${basePath}/problems/${problem.code}`,
    title,
    status,
    code: problem.code,
    detail: problem.code === 'internal' ? undefined : detail,
    advice: advice.replaceAll(/(?<= )\/(?=[a-z])/g, `${basePath}/`),
    source: parameter === undefined && pointer === undefined ? undefined : { parameter, pointer },
    requestId,
  }
}

/** The answer with a problem, without the headers of every answer. */
export function problemAnswer(problem: Problem, requestId: string, basePath: string) {
  const { retryAfter, challenge = problem.status === 401 ? 'Bearer' : undefined } = problem.extras
  return {
    status: problem.status,
    headers: {
      'content-type': problemMediaType,
      ...(retryAfter !== undefined && { 'retry-after': String(Math.max(1, Math.ceil(retryAfter))) }),
      ...(challenge !== undefined && { 'www-authenticate': challenge }),
    },
    body: JSON.stringify(problemBody(problem, requestId, basePath)),
  }
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  const { status, headers, body } = problemAnswer(problem, reply.request.id, reply.server.basePath)
  // A problem may be temporary, and may contain something about its caller.
  reply.code(status).headers(headers).header('cache-control', 'no-store')
  if (wantsPage(reply.request)) return sendProblemPage(reply, problem)
  // The response schema of the route does not describe problems.
  return reply.serializer((text: string) => text).send(body)
}

/** Statuses that concern the body. */
const bodyStatuses = new Set([400, 413, 415])

/**
 * The one place where errors become answers.
 * @param protect gives an answer its security headers, where no hook has
 */
export function answerProblems(
  app: FastifyInstance,
  allowedMethods: (url: string) => string[],
  protect: (reply: FastifyReply) => void,
  problemLog: ProblemLog,
): void {
  // 405 only if another method exists for the path. Exception: a literal path matched through a parameter route, as
  // `GET /auth/logout` through `/auth/:provider`.
  const sendNotFound = (request: FastifyRequest, reply: FastifyReply, problem: Problem): FastifyReply => {
    const allowed = allowedMethods(request.url)
    if (allowed.length === 0 || allowed.includes(request.method)) return sendProblem(reply, problem)
    return sendProblem(reply.header('allow', allowed.join(', ')), new Problem('method-not-allowed'))
  }
  app.setErrorHandler((error, request, reply) => {
    if ((error as FastifyError).code === 'FST_ERR_NOT_FOUND') {
      // The router does not know the method, such as PRI of HTTP/2: no hook has run.
      protect(reply)
      return sendNotFound(request, reply.header('connection', 'close'), new Problem('not-found'))
    }
    const problem = toProblem(error)
    problemLog.report(request.log, problem, error)
    // On an unknown path the body does not matter: 404.
    if (request.is404 && bodyStatuses.has(problem.status))
      return sendNotFound(request, reply, new Problem('not-found'))
    return problem.status === 404 ? sendNotFound(request, reply, problem) : sendProblem(reply, problem)
  })
  app.setNotFoundHandler((request, reply) => sendNotFound(request, reply, new Problem('not-found')))
}

/** Milliseconds between two lines about refused requests with the same problem. */
const lineEvery = 1_000

/** Logs the problems whose cause is the service. While it cannot serve, not each refused request gets a line with the cause. */
export class ProblemLog {
  readonly #clock: Pick<Clock, 'now'>
  readonly #lines = new Map<ProblemCode, { at: number; more: number }>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** @param log of the request */
  report(log: FastifyBaseLogger, problem: Problem, error: unknown): void {
    if (problem.code === 'internal') return log.error({ err: error }, 'request failed')
    // A lack of connections has a notice of its own (`connectionLimitNotice`).
    if (problem.status < 500 || isWithoutRoom(problem.extras.cause)) return
    const now = this.#clock.now()
    const last = this.#lines.get(problem.code)
    if (last && Math.abs(now - last.at) < lineEvery) {
      last.more += 1
      return
    }
    this.#lines.set(problem.code, { at: now, more: 0 })
    const more = last?.more ?? 0
    log.warn(
      { code: problem.code, err: problem.extras.cause, ...(more > 0 && { more }) },
      'request could not be served',
    )
  }
}
