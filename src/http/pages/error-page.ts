import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Problem } from '../../errors.ts'
import { escapeHtml, narrowPage, supportLine } from './html.ts'
import type { Words } from './language/en.ts'
import { pageView, type PageView, sendPage } from './page-view.ts'

/** What a page says about a problem. All texts are escaped when they are shown. */
export interface ProblemWords {
  title: string
  /** What happened. */
  fault: string
  /** What the person can do. */
  advice: string
  /** A link, as its address and its label. */
  way?: readonly [href: string, label: string] | undefined
  /** For developers, in English. */
  detail?: string | undefined
}

/** Where a person goes on in an app. */
export interface AppLink {
  name: string
  href: string
}

/** The answer to a navigation that failed. The caller has set the status and the headers of the problem. */
export function sendProblemPage(
  reply: FastifyReply,
  problem: Problem,
  wordsFor: (problem: Problem, words: Words, request: FastifyRequest) => ProblemWords = generalWords,
): FastifyReply {
  const view = pageView(reply)
  const html = problemPage(view, wordsFor(problem, view.words, reply.request))
  return sendPage(reply.header('cache-control', 'no-store'), html)
}

function problemPage(view: PageView, { title, fault, advice, way, detail }: ProblemWords): string {
  const link =
    way === undefined
      ? ''
      : `\n<p><a class="button wide primary" href="${escapeHtml(way[0])}">${escapeHtml(way[1])}</a></p>`
  const technical = detail === undefined ? '' : `\n<p class="soft detail" lang="en">${escapeHtml(detail)}</p>`
  return narrowPage(
    view,
    escapeHtml(title),
    `<p class="message" role="alert">${escapeHtml(fault)}</p>
<p>${escapeHtml(advice)}</p>${technical}${link}
<p>${supportLine(view)}</p>`,
  )
}

/** The words for a problem. Nothing in them comes from an unknown error. */
function generalWords(problem: Problem, words: Words, request: FastifyRequest): ProblemWords {
  const { errors, common } = words
  const home = [`${request.server.basePath}/dashboard`, common.goToDashboard] as const
  const back = wayBack(request)
  const again = back === undefined ? undefined : ([back, common.tryAgain] as const)
  const { status, extras } = problem
  const { detail } = extras
  if (status === 401)
    return {
      title: errors.signInTitle,
      fault: errors.signIn,
      advice: errors.signInAdvice,
      way: [signInPath(request), words.signIn.title],
    }
  if (status === 403)
    return {
      title: errors.forbiddenTitle,
      fault: errors.forbidden,
      advice: errors.forbiddenAdvice,
      way: home,
      detail,
    }
  if (status === 404)
    return { title: errors.notFoundTitle, fault: errors.notFound, advice: errors.notFoundAdvice, way: home }
  if (status === 429)
    return { title: errors.tooManyTitle, fault: errors.tooMany, advice: errors.tooManyAdvice, way: again }
  if (status === 503)
    return {
      title: errors.unavailableTitle,
      fault: errors.unavailable,
      advice: errors.unavailableAdvice,
      way: again,
    }
  if (status >= 500)
    return { title: errors.internalTitle, fault: errors.internal, advice: errors.internalAdvice, way: again }
  return {
    title: errors.invalidTitle,
    fault: errors.invalid,
    advice: errors.invalidAdvice,
    way: home,
    detail: detail ?? problem.message,
  }
}

/**
 * The address of the sign-in page that leads back to what a request asked for: `/login` checks the target again, since anybody can
 * write the parameter. Without one, the sign-in leads to the dashboard.
 */
export function signInPath(request: FastifyRequest): string {
  const login = `${request.server.basePath}/login`
  const back = request.url === '/dashboard' ? undefined : wayBack(request)
  return back === undefined ? login : `${login}?${new URLSearchParams({ return_to: back }).toString()}`
}

/** Characters of the path to which a sign-in leads back. */
export const longestWayBack = 2048

/**
 * The path and query that lead a browser back to the page that it asked for: below the base path, and never at another site.
 * `undefined` for other methods than GET, and for targets that are too long or no path of this service.
 */
function wayBack({ url, method, server: { basePath } }: FastifyRequest): string | undefined {
  // The target of the absolute form (RFC 9112, section 3.2.2) names a host, and `//host` would be another site.
  return method === 'GET' && url.length <= longestWayBack && /^\/(?![/\\])/.test(url)
    ? basePath + url
    : undefined
}
