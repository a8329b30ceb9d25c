import { escapeHtml, narrowPage, type Site } from '../../http/pages/html.ts'
import { documentHost, type Client } from '../clients/client.ts'
import { describeScope } from './scope-descriptions.ts'

export interface ConsentPage {
  site: Site
  client: Pick<Client, 'id' | 'name' | 'selfRegistered'>
  /** Where the app gets its answer. */
  redirectUri: string
  /** What the app asks for, separated by spaces. */
  scope: string
  /** The APIs that the app asks for, separated by spaces. */
  resource: string | null
  /** The name or the e-mail address of the signed-in user. */
  signedInAs: string
  /** The fields of the form that name the request; see ConsentForms. */
  fields: Readonly<Record<string, string>>
}

/** Asks whether an app may have what it asks for. It has no script: the form is posted to /oauth2/consent. */
export function consentPage(page: ConsentPage): string {
  const { site, client, redirectUri, scope, resource, signedInAs, fields } = page
  const name = escapeHtml(client.name)
  const host = documentHost(client)
  // The document only claims the name; the host is proven.
  const identity = host === undefined ? '' : ` It identifies itself as ${code(host)}.`
  return narrowPage(
    site,
    `Allow ${name}?`,
    `<p>You are signed in as <strong>${escapeHtml(signedInAs)}</strong>.</p>
<div class="card"><p><strong>${name}</strong> asks to:</p>
${rightsList({ scope, resource })}
</div>
<p class="soft">The answer goes to ${code(hostOf(redirectUri))}.${identity} Allow this only if you know this app. You can remove it later in your account.</p>
<form method="post" action="${site.basePath}/oauth2/consent" class="choice">
${hiddenFields(fields)}
<button class="wide primary" name="decision" value="allow">Allow</button>
<button class="wide" name="decision" value="deny">Do not allow</button>
</form>`,
  )
}

/** What an app asks for: the scopes as a list in plain words, and the APIs. */
export function rightsList({ scope, resource }: Pick<ConsentPage, 'scope' | 'resource'>): string {
  const apis = resource === null ? '' : `\n<p>It uses ${resource.split(' ').map(code).join(', ')}.</p>`
  return `${scopeList(scope)}${apis}`
}

/** A scope of the product's own APIs is shown by its name. */
function scopeList(scope: string): string {
  const scopes = scope.split(' ').filter((one) => one !== '')
  if (scopes.length === 0) return '<ul><li>Sign you in.</li></ul>'
  const items = scopes.map((one) => {
    const words = describeScope(one)
    return `<li>${words === undefined ? `Use ${code(one)}.` : escapeHtml(words)}</li>`
  })
  return `<ul>${items.join('\n')}</ul>`
}

export function hiddenFields(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`)
    .join('\n')
}

export function code(text: string): string {
  return `<code>${escapeHtml(text)}</code>`
}

/** The host of a redirect URI; with the scheme of a native app, whose host is any text. */
export function hostOf(redirectUri: string): string {
  const { host, protocol } = new URL(redirectUri)
  if (/^https?:$/.test(protocol)) return host
  return host === '' ? protocol : `${protocol}//${host}`
}
