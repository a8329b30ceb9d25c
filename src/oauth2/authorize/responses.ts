import { escapeHtml, narrowPage, type Site } from '../../http/pages/html.ts'
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
  site: Site,
  redirectUri: string,
  parameters: readonly [string, string][],
): string {
  const fields = parameters.map(
    ([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  )
  return narrowPage(
    site,
    'One moment',
    `<form method="post" action="${escapeHtml(redirectUri)}">${fields.join('')}<button class="wide primary">Continue</button></form>
<script src="${site.basePath}/assets/form-post.js"></script>`,
  )
}

/** The policy of the page: the form goes to the app, which may redirect further. */
export const formPostPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
