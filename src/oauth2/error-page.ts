import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { problems } from '../errors.ts'
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
  const [, title, advice] = problems[problem.code]
  const { headers } = problemAnswer(problem, request.id, request.server.basePath)
  const { detail, parameter } = problem.extras
  const page = narrowPage(
    request.server.basePath,
    `${title} · Postern`,
    `${brand(request.server.basePath)}
<h1>${escapeHtml(title)}</h1>
<p class="message" role="alert">${escapeHtml(parameter === undefined ? '' : `${parameter}: `)}${escapeHtml(detail ?? advice)}<br><span class="soft">Number for support: <code>${escapeHtml(request.id)}</code></span></p>
<p>The app that sent you here made a wrong request. Go back and try again; if it happens again, tell the people who run the app.</p>`,
  )
  void reply
    .code(problem.status)
    .headers({ ...headers, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    .serializer((html: string) => html)
    .send(page)
}
