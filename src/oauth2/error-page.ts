import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { problems, type Problem } from '../errors.ts'
import { sendProblemPage, type ProblemWords } from '../http/pages/error-page.ts'
import { wantsPage } from '../http/requests/wants-page.ts'
import { problemAnswer, toProblem } from '../http/responses/problem-details.ts'

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

function wordsFor({ code, extras: { detail, parameter } }: Problem): ProblemWords {
  const [, title, general] = problems[code]
  const fault = detail ?? general
  // A person gets here by the browser's "Back", or after a long pause, without a fault of the app.
  if (parameter === 'request_uri')
    return {
      title: 'This sign-in is over',
      fault,
      advice: 'If you are signed in at the app already, you can close this page.',
    }
  return {
    title,
    fault: parameter === undefined ? fault : `${parameter}: ${fault}`,
    advice:
      'The app that sent you here made a wrong request. Go back and try again; if it happens again, tell the people who run the app.',
  }
}
