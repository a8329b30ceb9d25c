import { usersOfAddress } from '../accounts/users/identities.ts'
import { basePathOf, loginPath } from '../http/requests/base-path.ts'
import { withQuery } from '../http/requests/parameters.ts'
import { maxAgeUntil } from '../http/responses/host-cookie.ts'
import type { AuditOrigin } from '../accounts/audit/audit.ts'
import type { Accounts } from '../accounts/index.ts'
import type { LoginParts } from './services.ts'
import type { Tx } from '../storage/database.ts'
import type { Row } from '../storage/tables.ts'
import type { AppLink } from '../http/pages/error-page.ts'
import { appOf, entryOf, type FlowOutcome, type Flows, type Offer, offerId } from './flow/flows.ts'
import { SignInFailure } from './flow/failures.ts'
import type { Newcomer, Provisioning, SignInContext } from './provisioning.ts'
import type { AppRequest, SignedInUser } from '../accounts/sessions/authentication.ts'
import type { VerifiedIdentity } from './provider-client/profile.ts'

export interface Browser {
  /** Where the callback came from. */
  origin: AuditOrigin & { address: string }
  /** The value of the callback's session cookie. */
  sessionToken: string | undefined
}

/** What the callback answers with. */
export type SignedIn =
  /** Without a token, the browser has the session already. */
  | { kind: 'session'; token: string | undefined; maxAge: number; redirect: string }
  | { kind: 'app'; redirect: string }
  /** The same failure again. */
  | { kind: 'failed'; redirect: string }
  /** Nobody is signed in yet: the page asks whether to link the identity. */
  | { kind: 'offer'; redirect: string }
  /** The app has used its code. */
  | { kind: 'finished'; app: AppLink | undefined }

interface Completion {
  browser: Browser
  /** The session token, or the app's code, that the sign-in ends in. */
  token: string
  /** The identity of an earlier sign-in that this one links. */
  offer?: Offer | undefined
}

type SignInNeeds = Pick<LoginParts, 'database' | 'clock' | 'apps' | 'baseUrl'> &
  Pick<Accounts, 'sessions' | 'roleChanges' | 'recentSignIn'> & {
    provisioning: Provisioning
    flows: Flows
  }

/** Completes a sign-in with a verified identity: a session for a browser, a code for an app, or a linked identity. */
export class SignIn {
  readonly #parts: SignInNeeds

  constructor(parts: SignInNeeds) {
    this.#parts = parts
  }

  /** @throws SignInFailure when the identity may not be used for this flow. */
  async complete(flow: Row<'flows'>, verified: VerifiedIdentity, completion: Completion): Promise<SignedIn> {
    const app = appOf(flow)
    try {
      if (flow.purpose === 'link') return await this.#link(flow, verified, completion)
      if (app) return await this.#signInApp(flow, verified, app, completion)
      return await this.#signInBrowser(flow, verified, completion)
    } catch (error) {
      if (!(error instanceof SignInFailure && error.code === 'account-exists')) throw error
      const basePath = basePathOf(this.#parts.baseUrl())
      // The page asks whether to link the identity.
      const redirect = loginPath(basePath, { offer: offerId({ row: flow }), return_to: flow.return_to })
      await this.#parts.flows.offer(flow, verified, redirect)
      return { kind: 'offer', redirect }
    }
  }

  /**
   * The outcome of a sign-in again: the same failure, the same session, or the same code while its app has not used it. `undefined` if
   * the session has ended or belongs to another sign-in by now.
   */
  async repeat(
    flow: Row<'flows'>,
    outcome: FlowOutcome,
    { browser, token }: Pick<Completion, 'browser' | 'token'>,
  ): Promise<SignedIn | undefined> {
    const { apps, sessions, clock, baseUrl } = this.#parts
    const { return_to: redirect } = flow
    if (outcome.kind === 'failed') return { kind: 'failed', redirect: outcome.location }
    if (outcome.kind === 'app') {
      const app = appOf(flow)
      return app && (await apps.isOpen(token))
        ? { kind: 'app', redirect: appRedirect(app, baseUrl(), { code: token }) }
        : { kind: 'finished', app: await apps.linkTo(flow.client_id ?? '') }
    }
    const current = await sessions.find(browser.sessionToken)
    if (current?.id === outcome.sessionId) return { kind: 'session', token: undefined, maxAge: 0, redirect }
    // The answer to the first callback was lost.
    const session = await sessions.find(token)
    if (session?.id !== outcome.sessionId) return undefined
    const maxAge = maxAgeUntil(session.expiresAt, clock.now())
    return { kind: 'session', token, maxAge, redirect }
  }

  async #signInBrowser(
    flow: Row<'flows'>,
    verified: VerifiedIdentity,
    { browser: { sessionToken, origin }, token, offer }: Completion,
  ): Promise<SignedIn> {
    const { sessions, provisioning, flows } = this.#parts
    const session = await this.#transaction(async (tx) => {
      if (flow.pending !== null) await flows.useOffer(tx, flow)
      const user = await provisioning.findOrCreateUser(tx, { verified, origin, entry: entryOf(flow) })
      const created = await sessions.create(
        tx,
        { ...signedInUser(user.userId, verified, origin), token },
        sessionToken,
      )
      await flows.settle(tx, flow, { kind: 'session', sessionId: created.id })
      const context = { origin, client: undefined, target: `session:${created.id}` }
      const emitted = await provisioning.onSignIn(tx, user, verified, context)
      const session = { sessionId: created.id, token }
      const linked = offer && (await this.#linkOffered(tx, user, verified, offer, { context, session }))
      return { emitted: emitted || linked === true, result: created }
    })
    return { kind: 'session', token: session.token, maxAge: session.maxAge, redirect: flow.return_to }
  }

  /** The app gets a one-time code. The browser gets no session: it belongs to the app's sign-in only. */
  async #signInApp(
    flow: Row<'flows'>,
    verified: VerifiedIdentity,
    app: AppRequest,
    { browser: { origin }, token: code, offer }: Completion,
  ): Promise<SignedIn> {
    const { provisioning, apps, flows, baseUrl } = this.#parts
    await this.#transaction(async (tx) => {
      if (flow.pending !== null) await flows.useOffer(tx, flow)
      const user = await provisioning.findOrCreateUser(tx, { verified, origin, entry: entryOf(flow) })
      const context = { origin, client: app.clientId, target: `app:${app.clientId}` }
      // Before the code: a change of the role ends the user's codes.
      const linked = offer && (await this.#linkOffered(tx, user, verified, offer, { context }))
      await apps.issueCode(tx, { ...app, code }, signedInUser(user.userId, verified, origin))
      await flows.settle(tx, flow, { kind: 'app' })
      const emitted = await provisioning.onSignIn(tx, user, verified, context)
      return { emitted: emitted || linked === true, result: undefined }
    })
    return { kind: 'app', redirect: appRedirect(app, baseUrl(), { code }) }
  }

  /**
   * Links a pending identity, if this is the user with its address. As for any link, the authentication must be recent. Returns whether
   * events were emitted.
   * @throws SignInFailure `other-account`, `reauthentication-unproven`, `sign-in-expired`, or as `Provisioning.link`
   */
  async #linkOffered(
    tx: Tx,
    { userId, created }: { userId: string; created: boolean },
    { authentication, identity }: VerifiedIdentity,
    offer: Offer,
    { context, session }: { context: SignInContext; session?: { sessionId: string; token: string } },
  ): Promise<boolean> {
    const { recentSignIn, flows, roleChanges, provisioning } = this.#parts
    const known = created ? [] : await usersOfAddress(tx, offer.verified.identity)
    const who = { providerId: identity.providerId, ...(!created && { userId }) }
    if (!known.some((other) => other.userId === userId))
      throw new SignInFailure('other-account', undefined, who)
    if (!recentSignIn.isRecent(authentication))
      throw new SignInFailure('reauthentication-unproven', undefined, who)
    await flows.useOffer(tx, offer.row)
    const change = { userId, origin: context.origin, ...session }
    const { result } = await roleChanges.apply(tx, change, () =>
      provisioning.link(tx, userId, offer.verified, context),
    )
    return result
  }

  /** A native app's sign-in: `give` creates its tokens. @throws SignInFailure, and errors of `give`; then nothing has changed */
  async inApp<T>(
    newcomer: Newcomer,
    clientId: string,
    give: (tx: Tx, user: SignedInUser) => Promise<T>,
  ): Promise<T> {
    const { provisioning } = this.#parts
    const { verified, origin } = newcomer
    return this.#transaction(async (tx) => {
      const user = await provisioning.findOrCreateUser(tx, newcomer)
      const result = await give(tx, signedInUser(user.userId, verified, origin))
      const context = { origin, client: clientId, target: `app:${clientId}` }
      return { emitted: await provisioning.onSignIn(tx, user, verified, context), result }
    })
  }

  /** The session that started the link must still be the session of this browser. */
  async #link(
    flow: Row<'flows'>,
    verified: VerifiedIdentity,
    { browser: { sessionToken, origin }, token }: Completion,
  ): Promise<SignedIn> {
    const { sessions, roleChanges, provisioning, flows } = this.#parts
    const session = await sessions.find(sessionToken)
    if (!session || session.id !== flow.session_id || session.userId !== flow.user_id)
      throw new SignInFailure('session-changed')
    const { id: sessionId, userId } = session
    const renewed = await this.#transaction(async (tx) => {
      const context = { origin, client: undefined, target: `session:${sessionId}` }
      const { result: emitted, renewed } = await roleChanges.apply(
        tx,
        { userId, sessionId, origin, token },
        () => provisioning.link(tx, userId, verified, context),
      )
      const result = renewed ?? (await sessions.renewToken(tx, sessionId, token))
      if (!result) throw new SignInFailure('session-changed')
      await flows.settle(tx, flow, { kind: 'session', sessionId })
      return { emitted, result }
    })
    return { kind: 'session', ...renewed, redirect: flow.return_to }
  }

  /** Runs `work` in a transaction and wakes the dispatcher after the commit when events were emitted. */
  async #transaction<T>(work: (tx: Tx) => Promise<{ emitted: boolean; result: T }>): Promise<T> {
    const { database } = this.#parts
    const { emitted, result } = await database.transaction(work)
    if (emitted) {
      database.signal('deliveries')
      database.signal('scheduled')
    }
    return result
  }
}

function signedInUser(
  userId: string,
  { identity: { provider }, authentication }: VerifiedIdentity,
  { address, userAgent }: Browser['origin'],
): SignedInUser {
  return { userId, provider, address, userAgent, authentication }
}

/**
 * The app's redirect URI with the answer (RFC 6749, section 4.1.2), the app's state and this service as the issuer (RFC
 * 9207).
 */
export function appRedirect(
  { redirectUri, state }: AppRequest,
  issuer: string,
  answer: Readonly<Partial<Record<'code' | 'error' | 'error_description', string>>>,
): string {
  return withQuery(redirectUri, [
    ...Object.entries(answer),
    ...(state === null ? [] : [['state', state] as const]),
    ['iss', issuer],
  ])
}
