import type { FastifyReply, FastifyRequest } from 'fastify'
import { problems, type Problem } from '../../errors.ts'
import { wayBack } from '../requests/way-back.ts'
import { escapeHtml, narrowPage, type Site } from './html.ts'
import { signInPath } from './sign-in-path.ts'

/** What a page says about a problem. All texts are escaped when they are shown. */
export interface ProblemWords {
  title: string
  /** What happened. */
  fault: string
  /** What the person can do. */
  advice: string
  /** A link, as its address and its label. */
  way?: readonly [href: string, label: string] | undefined
}

/** Where a person goes on in an app. */
export interface AppLink {
  name: string
  href: string
}

/** The answer to a navigation that failed. The caller has set the status and the headers of the problem. */
export function sendProblemPage(reply: FastifyReply, problem: Problem, words?: ProblemWords): FastifyReply {
  const { request, server } = reply
  const html = problemPage(server.site, words ?? wordsFor(problem, request), request.id)
  return reply
    .header('content-type', 'text/html; charset=utf-8')
    .header('cache-control', 'no-store')
    .serializer((text: string) => text)
    .send(html)
}

function problemPage(site: Site, { title, fault, advice, way }: ProblemWords, requestId: string): string {
  const link =
    way === undefined
      ? ''
      : `\n<p><a class="button wide primary" href="${escapeHtml(way[0])}">${escapeHtml(way[1])}</a></p>`
  return narrowPage(
    site,
    escapeHtml(title),
    `<p class="message" role="alert">${escapeHtml(fault)}</p>
<p>${escapeHtml(advice)}</p>${link}
<p class="soft">Number for support: <code>${escapeHtml(requestId)}</code></p>`,
  )
}

/** The words for a problem. Nothing in them comes from an unknown error. */
function wordsFor(problem: Problem, request: FastifyRequest): ProblemWords {
  const { basePath } = request.server
  const home = [`${basePath}/dashboard`, 'Go to the dashboard'] as const
  const { status, code, extras } = problem
  const [, title, general] = problems[code]
  if (status === 401)
    return {
      title: 'Sign in first',
      fault: 'You are not signed in, or your session has ended.',
      advice: 'After the sign-in you come back to this page.',
      way: [signInPath(request), 'Sign in'],
    }
  if (status === 403)
    return {
      title: 'You may not open this page',
      fault: extras.detail ?? general,
      advice: 'Sign in with another account, or ask the operator for access.',
      way: home,
    }
  if (status === 404)
    return {
      title: 'Page not found',
      fault: 'There is nothing at this address.',
      advice: 'The address may be mistyped, or what it showed may have been removed.',
      way: home,
    }
  if (status >= 500) return serverWords(problem, request)
  return { title, fault: extras.detail ?? general, advice: general, way: home }
}

function serverWords({ status }: Problem, request: FastifyRequest): ProblemWords {
  const back = wayBack(request)
  const again = back === undefined ? undefined : ([back, 'Try again'] as const)
  return status === 503
    ? {
        title: 'Not available at the moment',
        fault: 'The service cannot answer right now.',
        advice: 'Try again in a minute.',
        way: again,
      }
    : {
        title: 'Something went wrong',
        fault: 'The service could not answer because of an error of its own.',
        advice: 'Try again. If it happens again, tell the operator the number below.',
        way: again,
      }
}
