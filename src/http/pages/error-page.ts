import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Problem } from '../../errors.ts'
import { loginPath, wayBack } from '../requests/base-path.ts'
import { shownName } from '../requests/parameters.ts'
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

/** The words for a status: those of other client errors are `invalid`, and those of other faults `internal`. */
const wordsOfStatus: Readonly<
  Record<number, 'signIn' | 'forbidden' | 'notFound' | 'tooMany' | 'unavailable'>
> = {
  401: 'signIn',
  403: 'forbidden',
  404: 'notFound',
  429: 'tooMany',
  503: 'unavailable',
}

/** The words for a problem. Nothing in them comes from an unknown error. */
function generalWords(problem: Problem, words: Words, request: FastifyRequest): ProblemWords {
  const { errors, common } = words
  const { status, extras } = problem
  const name = wordsOfStatus[status] ?? (status >= 500 ? 'internal' : 'invalid')
  const texts = { title: errors[`${name}Title`], fault: errors[name], advice: errors[`${name}Advice`] }
  const back = wayBack(request)
  if (name === 'signIn') {
    const advice = back === undefined ? errors.invalidAdvice : errors.signInAdvice
    return { ...texts, advice, way: [signInPath(request), words.signIn.title] }
  }
  if (status >= 500 || name === 'tooMany')
    return { ...texts, way: back === undefined ? undefined : [back, common.tryAgain] }
  const way = [`${request.server.basePath}/dashboard`, common.goToDashboard] as const
  if (name === 'notFound') return { ...texts, way }
  return { ...texts, way, detail: shownDetail(extras) ?? (name === 'invalid' ? problem.message : undefined) }
}

/** The detail, which names an undeclared field of a form as `shownName` does. */
function shownDetail({ detail, pointer = '' }: Problem['extras']): string | undefined {
  return pointer === '' ? detail : detail?.replace(pointer, () => `/${shownName(pointer.slice(1))}`)
}

/**
 * The address of the sign-in page that leads back to what a request asked for: `/login` checks the target again, since anybody can
 * write the parameter. Without one, the sign-in leads to the dashboard.
 */
export function signInPath(request: FastifyRequest): string {
  return loginPath(request.server.basePath, { return_to: wayBack(request) })
}
