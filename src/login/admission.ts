import type { AccountEvents, AccountEventType } from '../accounts/account-events.ts'
import type { Audit, AuditEntry, AuditOrigin } from '../accounts/audit.ts'
import { IssuerMismatch, type ProvidedIdentity, type Users } from '../accounts/users.ts'
import type { Tx } from '../storage/database.ts'
import { SignInFailure } from './failures.ts'
import type { HookName, Hooks } from './hooks.ts'
import type { Vouched } from './issued-tokens.ts'
import type { ProviderTokens } from './provider-tokens.ts'

/** Somebody whom a provider vouches for, found or made here. */
export interface Arrival {
  userId: string
  created: boolean
}

/** How they came. */
export interface Visit {
  origin: AuditOrigin
  /** The app that the sign-in is for. */
  client: string | undefined
  /** What they get, for the audit log: `session:<id>` or `app:<client id>`. */
  target: string
}

/**
 * All that belongs to letting somebody in beside the session itself: whose account it is, the configuration's hooks, the
 * provider's tokens, the audit log and events. Everything happens in the caller's transaction.
 */
export class Admission {
  readonly #users: Users
  readonly #audit: Audit
  readonly #events: AccountEvents
  readonly #hooks: Hooks
  readonly #tokens: ProviderTokens

  constructor(parts: {
    users: Users
    audit: Audit
    events: AccountEvents
    hooks: Hooks
    tokens: ProviderTokens
  }) {
    this.#users = parts.users
    this.#audit = parts.audit
    this.#events = parts.events
    this.#hooks = parts.hooks
    this.#tokens = parts.tokens
  }

  /** The user that the identity links to; a new one when there is none. @throws SignInFailure `account-blocked`, `issuer-changed` */
  async recognise(tx: Tx, identity: ProvidedIdentity): Promise<Arrival> {
    const { userId, created, blocked } = await this.#users
      .findOrCreate(tx, identity)
      .catch((error: unknown) => refuseOtherIssuer(error, identity))
    if (blocked)
      throw new SignInFailure('account-blocked', undefined, { userId, providerId: identity.providerId })
    return { userId, created }
  }

  /**
   * Runs the hooks and writes the sign-in down. Gives whether events were emitted.
   * @throws SignInFailure when a hook refuses or fails.
   */
  async welcome(tx: Tx, { userId, created }: Arrival, vouched: Vouched, visit: Visit): Promise<boolean> {
    const steps = [
      ...(created ? [{ hook: 'onSignUp', event: 'user.created' } as const] : []),
      { hook: 'onSignIn', event: 'user.signed_in' } as const,
    ]
    let emitted = false
    // An account that is made now is gone when a hook refuses.
    const known = created ? undefined : userId
    for (const step of steps)
      emitted = (await this.#step(tx, { ...step, known }, userId, vouched, visit)) || emitted
    await this.#tokens.keep(tx, vouched)
    return emitted
  }

  /** The same for an identity that was linked. @throws SignInFailure `identity-taken`, or what a hook says. */
  async link(tx: Tx, userId: string, vouched: Vouched, visit: Visit): Promise<boolean> {
    const linked = await this.#users
      .link(tx, userId, vouched.identity)
      .catch((error: unknown) => refuseOtherIssuer(error, vouched.identity))
    if (linked === 'taken') {
      const { providerId } = vouched.identity
      throw new SignInFailure('identity-taken', undefined, { providerId })
    }
    const step = { hook: 'onLink', event: 'identity.linked', known: userId } as const
    const emitted = linked === 'linked' && (await this.#step(tx, step, userId, vouched, visit))
    await this.#tokens.keep(tx, vouched)
    return emitted
  }

  async #step(
    tx: Tx,
    { hook, event, known }: { hook: HookName; event: AccountEventType; known: string | undefined },
    userId: string,
    vouched: Vouched,
    { origin, client, target }: Visit,
  ): Promise<boolean> {
    const { provider, providerId } = vouched.identity
    const entry: AuditEntry = { ...origin, action: event, userId, provider, providerId, target }
    await this.#audit.record(tx, { ...entry, actor: `user:${userId}` })
    if (!this.#hooks.has(hook) && !this.#events.wants(event)) return false
    const user = await this.#users.find(tx, userId)
    if (!user) throw new Error('a user was gone within the transaction that found it')
    const emitted = await this.#hooks.run(hook, tx, { user, vouched, client }).catch((error: unknown) => {
      if (error instanceof SignInFailure)
        throw error.about({ providerId, ...(known !== undefined && { userId: known }) })
      throw error
    })
    return (await this.#events.emit(tx, event, user, vouched.identity)) || emitted > 0
  }
}

/**
 * A provider's name must not lead to the accounts of another server that it is pointed at later (OpenID Connect Core,
 * section 5.7: `sub` is unique only within its issuer).
 */
function refuseOtherIssuer(error: unknown, { providerId }: ProvidedIdentity): never {
  if (!(error instanceof IssuerMismatch)) throw error
  throw new SignInFailure('issuer-changed', error, { userId: error.userId, providerId })
}
