import { escapeHtml, narrowPage, type Site } from '../http/pages/html.ts'
import { failures, type FailureCode } from './flow/failures.ts'

export interface LoginPage {
  providers: readonly { name: string; label: string; /** A data: URI. */ icon: string }[]
  /** The name of the signed-in user. */
  signedInAs: string | undefined
  error: string | undefined
  supportId: string | undefined
  /** The label of the provider of the failed sign-in. */
  failedProviderLabel: string | undefined
  /** The message of a hook that refused the sign-in. Not escaped. */
  refusal: string | undefined
  /** The name of the app that the sign-in is for. Not escaped. */
  appName: string | undefined
  /** Parameters for GET /auth/{provider}. */
  passedOn: Readonly<Record<string, string>>
  /** A validated path. */
  returnTo: string | undefined
  site: Site
  /** The name of the provider that this browser used last. */
  usedLast: string | undefined
  demo: boolean
}

/** After these failures the next sign-in asks the provider to reauthenticate the person. */
const reauthenticating: ReadonlySet<string> = new Set<FailureCode>([
  'reauthentication-needed',
  'reauthentication-unproven',
])

/** GET /login: a button for each provider, and the message of the last failure. It has no script and no inline style. */
export function loginPage(page: LoginPage): string {
  const { signedInAs, appName, error, demo } = page
  const title = titleOf(page)
  const buttons = providerButtons(page)
  return narrowPage(
    page.site,
    title,
    `${appName === undefined ? '' : `<p class="soft">To continue to <strong>${escapeHtml(appName)}</strong>.</p>`}
${error === undefined ? '' : failureMessage(error, page)}
${signedInAs === undefined ? '' : signedIn(signedInAs, page)}
${buttons.length > 0 ? `<nav aria-label="Identity providers">${buttons.join('\n')}</nav>` : '<p class="soft">No identity provider is configured. The operator sets <code>GOOGLE_CLIENT_ID</code> and <code>GOOGLE_CLIENT_SECRET</code>, or those of another provider.</p>'}
${demo ? '<p class="soft">Demo mode: the development provider lets you choose who you are.</p>' : ''}`,
  )
}

/** A button for each provider; the one that this browser used last is the first. */
function providerButtons({ providers, usedLast, error, passedOn, returnTo, site }: LoginPage): string[] {
  const parameters = new URLSearchParams({
    ...passedOn,
    ...(error !== undefined && reauthenticating.has(error) && { reauthenticate: 'true' }),
    ...(returnTo !== undefined && { return_to: returnTo }),
  })
  const query = parameters.size === 0 ? '' : `?${parameters.toString()}`
  const isLast = ({ name }: { name: string }): boolean => name === usedLast && providers.length > 1
  const ordered = [...providers.filter(isLast), ...providers.filter((provider) => !isLast(provider))]
  return ordered.map((provider) => {
    const { name, label, icon } = provider
    const mark = isLast(provider) ? ' <span class="soft mark">used last</span>' : ''
    return `<a class="button wide" rel="nofollow" href="${site.basePath}/auth/${encodeURIComponent(name)}${escapeHtml(query)}"><img class="icon" src="${escapeHtml(icon)}" alt=""> Continue with ${escapeHtml(label)}${mark}</a>`
  })
}

function failureMessage(
  code: string,
  { supportId, failedProviderLabel, refusal, signedInAs }: LoginPage,
): string {
  const known = Object.hasOwn(failures, code)
    ? failures[code as FailureCode]
    : 'The sign-in failed. Please try again.'
  const words = code === 'refused' && refusal !== undefined ? refusal : known
  const id = supportId !== undefined && /^[\w-]{1,64}$/.test(supportId) ? supportId : undefined
  const support =
    id === undefined ? '' : `<br><span class="soft">Number for support: <code>${id}</code></span>`
  const message = `<p class="message" role="alert">${escapeHtml(words)}${support}</p>`
  return code === 'identity-taken' ? message + takenIdentity(failedProviderLabel, signedInAs) : message
}

/** Accounts are never merged automatically: this tells the person how to move the identity. */
function takenIdentity(failedProviderLabel: string | undefined, signedInAs: string | undefined): string {
  const label = escapeHtml(failedProviderLabel ?? 'that provider')
  const here = signedInAs === undefined ? 'this account' : `<strong>${escapeHtml(signedInAs)}</strong>`
  return `<div class="card"><p>You have two accounts: ${here}, and the one that ${label} signs in to.</p>
<ul><li>To use the other one, sign out and continue with ${label}.</li>
<li>To move ${label} to ${here}: sign in to the other account, link a further identity to it, unlink ${label} there, then come back and link it here.</li></ul></div>
`
}

function titleOf({ signedInAs, passedOn, error }: LoginPage): string {
  if (signedInAs === undefined) return 'Sign in'
  if (passedOn['select_account'] !== undefined) return 'Choose an account'
  const asksAgain = passedOn['reauthenticate'] !== undefined || passedOn['acr_values'] !== undefined
  return asksAgain || (error !== undefined && reauthenticating.has(error)) ? 'Sign in again' : 'Signed in'
}

/** Offers to go on, unless the request needs a new sign-in: without it, the browser would come back to this page. */
function signedIn(name: string, page: LoginPage): string {
  const { appName, returnTo, site } = page
  const words = `<p>You are signed in as <strong>${escapeHtml(name)}</strong>.`
  switch (titleOf(page)) {
    case 'Choose an account':
      return `${words} Choose where the account is that you want to use.</p>`
    case 'Sign in again':
      return `${words} Sign in once more to prove that it is you.</p>`
    default:
      return `${words}</p>
<p><a class="button wide primary" href="${escapeHtml(returnTo ?? `${site.basePath}/dashboard`)}">${returnTo === undefined ? 'To the dashboard' : `Continue${appName === undefined ? '' : ` to ${escapeHtml(appName)}`}`}</a></p>
<form method="post" action="${site.basePath}/auth/logout" class="center"><button class="quiet">Sign out</button></form>
<h2>Or continue as somebody else</h2>`
  }
}
