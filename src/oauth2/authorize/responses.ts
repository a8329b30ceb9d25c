import { code, escapeHtml, narrowPage, strong } from '../../http/pages/html.ts'
import { fill } from '../../http/pages/language/languages.ts'
import type { PageView } from '../../http/pages/page-view.ts'
import { withQuery } from '../../http/requests/parameters.ts'
import { hiddenFields, hostOf } from '../consent/consent-page.ts'
import type { ReturnAddress } from './request-parameters.ts'

/** The parameters of an answer at the redirect URI. */
export type Answer = Readonly<Partial<Record<'code' | 'error' | 'error_description', string>>>

/** Where a stored request goes on. */
export function authorizePath(basePath: string, clientId: string, requestUri: string): string {
  const query = new URLSearchParams({ client_id: clientId, request_uri: requestUri })
  return `${basePath}/oauth2/authorize?${query.toString()}`
}

/** What the answer to an authorization request is. */
export type Authorization = { answer: Answer } | { redirect: string } | { page: string }

/** The answer with the app's state and this service as the issuer (RFC 6749, section 4.1.2; RFC 9207). */
export function answerParameters(
  { state }: ReturnAddress,
  answer: Answer,
  issuer: string,
): [string, string][] {
  return [
    ...Object.entries(answer),
    ...(state === null ? [] : [['state', state] as const]),
    ['iss', issuer],
  ].map(([name, value]) => [name, value])
}

/**
 * The page that posts the answer to the redirect URI (OAuth 2.0 Form Post Response Mode). Its script submits the form; without
 * scripts there is a button.
 */
export function formPostPage(
  view: PageView,
  redirectUri: string,
  parameters: readonly [string, string][],
): string {
  const { common } = view.words
  return narrowPage(
    view,
    common.oneMoment,
    `${answerForm(redirectUri, parameters, `<button class="wide primary">${common.continue}</button>`)}
<script src="${view.site.basePath}/assets/form-post.js"></script>`,
  )
}

/** The page for an error that the app gets only if the person wants to go there; see Consents.trusts. */
export function askToContinuePage(
  view: PageView,
  appName: string,
  { redirectUri, responseMode }: ReturnAddress,
  parameters: readonly [string, string][],
): string {
  const host = hostOf(redirectUri)
  const { common, apps } = view.words
  const label = fill(common.continueTo, { name: escapeHtml(host) })
  const onward =
    responseMode === 'query'
      ? `<a class="button wide" href="${escapeHtml(withQuery(redirectUri, parameters))}">${label}</a>`
      : answerForm(redirectUri, parameters, `<button class="wide">${label}</button>`)
  return narrowPage(
    view,
    apps.uncheckedTitle,
    `<p>${fill(apps.unchecked, { app: strong(appName) })}</p>
<p>${fill(apps.uncheckedAdvice, { host: code(host) })}</p>
<p>${onward}</p>`,
  )
}

function answerForm(redirectUri: string, parameters: readonly [string, string][], button: string): string {
  const fields = hiddenFields(Object.fromEntries(parameters))
  return `<form method="post" action="${escapeHtml(redirectUri)}">${fields}${button}</form>`
}

/** The policy of these pages: the form goes to the app, which may redirect further. */
export const formPostPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
