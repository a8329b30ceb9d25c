import { withQuery } from '../../http/requests/parameters.ts'
import { isStorableText } from '../../storage/sql-text.ts'
import type { Client } from '../clients/client.ts'
import { type IdTokenHint, readHint } from '../token/id-tokens.ts'
import type { AuditOrigin } from '../../accounts/audit/audit.ts'
import type { Session } from '../../accounts/sessions/session-lookup.ts'
import type { OAuth2Services } from '../services.ts'

/** The parameters that are read (OpenID Connect RP-Initiated Logout 1.0, section 2). Others are ignored. */
export const endSessionParameters = [
  'id_token_hint',
  'client_id',
  'post_logout_redirect_uri',
  'state',
  'ui_locales',
] as const

/** Characters of `state` at most. */
const longestState = 4096

export type EndSessionQuery = Readonly<Partial<Record<(typeof endSessionParameters)[number], string>>>

/** A validated request of an app to sign its user out. */
export interface EndSessionRequest {
  /** The app that asks; `undefined` when it is not known. */
  client: Client | undefined
  /** The sign-in that the app wants to end. */
  hint: IdTokenHint | undefined
  /** Where the browser goes afterwards: a registered URI of the app with its state. */
  redirect: string | undefined
}

/** A request to sign out that is not carried out. The message is for the person in front of the browser. */
export class RefusedSignOut extends Error {
  /** For the audit log. */
  readonly code: 'invalid-hint' | 'wrong-client' | 'unregistered-redirect-uri' | 'invalid-request'
  readonly clientId: string | undefined

  constructor(code: RefusedSignOut['code'], message: string, clientId?: string) {
    super(message)
    this.code = code
    this.clientId = clientId
  }
}

/**
 * Validates a request. The redirect URI must be registered for the app of the hint or of `client_id`, by exact comparison.
 * @throws RefusedSignOut
 */
export async function readEndSessionRequest(
  { clients, signingKeys, baseUrl }: OAuth2Services,
  query: EndSessionQuery,
): Promise<EndSessionRequest> {
  const { id_token_hint: token, client_id: clientId, post_logout_redirect_uri: redirectUri, state } = query
  const hint = token === undefined ? undefined : await readHint({ signingKeys, baseUrl }, token)
  // Keys are deleted after a rotation, hints are not. Such a hint proves nothing: the person is asked, as without one.
  const isOld = token !== undefined && !hint && (await signingKeys.namesUnknownKey(token, baseUrl()))
  if (token !== undefined && !hint && !isOld)
    throw new RefusedSignOut('invalid-hint', 'The app named a sign-in that is not of this service.')
  if (hint && clientId !== undefined && clientId !== hint.clientId)
    throw new RefusedSignOut('wrong-client', 'The app named a sign-in of another app.', hint.clientId)
  const id = hint?.clientId ?? clientId
  const client = id === undefined ? undefined : await clients.find(id)
  if (id !== undefined && !client) throw new RefusedSignOut('wrong-client', 'The app is not registered here.')
  if (redirectUri === undefined || (isOld && !client)) return { client, hint, redirect: undefined }
  if (!client?.postLogoutRedirectUris.includes(redirectUri))
    throw new RefusedSignOut(
      'unregistered-redirect-uri',
      'The app named an address that is not registered for it.',
      client?.id,
    )
  if (state !== undefined && (state.length > longestState || !isStorableText(state)))
    throw new RefusedSignOut('invalid-request', 'The state of the app is too long.', client.id)
  return { client, hint, redirect: withQuery(redirectUri, state === undefined ? [] : [['state', state]]) }
}

const purpose = 'end-session'
/** Milliseconds that the sign-out at the identity provider may take. */
const lifetime = 10 * 60_000

/** Where the browser goes after a sign-out. */
export interface Next {
  url: string
  /** Whether it goes there only by a click of the person; see Consents.trusts. */
  asks: boolean
}

type OnwardParts = Pick<OAuth2Services, 'keyring' | 'clock'>

/**
 * Carries the address of the app through the sign-out at the identity provider, as its `state`. It is signed, so that the
 * browser is sent to addresses only that this service has checked.
 * @param next the checked address, if there is one
 */
export function onwardState({ keyring, clock }: OnwardParts, next: Next | undefined): string {
  const content = JSON.stringify([clock.now() + lifetime, next?.url ?? null, next?.asks ?? false])
  return `${Buffer.from(content).toString('base64url')}.${keyring.proof(content, purpose)}`
}

/** The address in a state; `undefined` if the state has none, has expired or was not made by this service. */
export function readOnward({ keyring, clock }: OnwardParts, state: string): Next | undefined {
  const [encoded = '', proof = ''] = state.split('.')
  const content = Buffer.from(encoded, 'base64url')
  if (!keyring.verify(content, proof, purpose)) return undefined
  const [until, url, asks] = JSON.parse(content.toString()) as [number, string | null, boolean]
  return until > clock.now() && url !== null ? { url, asks } : undefined
}

/** Where a browser ends its session at a provider; `undefined` when the sign-out ends here. */
export type EndSessionUrl = (
  provider: string,
  request: { postLogoutRedirectUri: string; state: string },
) => Promise<URL | undefined>

/** The path at which browsers come back from the sign-out at their identity provider. */
export const returnPath = '/oauth2/end-session/return'

/** Whether the app showed that it got a sign-in of this session. Then it may end the session without a question. */
export async function mayEnd(
  { database, tokenFamilies }: OAuth2Services,
  session: Session,
  { hint }: EndSessionRequest,
): Promise<boolean> {
  if (!hint || hint.userId !== session.userId) return false
  return (await tokenFamilies.sessionOf(database.reader, hint.familyId)) === session.id
}

/**
 * Where the browser goes on for an app; `undefined` for our own page.
 * @param userId of the browser's session, also if it has just ended
 */
export async function nextOf(
  { consents }: OAuth2Services,
  { client, redirect }: EndSessionRequest,
  userId: string | undefined,
): Promise<Next | undefined> {
  if (!client || redirect === undefined) return undefined
  return { url: redirect, asks: !(await consents.trusts(client, userId)) }
}

/** Ends a session. Returns where the browser goes on; `undefined` for our own page. */
export async function endSession(
  parts: OAuth2Services,
  { id, userId, provider, impersonatorId }: Session,
  wanted: EndSessionRequest,
  origin: AuditOrigin,
): Promise<Next | undefined> {
  const { client } = wanted
  const { sessions, audit, endSessionUrl, baseUrl } = parts
  await sessions.revoke(userId, id, (tx) =>
    audit.record(tx, {
      ...origin,
      action: 'user.signed_out',
      userId,
      actor: `user:${impersonatorId ?? userId}`,
      sessionId: id,
      target: `session:${id}`,
      ...(client && { detail: { app: client.id } }),
    }),
  )
  const postLogoutRedirectUri = `${baseUrl().replace(/(?<!\/)\/+$/, '')}${returnPath}`
  const next = await nextOf(parts, wanted, userId)
  // The admin who acted for the user did not sign in at the user's provider.
  if (impersonatorId !== null) return next
  const atProvider = await endSessionUrl(provider, { postLogoutRedirectUri, state: onwardState(parts, next) })
  return atProvider ? { url: atProvider.href, asks: false } : next
}
