import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../errors.ts'
import { sendProblemPage, type AppLink, type ProblemWords } from '../http/pages/error-page.ts'
import type { Words } from '../http/pages/language/en.ts'
import { fill } from '../http/pages/language/languages.ts'
import { wantsPage } from '../http/requests/wants-page.ts'
import { problemAnswer, toProblem } from '../http/responses/problem-details.ts'
import { linkTo, type Client } from './clients/client.ts'

/** A request that waited here is over. Its page leads back to the app, unless the app registered itself: nobody has checked it. */
export class RequestOver extends Problem {
  readonly way: AppLink | undefined

  constructor(detail: string, client: Client | undefined) {
    super('invalid-parameter', { parameter: 'request_uri', detail: `${detail} Start again in the app.` })
    this.way = client && !client.selfRegistered ? linkTo(client) : undefined
  }
}

/**
 * The error handler of pages that an app sends people to: a problem that the client caused becomes a page that names the app's
 * part in it. The common error handler answers everything else.
 */
export function answerWithPage(
  error: FastifyError | Error,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const problem = toProblem(error)
  if (!wantsPage(request) || problem.status >= 500) throw error
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
  const { detail = problem.message, parameter } = problem.extras
  return {
    title: errors.invalidTitle,
    fault: apps.invalid,
    advice: apps.invalidAdvice,
    detail: parameter === undefined ? detail : `${parameter}: ${detail}`,
  }
}
