import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { Problem, problems } from '../errors.ts'
import { sendProblemPage, type AppLink, type ProblemWords } from '../http/pages/error-page.ts'
import { wantsPage } from '../http/requests/wants-page.ts'
import { problemAnswer, toProblem } from '../http/responses/problem-details.ts'
import { linkTo, type Client } from './clients/client.ts'

/** A request that waited here is over. Its page leads back to the app, unless the app registered itself: nobody has checked it. */
export class RequestOver extends Problem {
  readonly app: string | undefined
  readonly way: AppLink | undefined

  constructor(detail: string, client: Client | undefined) {
    super('invalid-parameter', { parameter: 'request_uri', detail: `${detail} Start again in the app.` })
    this.app = client?.name
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
  void sendProblemPage(reply.code(problem.status).headers(headers), problem, wordsFor(problem))
}

function wordsFor(problem: Problem): ProblemWords {
  const { code, extras } = problem
  const { detail, parameter } = extras
  const [, title, general] = problems[code]
  const fault = detail ?? general
  // A person gets here by the browser's "Back", or after a long pause, without a fault of the app.
  if (problem instanceof RequestOver) {
    const { app, way } = problem
    const named = app === undefined ? 'the app' : app
    return {
      title: 'This sign-in is over',
      fault,
      advice: `If you are signed in at ${named} already, you can close this page.`,
      way: way && [way.href, `Back to ${way.name}`],
    }
  }
  return {
    title,
    fault: parameter === undefined ? fault : `${parameter}: ${fault}`,
    advice:
      'The app that sent you here made a wrong request. Go back and try again; if it happens again, tell the people who run the app.',
  }
}
