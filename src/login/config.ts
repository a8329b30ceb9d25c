import type { AccountEventChoice } from '../accounts/account-events.ts'
import type { DeclaredHook, HookTables } from './hook-context.ts'

/** An app that signs its users in by PKCE: a single-page or mobile app, without a secret. */
export interface ClientConfig {
  id: string
  /** Compared as whole strings (RFC 9700, section 2.1). */
  redirectUris: readonly string[]
}

export interface TokenKeeping {
  /**
   * Keeps the provider's tokens, sealed, for handlers that declare the need of them. `scope`: further scopes, separated
   * by spaces, for what they are needed for.
   */
  keepTokens?: boolean | { scope: string }
}

/** The `login` part of the configuration module. */
export interface LoginConfig<DB = HookTables> {
  clients?: readonly ClientConfig[]
  /** By the provider's name, as in /auth/{name}. */
  providers?: Readonly<Record<string, TokenKeeping>>
  /**
   * Which events about accounts subscribers get: `true` for user.created, user.signed_in, identity.linked and
   * identity.unlinked, or a list of them. Default none.
   */
  events?: AccountEventChoice
  /** At the first sign-in of an identity, before `onSignIn`. */
  onSignUp?: DeclaredHook<DB>
  /** At every sign-in, the first one included. */
  onSignIn?: DeclaredHook<DB>
  /** When a signed-in user links another identity. */
  onLink?: DeclaredHook<DB>
}
