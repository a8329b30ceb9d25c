import type { FastifyReply, FastifyRequest } from 'fastify'
import { auditOrigin, type AuditOrigin } from '../../accounts/audit/audit.ts'
import type { BoundBrowser } from '../../http/responses/host-cookie.ts'
import type { Session } from '../../accounts/sessions/session-lookup.ts'
import { clientIp } from '../../http/limits/client-address.ts'
import type { Tx } from '../../storage/database.ts'
import { type Client, provesIdentity, type ReauthenticationProof } from '../clients/client.ts'
import { askConsent } from '../consent/consent-page.ts'
import type { Consents } from '../consent/consents.ts'
import type { AuthorizationCodes } from '../token/authorization-codes.ts'
import { readHint } from '../token/id-tokens.ts'
import { AuthorizationError, RequestOver } from '../oauth-error.ts'
import type { AuthorizationRequests, Parameters, StoredRequest } from './authorization-requests.ts'
import { type Answer, type Authorization, authorizePath } from './authorize-route.ts'
import { claimsToStore, noContext, reached } from './request-parameters.ts'
import type { AuthorizationRequest } from './request-parameters.ts'
import type { OAuth2Basis } from '../services.ts'

/** A validated request, and how it came. */
export interface ValidRequest {
  client: Client
  requested: AuthorizationRequest
  parameters: Parameters
  /** The request that waited here. */
  parked: StoredRequest | undefined
  /** When it was stored, also if the client pushed it; `undefined` for one that has just arrived. */
  askedAt: number | undefined
  /** Which a parked request is bound to. */
  browser: BoundBrowser
}

interface Deciding extends OAuth2Basis {
  requests: AuthorizationRequests
  codes: AuthorizationCodes
  consents: Consents
}

/** Decides what an authorization request leads to: a code, a sign-in, a consent, or an error. */
export class Decision {
  readonly #parts: Deciding

  constructor(parts: Deciding) {
    this.#parts = parts
  }

  /** @throws AuthorizationError for the app */
  async decide(reply: FastifyReply, asked: ValidRequest): Promise<Authorization> {
    const { request } = reply
    const { clock, sessions, sessionCookie } = this.#parts
    const { requested, parked, client } = asked
    const found = await sessions.find(sessionCookie.read(request))
    // The person decided about it moments ago.
    if (parked?.outcome === 'denied') return { answer: denial }
    if (parked?.outcome === 'allowed') {
      if (!found) throw over(client)
      return { answer: { code: await this.#sameCode(found, client, parked) } }
    }
    const session = (await this.#isForAnother(found, requested)) ? undefined : found
    const now = clock.now()
    const { askedAt = now } = asked
    if (found && !session && found.createdAt >= askedAt)
      throw new AuthorizationError(
        'login_required',
        'the signed-in user is not the one that the app requested',
      )
    const accepts = client.reauthenticationProof
    const needs = missingSignIn(session, requested, { askedAt, now, accepts })
    // Asking again would not help, and a code would claim that the user was authenticated (OpenID Connect Core, section 3.1.2.1).
    if (needs?.unproven)
      throw new AuthorizationError(
        'login_required',
        'the identity provider does not prove that it authenticated the person again',
      )
    if (needs?.unmet)
      throw new AuthorizationError(
        'unmet_authentication_requirements',
        'the identity provider did not reach an acr that the app requires',
      )
    if (needs && found && !session) needs.selectAccount = true
    if (needs || !session) return this.#signIn(request, asked, needs)
    if (!(await this.#mayGoOn(session, asked))) return this.#askConsent(reply, session, asked)
    return { answer: { code: await this.issueCode(request, session, asked) } }
  }

  /**
   * A code for the person of the session. A parked request is used up in the same transaction; the same request again gets the same
   * code, as long as the app has not used it.
   * @param also runs in the same transaction
   */
  async issueCode(
    request: FastifyRequest,
    session: Session,
    asked: ValidRequest,
    also?: (tx: Tx) => Promise<void>,
  ): Promise<string> {
    const { client, requested, parked } = asked
    const { database, codes, audit, requests } = this.#parts
    if (parked?.outcome === 'allowed') return this.#sameCode(session, client, parked)
    const { userId, id: sessionId, provider, authenticatedAt: at, acr, amr } = session
    const { redirectUri, challenge, scope, resource, nonce } = requested
    const claims = claimsToStore(requested.claims, requested.acrValues, session)
    const ids = { client_id: client.id, session_id: sessionId }
    const grant = { ...ids, redirect_uri: redirectUri, challenge, scope, resource, nonce, claims }
    const authentication = { at, acr, amr, proof: session.authenticationProof ?? 'asserted' }
    const userAgent = request.headers['user-agent']
    const user = { userId, provider, address: clientIp(request), userAgent, authentication }
    const { code, statement } = codes.issue(grant, user, parked && this.#codeFor(session, parked))
    const entry = { action: 'app.authorized', target: `app:${client.id}` } as const
    const inserts = [audit.statement({ ...originOf(request, session), ...entry }), statement]
    if (!parked) {
      await database.insertTogether(inserts)
      return code
    }
    const isFirst = await database.transaction(async (tx) => {
      if (!(await requests.consume(tx, parked, 'allowed'))) return false
      await also?.(tx)
      for (const insert of inserts) await tx.executeQuery(insert)
      return true
    })
    return isFirst ? code : this.#sameCode(session, client, parked)
  }

  /** @throws RequestOver when the app has used it, or another session got it */
  async #sameCode(session: Session, client: Client, parked: StoredRequest): Promise<string> {
    const code = this.#codeFor(session, parked)
    if (!(await this.#parts.codes.isOpen(code))) throw over(client)
    return code
  }

  /** The one code of a parked request and a session. It is as unpredictable as the key, and stored as a hash only. */
  #codeFor({ id }: Session, { requestUri }: StoredRequest): string {
    return this.#parts.keyring.sign(`${requestUri}\n${id}`, codePurpose).toString('base64url')
  }

  /** Uses up the request that a user denied. Returns the response for the app. */
  async dismiss(
    request: FastifyRequest,
    session: Session,
    { client, parked }: ValidRequest,
  ): Promise<Answer> {
    const { database, audit, requests } = this.#parts
    const entry = { action: 'app.refused', code: 'access-denied', target: `app:${client.id}` } as const
    if (parked?.outcome === 'denied') return denial
    const isFirst = await database.transaction(async (tx) => {
      if (parked && !(await requests.consume(tx, parked, 'denied'))) return false
      await audit.record(tx, { ...originOf(request, session), ...entry })
      return true
    })
    if (!isFirst) throw over(client)
    return denial
  }

  /**
   * Whether the app asks for another user than the one of the session: then it must get no code (OpenID Connect Core,
   * section 3.1.2.2). A hint that this service did not sign, or that a former key signed, counts for `prompt=none` only: other
   * requests show a page.
   */
  async #isForAnother(
    session: Session | undefined,
    { idTokenHint, prompt, claims: { subjects } }: AuthorizationRequest,
  ): Promise<boolean> {
    if (!session) return false
    if (subjects && !subjects.includes(session.userId)) return true
    if (idTokenHint === undefined) return false
    const hint = await readHint(this.#parts, idTokenHint)
    return hint === undefined ? prompt.has('none') : hint.userId !== session.userId
  }

  async #mayGoOn({ userId }: Session, { client, requested }: ValidRequest): Promise<boolean> {
    if (requested.prompt.has('consent')) return false
    if (client.firstParty) return true
    // Otherwise the person, who knows whether they started the app, is the only check.
    return (
      provesIdentity(client, requested.redirectUri) &&
      this.#parts.consents.covers(userId, client.id, { ...requested, scope: requested.scopeToAllow })
    )
  }

  async #askConsent(reply: FastifyReply, session: Session, asked: ValidRequest): Promise<Authorization> {
    if (asked.requested.prompt.has('none'))
      throw new AuthorizationError('consent_required', 'the person has not allowed this app yet')
    if (session.impersonatorId !== null)
      throw new AuthorizationError('access_denied', 'an admin who acts for the person cannot allow apps')
    const { client, requested } = asked
    const requestUri = await this.#park(asked)
    return { page: await askConsent(this.#parts, reply, { client, requested, session, requestUri }) }
  }

  /** Sends the browser to the sign-in, and from there back to the parked request. */
  async #signIn(
    request: FastifyRequest,
    asked: ValidRequest,
    needs: SignInNeeds | undefined,
  ): Promise<Authorization> {
    const { client, requested } = asked
    if (requested.prompt.has('none'))
      throw new AuthorizationError('login_required', 'the person must sign in')
    if (requested.provider !== undefined && !this.#parts.isProvider(requested.provider))
      throw new AuthorizationError('invalid_request', 'no provider of this name is configured')
    const { basePath } = request.server
    const query = new URLSearchParams({
      return_to: authorizePath(basePath, client.id, await this.#park(asked)),
      ...(needs?.reauthenticate && { reauthenticate: 'true' }),
      ...(needs?.selectAccount && { select_account: 'true' }),
      ...(needs && needs.acrValues.length > 0 && { acr_values: needs.acrValues.join(' ') }),
      ...(requested.loginHint !== undefined && { login_hint: requested.loginHint }),
    })
    const page = requested.provider === undefined ? 'login' : `auth/${encodeURIComponent(requested.provider)}`
    return { redirect: `${basePath}/${page}?${query.toString()}` }
  }

  /** A parked request stays as it is, so that a sign-in after its arrival counts for it. */
  async #park({ client, parameters, parked, browser }: ValidRequest): Promise<string> {
    if (parked) return parked.requestUri
    return this.#parts.requests.store('parked', client, parameters, browser.bind())
  }
}

/** The response to an app that the user denied. */
const denial = { error: 'access_denied', error_description: 'the person did not allow this' } as const
const codePurpose = 'code of a parked request'

function over(client: Client): RequestOver {
  return new RequestOver('The request was finished already.', client)
}

function originOf(
  request: FastifyRequest,
  { id: sessionId, userId, impersonatorId }: Session,
): AuditOrigin & { userId: string } {
  return { ...auditOrigin(request), actor: `user:${impersonatorId ?? userId}`, sessionId, userId }
}

/** What a sign-in has to do before the app gets a code. */
interface SignInNeeds {
  /** The provider must authenticate the person again. */
  reauthenticate: boolean
  /** The person must be able to choose another account. */
  selectAccount: boolean
  /** Not satisfied by the session. */
  acrValues: readonly string[]
  /** The person signed in for this request, and the provider did not prove that it authenticated them again. */
  unproven: boolean
  /** The same for an `acr` that is essential (OpenID Connect Core, section 5.5.1.1). */
  unmet: boolean
}

/** Milliseconds for differences between the clocks of the provider and this machine. */
const tolerance = 60_000
/**
 * Milliseconds from a sign-in to the request that waited for it: the browser comes back at once. An older sign-in may be for
 * another request, because one that waits for up to 20 minutes can be sent to another browser.
 */
const returnsWithin = 120_000

/**
 * What the session lacks for a request; `undefined` when it is enough.
 * @param at.askedAt when the request arrived: a sign-in that was completed later counts for this request
 * @param at.accepts what the client accepts from a provider that reports no time of the authentication
 */
function missingSignIn(
  session: Session | undefined,
  { prompt, maxAge, acrValues, claims }: AuthorizationRequest,
  { askedAt, now, accepts }: { askedAt: number; now: number; accepts: ReauthenticationProof },
): SignInNeeds | undefined {
  const isForRequest =
    session !== undefined && session.createdAt >= askedAt && session.createdAt > now - returnsWithin
  const proof = session?.authenticationProof ?? 'asserted'
  const isProven = proof === 'verified' || (proof === 'asserted' && accepts === 'when-supported')
  const isFresh = isForRequest && session.authenticatedAt >= askedAt - tolerance && isProven
  const isTooOld =
    maxAge !== undefined &&
    (session === undefined || !isProven || now - session.authenticatedAt > maxAge * 1000)
  const reauthenticate = !isFresh && (prompt.has('login') || isTooOld)
  const selectAccount = !isForRequest && prompt.has('select_account')
  // A voluntary claim (OpenID Connect Core, section 5.5.1.1): after one attempt the app gets the context that there is.
  const higher = acrValues.filter((acr) => acr !== noContext)
  const lacksContext = !isForRequest && higher.length > 0 && !satisfies(session, higher)
  const unmet =
    isForRequest && claims.acr?.essential === true && acrValues.length > 0 && !satisfies(session, acrValues)
  if (session !== undefined && !reauthenticate && !selectAccount && !lacksContext && !unmet) return undefined
  const unproven = reauthenticate && isForRequest && !isProven
  return { reauthenticate, selectAccount, acrValues: lacksContext ? higher : [], unproven, unmet }
}

function satisfies(session: Session | undefined, acrValues: readonly string[]): boolean {
  return acrValues.some((acr) => reached(session, acr))
}
