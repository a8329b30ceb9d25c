import { code, escapeHtml, narrowPage, strong } from '../../http/pages/html.ts'
import { en, type Words } from '../../http/pages/language/en.ts'
import { fill, sentences } from '../../http/pages/language/languages.ts'
import { pageView, type PageView } from '../../http/pages/page-view.ts'
import { type Client, documentHost } from '../clients/client.ts'
import { isScope, scopes } from '../../http/access/principal.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { FastifyReply } from 'fastify'
import type { Session } from '../../accounts/sessions/session-lookup.ts'
import type { AuthorizationRequest } from '../authorize/request-parameters.ts'
import type { OAuth2Basis } from '../services.ts'

interface ConsentPage {
  view: PageView
  client: Pick<Client, 'id' | 'name' | 'selfRegistered'>
  /** Where the app gets its answer. */
  redirectUri: string
  /** What the app asks for, separated by spaces. */
  scope: string
  /** The APIs that the app asks for, separated by spaces. */
  resource: string | null
  /** The name or the e-mail address of the signed-in user. */
  signedInAs: string
  /** The fields of the form that name the request. */
  fields: Readonly<Record<string, string>>
}

/** Asks whether an app may have what it asks for. It has no script: the form is posted to /oauth2/consent. */
export function consentPage(page: ConsentPage): string {
  const { view, client, redirectUri, signedInAs, fields } = page
  const { consent, common } = view.words
  const host = documentHost(client)
  // The document only claims the name; the host is proven.
  const identity = host === undefined ? '' : fill(consent.identity, { host: code(host) })
  const destination = fill(consent.destination, { host: code(hostOf(redirectUri)) })
  return narrowPage(
    view,
    fill(consent.title, { app: escapeHtml(client.name) }),
    `<p>${fill(common.signedInAs, { name: strong(signedInAs) })}</p>
<div class="card"><p>${fill(consent.wants, { app: strong(client.name) })}</p>
${rightsList(view.words, page)}
</div>
<p class="soft">${sentences(view.language, destination, identity, consent.caution)}</p>
<form method="post" action="${view.site.basePath}/oauth2/consent" class="choice">
${hiddenFields(fields)}
<button class="wide primary" name="decision" value="allow">${common.allow}</button>
<button class="wide" name="decision" value="deny">${common.deny}</button>
</form>`,
  )
}

/** What an app asks for: the scopes as a list in plain words, and the APIs. */
export function rightsList(
  words: Words,
  { scope, resource }: { scope: string; resource: string | null },
): string {
  const apis =
    resource === null
      ? ''
      : `\n<p>${fill(words.consent.apis, { apis: resource.split(' ').map(code).join(', ') })}</p>`
  return `${scopeList(words, scope)}${apis}`
}

/** A scope of the product's own APIs is shown by its name. */
function scopeList({ consent, scopes: ofUser }: Words, scope: string): string {
  const asked = scope.split(' ').filter((one) => one !== '')
  if (asked.length === 0) return `<ul><li>${ofUser.openid}</li></ul>`
  const items = asked.map((one) => {
    if (isUserScope(one)) return `<li>${ofUser[one]}</li>`
    return isScope(one)
      ? `<li lang="en">${escapeHtml(scopes[one])}</li>`
      : `<li>${fill(consent.useScope, { scope: code(one) })}</li>`
  })
  return `<ul>${items.join('\n')}</ul>`
}

export function hiddenFields(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`)
    .join('\n')
}

/** The host of a redirect URI; with the scheme of a native app, whose host is any text. */
export function hostOf(redirectUri: string): string {
  const { host, protocol } = new URL(redirectUri)
  if (/^https?:$/.test(protocol)) return host
  return host === '' ? protocol : `${protocol}//${host}`
}

function isUserScope(scope: string): scope is keyof Words['scopes'] {
  return Object.hasOwn(en.scopes, scope)
}

const purpose = 'consent'

/** What a person is asked to allow. */
interface ConsentQuestion {
  client: Client
  requested: AuthorizationRequest
  session: Session
  /** Of the parked request. */
  requestUri: string
}

/**
 * Binds a consent form to its session and its request: a form that was made for another session, or that listed other scopes or APIs, is
 * rejected. JSON, so that the parts cannot run into each other.
 */
function bound({ session, client, requestUri, requested }: ConsentQuestion): string {
  return JSON.stringify([session.id, client.id, requestUri, requested.scopeToAllow, requested.resource])
}

/** Whether a form with this proof asked the question. */
export function isFormOf(keyring: Keyring, question: ConsentQuestion, proof: string): boolean {
  return keyring.verify(bound(question), proof, purpose)
}

/** Asks a person whether an app may have what it asks for. */
export async function askConsent(
  parts: OAuth2Basis,
  reply: FastifyReply,
  question: ConsentQuestion,
): Promise<string> {
  const { client, requested, session, requestUri } = question
  const proof = parts.keyring.proof(bound(question), purpose)
  return consentPage({
    view: pageView(reply),
    client,
    redirectUri: requested.redirectUri,
    scope: requested.scopeToAllow,
    resource: requested.resource,
    signedInAs: await personOf(parts, session),
    fields: { client_id: client.id, request_uri: requestUri, proof },
  })
}

/** How pages name the person of a session. */
export async function personOf({ users, database }: OAuth2Basis, { userId }: Session): Promise<string> {
  const user = await users.find(database.reader, userId)
  return user?.name ?? user?.email ?? userId
}
