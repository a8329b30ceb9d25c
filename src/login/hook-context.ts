import type { Transaction } from 'kysely'
import type { ProvidedIdentity, User } from '../accounts/users.ts'

/** Any tables with any columns. */
export type HookTables = Record<string, Record<string, unknown>>

/** What a hook is called with. */
export interface HookContext<DB = HookTables> {
  /** The account: at a sign-up the one that is being made. */
  readonly user: Readonly<User>
  /** What the provider vouches for, in the form that is the same for all providers. */
  readonly identity: Readonly<ProvidedIdentity>
  /** The provider's own profile, as it came. */
  readonly profile: Readonly<Record<string, unknown>>
  /** The app that the sign-in is for; undefined for a browser. */
  readonly client: string | undefined
  /**
   * The transaction of the sign-in: what is written here is kept if and only if the sign-in succeeds. On SQLite it holds
   * the one write lock, so a hook that calls over a network delays everybody who writes.
   */
  readonly tx: Transaction<DB>
  /** Sends an event to subscribers, if and only if the sign-in succeeds. */
  readonly emit: (event: { type: string; data: unknown; id?: string; audience?: string }) => void
  /**
   * Ends the sign-in, also when what it throws is caught; nothing of the sign-in is kept. The person reads the message of
   * the first call on /login.
   */
  readonly refuse: (message: string) => never
  /** The provider's access token of this sign-in; undefined unless the hook declares the need of it. */
  readonly providerToken: string | undefined
}

/** Runs within the transaction of the sign-in. When it throws, the sign-in fails and nothing of it is kept. */
export type Hook<DB = HookTables> = (context: HookContext<DB>) => Promise<void> | void

/** A hook, or one that declares which providers' access tokens it needs. */
export type DeclaredHook<DB = HookTables> = Hook<DB> | { providerTokens: readonly string[]; handle: Hook<DB> }
