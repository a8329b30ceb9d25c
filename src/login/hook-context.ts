import type { Transaction } from 'kysely'
import type { ProviderIdentity } from '../accounts/users/identities.ts'
import type { User } from '../accounts/users/users.ts'

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
