import { withQuery } from '../http/requests/with-query.ts'
import type { AuditOrigin } from '../accounts/audit/audit.ts'
import type { RoleChanges } from '../accounts/users/role-changes.ts'
import type { Sessions } from '../accounts/sessions/sessions.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { FlowsTable } from '../storage/tables.ts'
import type { AppSignIns } from './flow/app-sign-ins.ts'
import { SignInFailure } from './flow/failures.ts'
import type { Provisioning } from './provisioning.ts'
import type { VerifiedIdentity } from './provider-client/verified-identity.ts'

export interface Browser {
  /** Where the callback came from. */
  origin: AuditOrigin & { address: string }
  /** The value of the callback's session cookie. */
  sessionToken: string | undefined
}

/** What the callback answers with. */
export type SignedIn =
  | { kind: 'session'; token: string; maxAge: number; redirect: string }
  | { kind: 'app'; redirect: string }

export interface SignInParts {
  database: Database
  sessions: Sessions
  roleChanges: RoleChanges
  provisioning: Provisioning
  apps: AppSignIns
  baseUrl: () => string
}

/** Completes a sign-in with a verified identity: a session for a browser, a code for an app, or a linked identity. */
export class SignIn {
  readonly #parts: SignInParts

  constructor(parts: SignInParts) {
    this.#parts = parts
  }

  /** @throws SignInFailure when the identity may not be used for this flow. */
  async complete(flow: FlowsTable, verified: VerifiedIdentity, browser: Browser): Promise<SignedIn> {
    if (flow.purpose === 'link') return this.#link(flow, verified, browser)
    const { client_id: clientId, client_redirect_uri: redirectUri, client_challenge: challenge } = flow
    if (clientId !== null && redirectUri !== null && challenge !== null)
      return this.#signInApp(flow, verified, { clientId, redirectUri, challenge }, browser)
    return this.#signInBrowser(flow, verified, browser)
  }

  async #signInBrowser(flow: FlowsTable, verified: VerifiedIdentity, browser: Browser): Promise<SignedIn> {
    const { sessions, provisioning } = this.#parts
    const { sessionToken, origin } = browser
    const session = await this.#transaction(async (tx) => {
      const user = await provisioning.findOrCreateUser(tx, verified, origin)
      const created = await sessions.create(tx, signedInUser(user.userId, verified, origin), sessionToken)
      const context = { origin, client: undefined, target: `session:${created.id}` }
      return { emitted: await provisioning.onSignIn(tx, user, verified, context), result: created }
    })
    return { kind: 'session', token: session.token, maxAge: session.maxAge, redirect: flow.return_to }
  }

  /** The app gets a one-time code. The browser gets no session: it belongs to the app's sign-in only. */
  async #signInApp(
    flow: FlowsTable,
    verified: VerifiedIdentity,
    app: { clientId: string; redirectUri: string; challenge: string },
    { origin }: Browser,
  ): Promise<SignedIn> {
    const { provisioning, apps, baseUrl } = this.#parts
    const code = await this.#transaction(async (tx) => {
      const user = await provisioning.findOrCreateUser(tx, verified, origin)
      const code = await apps.issueCode(tx, app, signedInUser(user.userId, verified, origin))
      const context = { origin, client: app.clientId, target: `app:${app.clientId}` }
      return { emitted: await provisioning.onSignIn(tx, user, verified, context), result: code }
    })
    return { kind: 'app', redirect: appRedirect(app.redirectUri, flow.client_state, baseUrl(), { code }) }
  }

  /** The session that started the link must still be the session of this browser. */
  async #link(
    flow: FlowsTable,
    verified: VerifiedIdentity,
    { sessionToken, origin }: Browser,
  ): Promise<SignedIn> {
    const { sessions, roleChanges, provisioning } = this.#parts
    const session = sessionToken === undefined ? undefined : await sessions.find(sessionToken)
    if (!session || session.id !== flow.session_id || session.userId !== flow.user_id)
      throw new SignInFailure('session-changed')
    const { id: sessionId, userId } = session
    const renewed = await this.#transaction(async (tx) => {
      const context = { origin, client: undefined, target: `session:${sessionId}` }
      const { result: emitted, renewed } = await roleChanges.apply(tx, { userId, sessionId, origin }, () =>
        provisioning.link(tx, userId, verified, context),
      )
      const result = renewed ?? (await sessions.renewToken(tx, sessionId))
      if (!result) throw new SignInFailure('session-changed')
      return { emitted, result }
    })
    return { kind: 'session', ...renewed, redirect: flow.return_to }
  }

  /** Runs `work` in a transaction and wakes the dispatcher after the commit when events were emitted. */
  async #transaction<T>(work: (tx: Tx) => Promise<{ emitted: boolean; result: T }>): Promise<T> {
    const { database } = this.#parts
    const { emitted, result } = await database.transaction(work)
    if (emitted) database.signal('deliveries')
    return result
  }
}

function signedInUser(
  userId: string,
  { identity: { provider }, authentication }: VerifiedIdentity,
  { address, userAgent }: Browser['origin'],
) {
  return { userId, provider, address, userAgent, authentication }
}

/**
 * The app's redirect URI with the answer (RFC 6749, section 4.1.2), the app's state and this service as the issuer (RFC
 * 9207).
 */
export function appRedirect(
  redirectUri: string,
  state: string | null,
  issuer: string,
  answer: Readonly<Partial<Record<'code' | 'error' | 'error_description', string>>>,
): string {
  return withQuery(redirectUri, [
    ...Object.entries(answer),
    ...(state === null ? [] : [['state', state] as const]),
    ['iss', issuer],
  ])
}
