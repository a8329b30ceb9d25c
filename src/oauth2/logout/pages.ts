import { escapeHtml, narrowPage, type Site } from '../../http/pages/html.ts'
import { hiddenFields, hostOf } from '../consent/consent-page.ts'

/** Asks before a sign-out that an app did not prove to be its own. */
export function confirmPage(
  site: Site,
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
  const asks = appName === undefined ? '' : ` <strong>${escapeHtml(appName)}</strong> asks for it.`
  return narrowPage(
    site,
    'Sign out?',
    `<p>You are signed in as <strong>${escapeHtml(signedInAs)}</strong>. This signs you out here and in the apps of this browser.${asks}</p>
<form method="post" action="${site.basePath}/oauth2/end-session/confirm" class="choice">
${hiddenFields(fields)}
<button class="wide primary">Sign out</button>
<a class="button wide" href="${site.basePath}/dashboard">Stay signed in</a>
</form>`,
  )
}

/** @param onward where the browser goes on: by a click, or by a Refresh header with the same address */
export function signedOutPage(site: Site, onward?: string): string {
  const link =
    onward === undefined
      ? `<a class="button wide" href="${site.basePath}/login">Sign in again</a>`
      : `<a class="button wide" href="${escapeHtml(onward)}">Continue to ${escapeHtml(hostOf(onward))}</a>`
  return narrowPage(
    site,
    'You are signed out',
    `<p>Your session in this browser has ended.</p>\n<p>${link}</p>`,
  )
}

export function refusedPage(site: Site, reason: string, supportId: string): string {
  return narrowPage(
    site,
    'Not signed out',
    `<p class="message" role="alert">${escapeHtml(reason)}<br><span class="soft">Number for support: <code>${escapeHtml(supportId)}</code></span></p>
<p>Nothing has changed. You can sign out on <a href="${site.basePath}/login">the sign-in page</a>.</p>`,
  )
}
