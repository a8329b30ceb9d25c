import type { User } from '../accounts/users/users.ts'
import type { Tx } from '../storage/database.ts'
import { lend } from '../storage/lazy-transaction.ts'
import { StorageUnavailable, withinTime } from '../storage/unavailable.ts'
import type { LoginConfig } from './config.ts'
import { SignInFailure } from './flow/failures.ts'
import type { VerifiedIdentity } from './provider-client/profile.ts'
import type { Transaction } from 'kysely'
import type { ProviderIdentity } from '../accounts/users/identities.ts'
import type { EmitEvents } from '../accounts/users/account-events.ts'
import type { Clock } from '../runtime/clock.ts'

/** Any tables with any columns. */
export type HookTables = Record<string, Record<string, unknown>>

/** The argument of a hook. */
export interface HookContext<DB = HookTables> {
  /** The account; at a sign-up, the new one. */
  readonly user: Readonly<User>
  /** The identity that the provider verified, in one form for all providers. */
  readonly identity: Readonly<ProviderIdentity>
  /** The provider's profile as received; with OpenID Connect, the claims merged with the userinfo response. */
  readonly profile: Readonly<Record<string, unknown>>
  /** The client id of the app; undefined for a browser. */
  readonly client: string | undefined
  /**
   * The transaction of the sign-in: it commits if and only if the sign-in succeeds. On SQLite it holds the only write
   * lock, so a hook that makes network calls delays all other writers.
   */
  readonly tx: Transaction<DB>
  /** Sends an event to subscribers, if and only if the sign-in succeeds. */
  readonly emit: (event: { type: string; data: unknown; id?: string; audience?: string }) => void
  /**
   * Ends the sign-in and rolls it back, even when the hook catches what this throws. /login shows the message of the first
   * call.
   */
  readonly refuse: (message: string) => never
  /** The provider's access token of this sign-in; undefined unless the hook declares this provider. */
  readonly providerToken: string | undefined
}

/** Runs within the transaction of the sign-in. When it throws, the sign-in fails and is rolled back. */
export type Hook<DB = HookTables> = (context: HookContext<DB>) => Promise<void> | void

/** A hook, alone or with the providers whose access tokens it needs. */
export type DeclaredHook<DB = HookTables> = Hook<DB> | { providerTokens: readonly string[]; handle: Hook<DB> }

/** What `login.admission` gets besides the identity. */
export type AdmissionContext<DB = HookTables> = Pick<HookContext<DB>, 'profile' | 'tx' | 'refuse'>

/**
 * Decides whether a new identity may get a user. It runs in the transaction of the sign-in, after the new user is inserted. Unless it
 * returns true, the transaction is rolled back.
 */
export type AdmissionHook<DB = HookTables> = (
  identity: Readonly<ProviderIdentity>,
  context: AdmissionContext<DB>,
) => Promise<boolean> | boolean

export type HookName = 'onSignUp' | 'onSignIn' | 'onLink'

/** Milliseconds for one hook: the browser waits for it, and on SQLite all other writers do. */
const timeout = 5_000
const longestMessage = 300

interface HookSubject {
  user: User
  verified: VerifiedIdentity
  client: string | undefined
}

/** Named here: the package's types lead to this file, and must not lead to those of all services. */
type HookNeeds = { config: LoginConfig; emit: EmitEvents; clock: Clock }

/** Runs the configured hooks within the transaction of a sign-in. */
export class Hooks {
  readonly #parts: HookNeeds

  constructor(parts: HookNeeds) {
    this.#parts = parts
  }

  has(name: HookName): boolean {
    return this.#parts.config[name] !== undefined
  }

  /**
   * Runs a hook, if it is configured, and emits its events in the same transaction. Gives the number of events.
   * @throws SignInFailure `refused` with the hook's message, or `hook-failed`.
   */
  async run(name: HookName, tx: Tx, { user, verified, client }: HookSubject): Promise<number> {
    const declared = this.#parts.config[name]
    if (!declared) return 0
    const { handle, providerTokens } = declaration(declared)
    const { identity, profile, tokens } = verified
    const events: Parameters<HookContext['emit']>[0][] = []
    const emit: HookContext['emit'] = (event) => void events.push(event)
    const providerToken = providerTokens.includes(identity.provider) ? tokens?.accessToken : undefined
    const context = { user, identity, profile, client, emit, providerToken }
    await this.#guarded(
      name,
      tx,
      (means) => handle({ ...context, ...means }),
      async () => {
        if (events.length > 0) await this.#parts.emit(tx, events)
      },
    )
    return events.length
  }

  /**
   * Whether `login.admission` accepts a new identity.
   * @throws SignInFailure `refused` with the hook's message, or `hook-failed`.
   */
  async admits(tx: Tx, { identity, profile }: VerifiedIdentity): Promise<boolean> {
    const { admission = 'open' } = this.#parts.config
    if (typeof admission !== 'function') return admission === 'open'
    const admitted: unknown = await this.#guarded('admission', tx, (means) =>
      admission(identity, { profile, ...means }),
    )
    // Only `true` accepts: a hook that forgets to return a value must not open the service.
    return admitted === true
  }

  /** Runs the code of a hook on the transaction, within the time limit, and then `finish`. */
  async #guarded<T>(
    name: HookName | 'admission',
    tx: Tx,
    work: (means: Pick<HookContext, 'tx' | 'refuse'>) => Promise<T> | T,
    finish: () => Promise<void> = async () => undefined,
  ): Promise<T> {
    let refusal: SignInFailure | undefined
    const refuse: HookContext['refuse'] = (message) => {
      refusal ??= new SignInFailure('refused', undefined, { message: singleLine(message) })
      throw refusal
    }
    try {
      const late = new Error(`login.${name} did not end within ${timeout} ms`)
      const result = await lend(tx, (lent) => {
        // The type shows only the user's tables, not those of the service.
        const run = async (): Promise<T> => work({ tx: lent as unknown as HookContext['tx'], refuse })
        // After the timeout the transaction is rolled back. The hook itself cannot be stopped; its result is ignored.
        return withinTime(this.#parts.clock, timeout, run(), late)
      })
      // A refusal counts even when the hook caught what `refuse` threw.
      if (refusal) throw refusal
      await finish()
      return result
    } catch (error) {
      if (refusal) throw refusal
      if (error instanceof SignInFailure || error instanceof StorageUnavailable) throw error
      throw new SignInFailure('hook-failed', error)
    }
  }
}

/** The errors in the configuration of hooks, as messages for the operator. */
export function validateHooks(config: LoginConfig): string[] {
  const { admission = 'open' } = config
  const isAdmission = admission === 'open' || admission === 'invited' || typeof admission === 'function'
  const faults = isAdmission ? [] : ["login.admission must be 'open', 'invited' or a function"]
  for (const name of ['onSignUp', 'onSignIn', 'onLink'] as const) {
    const declared = config[name]
    if (declared === undefined || typeof declaration(declared).handle === 'function') continue
    faults.push(`login.${name} must be a function or { providerTokens, handle }`)
  }
  return faults
}

function declaration(hook: DeclaredHook): { handle: Hook; providerTokens: readonly string[] } {
  return typeof hook === 'function' ? { handle: hook, providerTokens: [] } : hook
}

const controls = /[\p{Cc}\p{Cs}]+/gu

/** Removes line breaks and control characters, so that the message can be shown and sent in a query string. */
function singleLine(message: string): string {
  return message.replaceAll(controls, ' ').trim().slice(0, longestMessage).toWellFormed()
}
