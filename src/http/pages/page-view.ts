import type { FastifyReply, FastifyRequest } from 'fastify'
import { HostCookie } from '../responses/host-cookie.ts'
import type { App } from '../app.ts'
import { rawQuery, readOAuthParameters } from '../requests/parameters.ts'
import { varyBy } from '../responses/cross-origin.ts'
import { refreshPage, type Site } from './html.ts'
import { languageOf, matchAccepted, matchLocales, type Language } from './language/languages.ts'
import type { Words } from './language/en.ts'

declare module 'fastify' {
  interface FastifyInstance {
    languageCookie: HostCookie
  }
}

/** What a page needs besides its content. */
export interface PageView {
  site: Site
  /** The language tag of the page. */
  language: string
  words: Words
  /** Of the request. */
  referenceId: string
}

/** Seconds for which a browser keeps the language that an app asked for: longer than a sign-in takes. */
const remembered = 1_800

/** Decorates the application with the cookie that carries the language of an app's request through the sign-in. */
export function rememberLanguages(app: App, baseUrl: () => string): void {
  app.decorate('languageCookie', new HostCookie('postern_language', baseUrl, /^[a-z]{2}$/))
}

/** Stores the language that an app asks for with `ui_locales`, if it is supported. */
export function rememberLocales(reply: FastifyReply, locales: string | undefined): void {
  const { request, server } = reply
  const code = matchLocales(locales)
  if (code !== undefined && code !== server.languageCookie.read(request))
    server.languageCookie.set(reply, code, remembered)
}

/**
 * The language of a page: that of `ui_locales`, of the app's request or of Accept-Language, in this order. It sets the headers of
 * the language.
 * @param locales `ui_locales`; default: that of the query
 */
export function pageLanguage(reply: FastifyReply, locales = localesOf(reply.request)): Language {
  const { request, server } = reply
  const code =
    matchLocales(locales) ??
    server.languageCookie.read(request) ??
    matchAccepted(request.headers['accept-language'])
  const language = languageOf(code)
  void reply.header('content-language', language.tag)
  varyBy(reply, 'Accept-Language')
  return language
}

/** The view of a page, in its language. @param locales `ui_locales`; default: that of the query */
export function pageView(reply: FastifyReply, locales?: string): PageView {
  const { tag, words } = pageLanguage(reply, locales)
  const { request, server } = reply
  return { site: server.site, language: tag, words, referenceId: referenceOf(request.id) }
}

function localesOf({ url }: FastifyRequest): string | undefined {
  return url.includes('ui_locales')
    ? readOAuthParameters(rawQuery(url), ['ui_locales']).values.ui_locales
    : undefined
}

/** Sends a page. */
export function sendPage(reply: FastifyReply, html: string): FastifyReply {
  return reply
    .type('text/html; charset=utf-8')
    .serializer((text: string) => text)
    .send(html)
}

/**
 * Answers a form with a page that redirects. Browsers apply the form-action policy of the form's page to redirects, and it lists
 * neither providers nor apps. A page with a Refresh header starts a new navigation.
 * @param label what the address belongs to
 */
export function sendRefresh(reply: FastifyReply, label: string, url: string): FastifyReply {
  return sendPage(reply.header('refresh', `0;url=${url}`), refreshPage(pageView(reply), label, url))
}

/** What a person reads out to find a request in the log: the beginning of its id, which is random. */
export function referenceOf(requestId: string): string {
  return requestId.slice(0, 8)
}
