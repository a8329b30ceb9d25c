import type { AuditOrigin } from '../accounts/audit.ts'
import type { RoleChanges } from '../accounts/role-changes.ts'
import type { Sessions } from '../accounts/sessions.ts'
import type { Database } from '../storage/database.ts'
import type { FlowsTable } from '../storage/tables.ts'
import type { Admission } from './admission.ts'
import type { AuthorizationCodes } from './authorization-codes.ts'
import { SignInFailure } from './failures.ts'
import type { Vouched } from './issued-tokens.ts'

export interface Browser {
  /** Where the callback came from. */
  origin: AuditOrigin & { address: string }
  /** The token of the session cookie that came with it. */
  sessionToken: string | undefined
}

/** What the callback answers with. */
export type SignedIn =
  | { kind: 'session'; token: string; maxAge: number; target: string }
  | { kind: 'app'; target: string }

/** Ends a sign-in: who the identity is here, and what they get for it. */
export class SignIn {
  readonly #database: Database
  readonly #sessions: Sessions
  readonly #roleChanges: RoleChanges
  readonly #admission: Admission
  readonly #codes: AuthorizationCodes
  readonly #baseUrl: () => string

  constructor(parts: {
    database: Database
    sessions: Sessions
    roleChanges: RoleChanges
    admission: Admission
    codes: AuthorizationCodes
    baseUrl: () => string
  }) {
    this.#database = parts.database
    this.#sessions = parts.sessions
    this.#roleChanges = parts.roleChanges
    this.#admission = parts.admission
    this.#codes = parts.codes
    this.#baseUrl = parts.baseUrl
  }

  /** @throws SignInFailure when the identity may not be used like this. */
  async complete(flow: FlowsTable, vouched: Vouched, browser: Browser): Promise<SignedIn> {
    if (flow.purpose === 'link') return this.#link(flow, vouched, browser)
    const { client_id: clientId, client_redirect_uri: redirectUri, client_challenge: challenge } = flow
    if (clientId !== null && redirectUri !== null && challenge !== null) {
      return this.#signInApp(flow, vouched, { clientId, redirectUri, challenge }, browser)
    }
    return this.#signInBrowser(flow, vouched, browser)
  }

  async #signInBrowser(flow: FlowsTable, vouched: Vouched, browser: Browser): Promise<SignedIn> {
    const { sessionToken, origin } = browser
    const { provider } = vouched.identity
    const [emitted, session] = await this.#database.transaction(async (tx) => {
      const arrival = await this.#admission.recognise(tx, vouched.identity)
      if (sessionToken !== undefined) await this.#sessions.revokeToken(tx, sessionToken)
      const { address, userAgent } = origin
      const { userId } = arrival
      const { authentication } = vouched
      const session = { userId, provider, address, userAgent, authentication }
      const begun = await this.#sessions.begin(tx, session)
      const visit = { origin, client: undefined, target: `session:${begun.id}` }
      return [await this.#admission.welcome(tx, arrival, vouched, visit), begun] as const
    })
    if (emitted) this.#database.signal('deliveries')
    return { kind: 'session', token: session.token, maxAge: session.maxAge, target: flow.return_to }
  }

  /** An app gets a one-time code, and the browser no session: the app is who signs in. */
  async #signInApp(
    flow: FlowsTable,
    vouched: Vouched,
    app: { clientId: string; redirectUri: string; challenge: string },
    { origin }: Browser,
  ): Promise<SignedIn> {
    const { clientId: client } = app
    const { provider } = vouched.identity
    const { address, userAgent } = origin
    const [emitted, code] = await this.#database.transaction(async (tx) => {
      const arrival = await this.#admission.recognise(tx, vouched.identity)
      const { userId } = arrival
      const owner = { userId, provider, address, userAgent, authentication: vouched.authentication }
      const code = await this.#codes.issue(tx, app, owner)
      const visit = { origin, client, target: `app:${client}` }
      return [await this.#admission.welcome(tx, arrival, vouched, visit), code] as const
    })
    if (emitted) this.#database.signal('deliveries')
    return { kind: 'app', target: appTarget(flow, this.#baseUrl(), { code }) ?? flow.return_to }
  }

  /** The one who began the linking must still be the one who is signed in here. */
  async #link(flow: FlowsTable, vouched: Vouched, { sessionToken, origin }: Browser): Promise<SignedIn> {
    const session = sessionToken === undefined ? undefined : await this.#sessions.find(sessionToken)
    if (!session || session.id !== flow.session_id || session.userId !== flow.user_id) {
      throw new SignInFailure('session-changed')
    }
    const [emitted, renewed] = await this.#database.transaction(async (tx) => {
      const visit = { origin, client: undefined, target: `session:${session.id}` }
      const change = { userId: session.userId, sessionId: session.id, origin }
      const { result, renewed } = await this.#roleChanges.watch(tx, change, () =>
        this.#admission.link(tx, session.userId, vouched, visit),
      )
      const fresh = renewed ?? (await this.#sessions.renewToken(tx, session.id))
      if (!fresh) throw new SignInFailure('session-changed')
      return [result, fresh] as const
    })
    if (emitted) this.#database.signal('deliveries')
    return { kind: 'session', ...renewed, target: flow.return_to }
  }
}

/**
 * The address of the app that began a sign-in, with the answer (RFC 6749, section 4.1.2), its state and our name as the
 * issuer (RFC 9207). `undefined` when no app began it.
 */
export function appTarget(
  flow: FlowsTable,
  issuer: string,
  answer: Readonly<Partial<Record<'code' | 'error' | 'error_description', string>>>,
): string | undefined {
  if (flow.client_redirect_uri === null) return undefined
  const url = new URL(flow.client_redirect_uri)
  for (const [name, value] of Object.entries(answer)) url.searchParams.set(name, value)
  if (flow.client_state !== null) url.searchParams.set('state', flow.client_state)
  url.searchParams.set('iss', issuer)
  return url.href
}
