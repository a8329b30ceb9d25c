import type { AccountEventType } from '../accounts/users/account-events.ts'
import type { AuditEntry, AuditOrigin } from '../accounts/audit/audit.ts'
import type { Accounts } from '../accounts/index.ts'
import { usersOfAddress, IssuerMismatch, type ProviderIdentity } from '../accounts/users/identities.ts'
import type { Tx } from '../storage/database.ts'
import { SignInFailure } from './flow/failures.ts'
import type { Entry } from './flow/flows.ts'
import type { StoredTokenScopes } from './config.ts'
import type { HookName, Hooks } from './hooks.ts'
import type { ProviderTokens } from './provider-tokens.ts'
import type { VerifiedIdentity } from './provider-client/profile.ts'
import type { Browser } from './sign-in.ts'

/** The user of a verified identity. */
interface ProvisionedUser {
  userId: string
  created: boolean
}

/** What the audit log and hooks are told about the sign-in. */
export interface SignInContext {
  origin: AuditOrigin
  /** The client id of the app; `undefined` for a browser. */
  client: string | undefined
  /** What the sign-in gives: `session:<id>` or `app:<client id>`. */
  target: string
}

/** A sign-in whose user is not known yet. */
export interface Newcomer {
  verified: VerifiedIdentity
  origin: Browser['origin']
  entry: Entry
}

interface ProvisioningStep extends ProvisionedUser {
  hook: HookName
}

/** The account event, and the entry of the audit log, that belongs to a hook. */
const eventOf = {
  onSignUp: 'user.created',
  onSignIn: 'user.signed_in',
  onLink: 'identity.linked',
} as const satisfies Record<HookName, AccountEventType>

type ProvisioningNeeds = Pick<Accounts, 'users' | 'roleChanges' | 'invitations' | 'audit' | 'events'> & {
  hooks: Hooks
  tokens: ProviderTokens
  /** The providers whose tokens are stored. */
  stored: StoredTokenScopes
  /** The configured providers, with `login.sameAddress: 'offer'`. */
  linkable: { has: (provider: string) => boolean } | undefined
}

/**
 * Finds or creates the user of a verified identity, runs the configured hooks, stores the provider's tokens, and writes
 * the audit log and account events. All of it happens in the caller's transaction.
 */
export class Provisioning {
  readonly #parts: ProvisioningNeeds
  /** The steps with a hook or an event. The others end with their entry in the audit log. */
  readonly #observed: ReadonlySet<HookName>

  constructor(parts: ProvisioningNeeds) {
    this.#parts = parts
    const { hooks, events } = parts
    const names = Object.keys(eventOf) as HookName[]
    this.#observed = new Set(names.filter((name) => hooks.has(name) || events.wants(eventOf[name])))
  }

  /**
   * The user of an identity; created when there is none. Its groups may change the role, which ends all sessions and tokens of
   * the user. @throws SignInFailure `account-blocked`, `issuer-changed`, or the reason why no user may be created
   */
  async findOrCreateUser(tx: Tx, newcomer: Newcomer): Promise<ProvisionedUser> {
    const { users, roleChanges } = this.#parts
    const { verified, origin, entry } = newcomer
    const { identity, exclusiveRoles: exclusive } = verified
    const { userId, created, blocked } = await roleChanges
      .atSignIn(tx, { identity, origin, exclusive }, () => users.findOrCreate(tx, identity))
      .catch((error: unknown) => refuseOtherIssuer(error, identity))
    if (blocked)
      throw new SignInFailure('account-blocked', undefined, { userId, providerId: identity.providerId })
    if (created) {
      // First, because an existing user needs no invitation to link this identity.
      if (!entry.newUser) await this.#refuseKnownAddress(tx, identity)
      await this.#admit(tx, userId, newcomer)
    } else await this.#updateProfile(tx, userId, newcomer)
    return { userId, created }
  }

  /**
   * Checks whether this user may be created. It runs after the insert: if a new identity signs in twice at once, only the sign-in that
   * created the user uses an invitation. A failure rolls the user back.
   * @throws SignInFailure `not-invited`, `invitation-invalid`, `invitation-mismatch`, or of the hook
   */
  async #admit(tx: Tx, userId: string, { verified, origin, entry }: Newcomer): Promise<void> {
    const { users, invitations, hooks } = this.#parts
    const { identity, exclusiveRoles } = verified
    const { providerId } = identity
    if (entry.invitation !== null) {
      const guest = { userId, identity, exclusiveRoles, origin }
      const use = await invitations.use(tx, entry.invitation, guest)
      if (use !== 'used') throw new SignInFailure(`invitation-${use}`, undefined, { providerId })
    } else if ((await users.adminReason(tx, userId)) === undefined && !(await hooks.admits(tx, verified))) {
      throw new SignInFailure('not-invited', undefined, { providerId })
    }
  }

  /**
   * With `login.sameAddress: 'offer'`: the person chooses whether the new identity belongs to the existing user with its address. The
   * address alone links nothing. @throws SignInFailure `account-exists`
   */
  async #refuseKnownAddress(tx: Tx, identity: ProviderIdentity): Promise<void> {
    const { linkable } = this.#parts
    if (!linkable || !identity.emailVerified) return
    const known = await usersOfAddress(tx, identity)
    if (known.some(({ provider }) => linkable.has(provider)))
      throw new SignInFailure('account-exists', undefined, { providerId: identity.providerId })
  }

  async #updateProfile(tx: Tx, userId: string, { verified, origin }: Newcomer): Promise<void> {
    const { users, audit } = this.#parts
    const { identity, updateProfile } = verified
    const changed = await users.updateProfile(tx, userId, identity, updateProfile)
    if (changed.length === 0) return
    const { provider, providerId } = identity
    await audit.record(tx, {
      ...origin,
      actor: `user:${userId}`,
      action: 'user.profile_changed',
      userId,
      provider,
      providerId,
      detail: { fields: changed.join(' ') },
    })
  }

  /**
   * Runs `onSignUp` for a new user and `onSignIn`, and records both. Gives whether events were emitted.
   * @throws SignInFailure when a hook refuses or fails.
   */
  async onSignIn(
    tx: Tx,
    { userId, created }: ProvisionedUser,
    verified: VerifiedIdentity,
    context: SignInContext,
  ): Promise<boolean> {
    const steps: HookName[] = created ? ['onSignUp', 'onSignIn'] : ['onSignIn']
    let emitted = false
    for (const hook of steps)
      emitted = (await this.#runStep(tx, { hook, userId, created }, verified, context)) || emitted
    await this.#storeTokens(tx, verified)
    return emitted
  }

  /**
   * Links an identity to a user, runs `onLink` and records it. Gives whether events were emitted.
   * @throws SignInFailure `identity-taken`, `issuer-changed`, or when a hook refuses or fails.
   */
  async link(tx: Tx, userId: string, verified: VerifiedIdentity, context: SignInContext): Promise<boolean> {
    const { identity } = verified
    const linked = await this.#parts.users
      .link(tx, userId, identity)
      .catch((error: unknown) => refuseOtherIssuer(error, identity))
    if (linked === 'taken')
      throw new SignInFailure('identity-taken', undefined, { providerId: identity.providerId })
    const step = { hook: 'onLink', userId, created: false } as const
    const emitted = linked === 'linked' && (await this.#runStep(tx, step, verified, context))
    await this.#storeTokens(tx, verified)
    return emitted
  }

  /** Stores the provider's tokens, if the provider has `keepTokens`. */
  async #storeTokens(tx: Tx, { identity, tokens }: VerifiedIdentity): Promise<void> {
    const { stored, tokens: store } = this.#parts
    if (tokens !== undefined && stored.has(identity.provider)) await store.save(tx, identity, tokens)
  }

  /** Audits, runs the hook and emits the account event. Gives whether events were emitted. */
  async #runStep(
    tx: Tx,
    { hook, userId, created }: ProvisioningStep,
    verified: VerifiedIdentity,
    { origin, client, target }: SignInContext,
  ): Promise<boolean> {
    const { audit, events, hooks, users } = this.#parts
    const event = eventOf[hook]
    const { provider, providerId } = verified.identity
    const entry: AuditEntry = { ...origin, action: event, userId, provider, providerId, target }
    await audit.record(tx, { ...entry, actor: `user:${userId}` })
    if (!this.#observed.has(hook)) return false
    const user = await users.find(tx, userId)
    if (!user) throw new Error('the user disappeared within its own transaction')
    const emitted = await hooks.run(hook, tx, { user, verified, client }).catch((error: unknown) => {
      if (error instanceof SignInFailure)
        // The refusal rolls the transaction back: a user that it created does not exist afterwards.
        throw error.withDetails({ providerId, ...(!created && { userId }) })
      throw error
    })
    return (await events.emit(tx, event, user, verified.identity)) || emitted > 0
  }
}

/**
 * When a provider's name is configured for another server, its identities must not lead to the accounts of the old one
 * (OpenID Connect Core, section 5.7: `sub` is unique only within its issuer).
 */
function refuseOtherIssuer(error: unknown, { providerId }: ProviderIdentity): never {
  if (!(error instanceof IssuerMismatch)) throw error
  throw new SignInFailure('issuer-changed', error, { userId: error.userId, providerId })
}
