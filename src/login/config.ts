import type { AppRights } from '../accounts/access-tokens.ts'
import type { AccountEventChoice } from '../accounts/account-events.ts'
import type { TokenAuth } from '../config/providers.ts'
import type { DeclaredHook, HookTables } from './hook-context.ts'

/** An app that signs its users in by PKCE: a single-page or mobile app, without a secret. */
export interface ClientConfig extends AppRights {
  /** Compared as whole strings (RFC 9700, section 2.1). */
  redirectUris: readonly string[]
}

/**
 * One identity provider. What the environment says about the same name (`GITHUB_WORK_…` for `github-work`) goes before
 * what is here. docs/reference/providers.md shows the presets, and what only some of them have.
 */
export interface ProviderConfig {
  /** The preset that it is an instance of; default the one of its own name, if there is one. */
  preset?: string | undefined
  clientId?: string | undefined
  clientSecret?: string | undefined
  /** What /login calls it. */
  name?: string | undefined
  /** What /login shows beside it: an image file, or a `data:image/…` URI. */
  icon?: string | undefined
  issuer?: string | undefined
  authUrl?: string | undefined
  tokenUrl?: string | undefined
  profileUrl?: string | undefined
  jwksUrl?: string | undefined
  /** Separated by spaces. */
  scope?: string | undefined
  /** More parameters of the authorization request. */
  authParams?: Readonly<Record<string, string>> | undefined
  tokenAuth?: TokenAuth | undefined
  pkce?: boolean | undefined
  /** Whether it can be asked to authenticate a person anew and its id_token proves that it did. */
  provesAuthentication?: boolean | undefined
  /** What only its preset has, by the names of the environment: `{ TENANT: 'organizations' }`. */
  settings?: Readonly<Record<string, string | undefined>> | undefined
}

export interface TokenStorageConfig {
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
  providers?: Readonly<Record<string, ProviderConfig & TokenStorageConfig>>
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
