import type { AccountEventChoice } from '../accounts/users/account-events.ts'
import type { GroupRoles, TokenAuth } from '../config/providers.ts'
import type { DeclaredHook, HookTables } from './hooks.ts'
import type { ProviderBasics } from './providers/resolved-provider.ts'

/**
 * One identity provider. Environment variables of the same name (`GITHUB_WORK_…` for `github-work`) take precedence.
 * docs/reference/providers.md lists the presets and their own settings.
 */
export interface ProviderConfig {
  /** The preset; default the one with the provider's name, if it exists. */
  preset?: string | undefined
  clientId?: string | undefined
  clientSecret?: string | undefined
  /** The label on /login. */
  name?: string | undefined
  /** The icon on /login: an image file or a `data:image/…` URI. */
  icon?: string | undefined
  issuer?: string | undefined
  authUrl?: string | undefined
  tokenUrl?: string | undefined
  profileUrl?: string | undefined
  jwksUrl?: string | undefined
  /** Separated by spaces. */
  scope?: string | undefined
  /** Additional parameters of the authorization request. */
  authParams?: Readonly<Record<string, string>> | undefined
  tokenAuth?: TokenAuth | undefined
  pkce?: boolean | undefined
  /** Whether it reauthenticates a person on request and proves it in the id_token. */
  provesAuthentication?: boolean | undefined
  /**
   * The claim with the person's groups: `groups`, or a path such as `realm_access.roles`. Default: `groups` with `roles`
   * or `allowedGroups`, otherwise groups are not read. Of the groups of GitHub and GitLab, only those that these two name are stored,
   * unless this is `groups`.
   */
  groupsClaim?: string | undefined
  /** The roles that the groups give: `{ admin: ['operators'] }`. Each sign-in evaluates them anew. */
  roles?: GroupRoles | undefined
  /** Only members of one of these groups may sign in. */
  allowedGroups?: readonly string[] | undefined
  /**
   * Only people with an e-mail address of one of these domains may sign in, if the provider asserts that it is verified:
   * `example.com`, or `*.example.com` for all domains below it.
   */
  allowedEmailDomains?: readonly string[] | undefined
  /** Whether each sign-in updates the e-mail address and name of the user. Default: `login.updateProfile`. */
  updateProfile?: boolean | undefined
  /** Whether a sign-out of an application goes on to the provider's own sign-out. Default false. */
  endSession?: boolean | undefined
  /** The preset's own settings, by their names in the environment: `{ TENANT: 'organizations' }`. */
  settings?: Readonly<Record<string, string | undefined>> | undefined
}

export interface TokenStorageConfig {
  /**
   * Stores the provider's tokens, sealed, for handlers that declare them. `scope`: additional scopes, separated by spaces,
   * that these handlers need.
   */
  keepTokens?: boolean | { scope: string }
}

/** The `login` part of the configuration module. */
export interface LoginConfig<DB = HookTables> {
  /** By the provider's name, as in /auth/{name}. */
  providers?: Readonly<Record<string, ProviderConfig & TokenStorageConfig>>
  /**
   * Whether each sign-in updates the e-mail address and name of the user to those of the provider. Default false: they stay as
   * at the first sign-in, and only empty values are filled.
   */
  updateProfile?: boolean
  /**
   * The events about accounts that are emitted: `true` for user.created, user.signed_in, identity.linked and
   * identity.unlinked, or a list of them. Default: no events.
   */
  events?: AccountEventChoice
  /** At the first sign-in of an identity, before `onSignIn`. */
  onSignUp?: DeclaredHook<DB>
  /** At every sign-in, the first one included. */
  onSignIn?: DeclaredHook<DB>
  /** When a signed-in user links another identity. */
  onLink?: DeclaredHook<DB>
}

/** The providers with `keepTokens`, by name, and the additional scopes that each is asked for. */
export type StoredTokenScopes = ReadonlyMap<string, readonly string[]>

export function providersWithStoredTokens({ providers = {} }: LoginConfig): StoredTokenScopes {
  const stored = new Map<string, readonly string[]>()
  for (const [name, { keepTokens }] of Object.entries(providers)) {
    if (keepTokens === true) stored.set(name, [])
    else if (keepTokens)
      stored.set(
        name,
        keepTokens.scope.split(/[\s,]+/).filter((scope) => scope !== ''),
      )
  }
  return stored
}

/**
 * For a provider with `keepTokens`: adds the configured scopes, and the scope and parameters that this provider requires
 * for a refresh token. Configured parameters take precedence.
 */
export function withStoredTokenScopes<P extends ProviderBasics>(provider: P, stored: StoredTokenScopes): P {
  const further = stored.get(provider.name)
  if (further === undefined) return provider
  const { scope: forRefresh = '', authParams } = provider.quirks.storedTokens ?? {}
  const scopes = [...provider.scope.split(' '), ...forRefresh.split(' '), ...further]
  return {
    ...provider,
    scope: [...new Set(scopes.filter((scope) => scope !== ''))].join(' '),
    authParams: { ...authParams, ...provider.authParams },
  }
}

/** The errors in `keepTokens`, as messages for the operator. */
export function validateTokenStorage(stored: StoredTokenScopes, configured: readonly string[]): string[] {
  return [...stored.keys()]
    .filter((name) => !configured.includes(name))
    .map((name) => `login.providers.${name}: keepTokens is set, but there is no such provider`)
}
