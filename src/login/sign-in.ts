import type { RefreshTokens } from '../accounts/refresh-tokens.ts'
import type { Sessions } from '../accounts/sessions.ts'
import type { ProvidedIdentity, Users } from '../accounts/users.ts'
import type { Database } from '../storage/database.ts'
import type { FlowsTable } from '../storage/tables.ts'
import type { AuthorizationCodes } from './authorization-codes.ts'
import { SignInFailure } from './failures.ts'

/** The part of the accounts that a sign-in works with. */
export interface SignInAccounts {
  users: Users
  sessions: Sessions
  refreshTokens: RefreshTokens
}

export interface Browser {
  address: string
  userAgent: string | undefined
  /** The token of the session cookie that came with the callback. */
  sessionToken: string | undefined
}

/** What the callback answers with. */
export type SignedIn =
  | { kind: 'session'; token: string; maxAge: number; target: string }
  | { kind: 'app'; target: string }

/** Ends a sign-in: who the identity is here, and what they get for it. */
export class SignIn {
  readonly #database: Database
  readonly #accounts: SignInAccounts
  readonly #codes: AuthorizationCodes
  readonly #baseUrl: () => string

  constructor(parts: {
    database: Database
    accounts: SignInAccounts
    codes: AuthorizationCodes
    baseUrl: () => string
  }) {
    this.#database = parts.database
    this.#accounts = parts.accounts
    this.#codes = parts.codes
    this.#baseUrl = parts.baseUrl
  }

  /** @throws SignInFailure when the identity may not be used like this. */
  async complete(flow: FlowsTable, identity: ProvidedIdentity, browser: Browser): Promise<SignedIn> {
    if (flow.purpose === 'link') return this.#link(flow, identity, browser)
    const { client_id: clientId, client_redirect_uri: redirectUri, client_challenge: challenge } = flow
    if (clientId !== null && redirectUri !== null && challenge !== null) {
      return this.#signInApp(flow, identity, { clientId, redirectUri, challenge })
    }
    return this.#signInBrowser(flow, identity, browser)
  }

  async #signInBrowser(flow: FlowsTable, identity: ProvidedIdentity, browser: Browser): Promise<SignedIn> {
    const { users, sessions } = this.#accounts
    return this.#database.transaction(async (tx) => {
      const { userId, blocked } = await users.findOrCreate(tx, identity)
      if (blocked) throw new SignInFailure('account-blocked')
      if (browser.sessionToken !== undefined) await sessions.revokeToken(tx, browser.sessionToken)
      const { address, userAgent } = browser
      const { token, maxAge } = await sessions.begin(tx, {
        userId,
        provider: identity.provider,
        address,
        userAgent,
      })
      return { kind: 'session', token, maxAge, target: flow.return_to }
    })
  }

  /** An app gets a one-time code, and the browser no session: the app is who signs in. */
  async #signInApp(
    flow: FlowsTable,
    identity: ProvidedIdentity,
    app: { clientId: string; redirectUri: string; challenge: string },
  ): Promise<SignedIn> {
    const code = await this.#database.transaction(async (tx) => {
      const { userId, blocked } = await this.#accounts.users.findOrCreate(tx, identity)
      if (blocked) throw new SignInFailure('account-blocked')
      return this.#codes.issue(tx, app, { userId, provider: identity.provider })
    })
    return { kind: 'app', target: appTarget(flow, this.#baseUrl(), { code }) ?? flow.return_to }
  }

  /** The one who began the linking must still be the one who is signed in here. */
  async #link(flow: FlowsTable, identity: ProvidedIdentity, browser: Browser): Promise<SignedIn> {
    const { users, sessions } = this.#accounts
    const session = browser.sessionToken === undefined ? undefined : await sessions.find(browser.sessionToken)
    if (!session || session.id !== flow.session_id || session.userId !== flow.user_id) {
      throw new SignInFailure('session-changed')
    }
    return this.#database.transaction(async (tx) => {
      const linked = await users.link(tx, session.userId, identity)
      if (linked === 'taken') throw new SignInFailure('identity-taken')
      const renewed = await sessions.renewToken(tx, session.id)
      if (!renewed) throw new SignInFailure('session-changed')
      return { kind: 'session', ...renewed, target: flow.return_to }
    })
  }
}

/**
 * The address of the app that began a sign-in, with the answer (RFC 6749, section 4.1.2), its state and our name as the
 * issuer (RFC 9207). `undefined` when no app began it.
 */
export function appTarget(
  flow: FlowsTable,
  issuer: string,
  answer: Readonly<Partial<Record<'code' | 'error', string>>>,
): string | undefined {
  if (flow.client_redirect_uri === null) return undefined
  const url = new URL(flow.client_redirect_uri)
  for (const [name, value] of Object.entries(answer)) url.searchParams.set(name, value)
  if (flow.client_state !== null) url.searchParams.set('state', flow.client_state)
  url.searchParams.set('iss', issuer)
  return url.href
}
