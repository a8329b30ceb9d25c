import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { problems, type Problem } from '../errors.ts'
import { brand, escapeHtml, narrowPage } from '../http/pages/html.ts'
import { problemAnswer, toProblem } from '../http/responses/problem-details.ts'

/**
 * The error handler of pages that an app sends people to: a problem that the client caused becomes a page for a browser. The
 * common error handler answers everything else.
 */
export function answerWithPage(
  error: FastifyError | Error,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const problem = toProblem(error)
  const wantsPage = request.headers.accept?.includes('text/html') === true
  if (!wantsPage || problem.status >= 500) throw error
  const { headers } = problemAnswer(problem, request.id, request.server.basePath)
  const { title, fault, advice } = wordsFor(problem)
  const page = narrowPage(
    request.server.basePath,
    `${title} · Postern`,
    `${brand(request.server.basePath)}
<h1>${escapeHtml(title)}</h1>
<p class="message" role="alert">${escapeHtml(fault)}<br><span class="soft">Number for support: <code>${escapeHtml(request.id)}</code></span></p>
<p>${advice}</p>`,
  )
  void reply
    .code(problem.status)
    .headers({ ...headers, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    .serializer((html: string) => html)
    .send(page)
}

function wordsFor({ code, extras: { detail, parameter } }: Problem): {
  title: string
  fault: string
  advice: string
} {
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
