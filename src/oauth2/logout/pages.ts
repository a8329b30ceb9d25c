import { escapeHtml, narrowPage, strong, supportLine } from '../../http/pages/html.ts'
import { fill, sentences } from '../../http/pages/language/languages.ts'
import type { PageView } from '../../http/pages/page-view.ts'
import { hiddenFields, hostOf } from '../consent/consent-page.ts'

/** Asks before a sign-out that an app did not prove to be its own. */
export function confirmPage(
  view: PageView,
  {
    appName,
    signedInAs,
    fields,
  }: {
    appName: string | undefined
    signedInAs: string
    /** What the form sends back. */
    fields: Readonly<Record<string, string>>
  },
): string {
  const { words, site } = view
  const { signOut, common } = words
  const requestedBy = appName === undefined ? '' : fill(signOut.requestedBy, { app: strong(appName) })
  const who = fill(common.signedInAs, { name: strong(signedInAs) })
  return narrowPage(
    view,
    signOut.title,
    `<p>${sentences(view.language, who, signOut.consequence, requestedBy)}</p>
<form method="post" action="${site.basePath}/oauth2/end-session/confirm" class="choice">
${hiddenFields(fields)}
<button class="wide primary">${signOut.confirm}</button>
<a class="button wide" href="${site.basePath}/dashboard">${signOut.stay}</a>
</form>`,
  )
}

/** @param onward where the browser goes on: by a click, or by a Refresh header with the same address */
export function signedOutPage(view: PageView, onward?: string): string {
  const { signOut, common } = view.words
  const link =
    onward === undefined
      ? `<a class="button wide" href="${view.site.basePath}/login">${signOut.again}</a>`
      : `<a class="button wide" href="${escapeHtml(onward)}">${fill(common.continueTo, { name: escapeHtml(hostOf(onward)) })}</a>`
  return narrowPage(view, signOut.doneTitle, `<p>${signOut.done}</p>\n<p>${link}</p>`)
}

/** @param reason for developers, in English */
export function refusedPage(view: PageView, reason: string): string {
  const { signOut } = view.words
  return narrowPage(
    view,
    signOut.rejectedTitle,
    `<p class="message" role="alert">${signOut.rejected}<br>${supportLine(view)}</p>
<p>${signOut.rejectedAdvice}</p>
<p class="soft detail" lang="en">${escapeHtml(reason)}</p>
<p><a class="button wide" href="${view.site.basePath}/login">${signOut.signInPage}</a></p>`,
  )
}
