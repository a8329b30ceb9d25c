import type { AccountEventChoice } from '../accounts/users/account-events.ts'
import {
  type GroupRoles,
  type TokenAuth,
  type ProviderSettings,
  faultOfProviderName,
  httpUrl,
} from '../config/providers.ts'
import { type AdmissionHook, type DeclaredHook, type HookTables, validateHooks } from './hooks.ts'
import type { ProviderBasics, ResolvedProvider } from './providers/resolved-provider.ts'
import type { AdminGroup } from '../accounts/users/roles.ts'
import { resolveProvider } from './providers/resolve-provider.ts'

/**
 * One identity provider. Environment variables of the same name (`GITHUB_WORK_…` for `github-work`) take precedence.
 * docs/reference/providers.md lists the presets and their own settings.
 */
interface ProviderConfig {
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
  /**
   * The client ids for which the provider issues id_tokens to native apps. Enables `POST /auth/{provider}/token`, which accepts these
   * id_tokens. Default: none.
   */
  audiences?: readonly string[] | undefined
  /** Whether each sign-in updates the e-mail address and name of the user. Default: `login.updateProfile`. */
  updateProfile?: boolean | undefined
  /** Whether a sign-out of an application goes on to the provider's own sign-out. Default false. */
  endSession?: boolean | undefined
  /** The preset's own settings, by their names in the environment: `{ TENANT: 'organizations' }`. */
  settings?: Readonly<Record<string, string | undefined>> | undefined
}

interface TokenStorageConfig {
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
   * What happens when the verified address of a new identity is that of a user who signs in with another provider. `offer`: a page asks
   * the person to sign in with that provider, which links the identity, or to continue as a new user. `separate`, the default: the identity
   * gets a user of its own. Neither links anything by the address alone.
   */
  sameAddress?: 'separate' | 'offer'
  /**
   * The events about accounts that are emitted: `true` for user.created, user.signed_in, identity.linked and
   * identity.unlinked, or a list of them. Default: no events.
   */
  events?: AccountEventChoice
  /**
   * Who may create an account: everybody (`open`, the default), people with an invitation (`invited`), or people whom a hook accepts. The
   * hook is not called for people with an invitation, for admins by configuration and for existing users.
   */
  admission?: 'open' | 'invited' | AdmissionHook<DB>
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
function withStoredTokenScopes<P extends ProviderBasics>(provider: P, stored: StoredTokenScopes): P {
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
function validateTokenStorage(stored: StoredTokenScopes, configured: readonly string[]): string[] {
  return [...stored.keys()]
    .filter((name) => !configured.includes(name))
    .map((name) => `login.providers.${name}: keepTokens is set, but there is no such provider`)
}

function validateSameAddress({ sameAddress }: LoginConfig): string[] {
  return sameAddress === undefined || ['separate', 'offer'].includes(sameAddress)
    ? []
    : ["login.sameAddress must be 'separate' or 'offer'"]
}

/** The groups whose members are admins. Faults are reported by `resolveLoginConfig`. */
export function adminGroupsOf(
  config: LoginConfig,
  environment: readonly ProviderSettings[],
): readonly AdminGroup[] {
  return resolveLoginConfig(config, environment).providers.flatMap(({ name, groups }) =>
    groups.admin.map((group) => ({ provider: name, group })),
  )
}

/**
 * The providers of the environment and of the configuration module, without the built-in one, and the errors in them and in
 * the hooks of the module, as messages for the operator.
 */
export function resolveLoginConfig(
  config: LoginConfig,
  environment: readonly ProviderSettings[],
  builtIn?: string,
): { providers: ResolvedProvider[]; stored: StoredTokenScopes; faults: string[] } {
  const faults = [...validateHooks(config), ...validateSameAddress(config)]
  const stored = providersWithStoredTokens(config)
  const providers: ResolvedProvider[] = []
  const names = builtIn === undefined ? [] : [builtIn]
  for (const settings of mergeProviders(environment, config.providers ?? {}, faults)) {
    names.push(settings.name)
    const reserved = faultOfReservedName(settings.name)
    if (reserved !== undefined) faults.push(reserved)
    const provider = resolveProvider({ updateProfile: config.updateProfile ?? false, ...settings })
    if ('faults' in provider) faults.push(...provider.faults)
    else providers.push(withStoredTokenScopes(provider, stored))
  }
  return { providers, stored, faults: [...faults, ...validateTokenStorage(stored, names)] }
}

/**
 * The fixed segments of other routes below /auth: `/auth/sessions` would never lead to a provider `sessions`. A test compares
 * them with the declared routes, which `postern config check` does not have.
 */
const reservedNames: ReadonlySet<string> = new Set([
  'apps',
  'audit',
  'forward',
  'identities',
  'impersonation',
  'logout',
  'providers',
  'session',
  'sessions',
  'token',
])

/** Returns the fault of a provider's name that another route has, as a message. */
function faultOfReservedName(name: string): string | undefined {
  return reservedNames.has(name)
    ? `${name} cannot be the name of a provider, since /auth/${name} is another call`
    : undefined
}

const fields = {
  preset: 'preset',
  clientId: 'clientId',
  clientSecret: 'clientSecret',
  name: 'label',
  icon: 'icon',
  issuer: 'issuer',
  authUrl: 'authUrl',
  tokenUrl: 'tokenUrl',
  profileUrl: 'profileUrl',
  jwksUrl: 'jwksUrl',
  scope: 'scope',
  authParams: 'authParams',
  tokenAuth: 'tokenAuth',
  pkce: 'pkce',
  provesAuthentication: 'provesAuthentication',
  groupsClaim: 'groupsClaim',
  roles: 'roles',
  allowedGroups: 'allowedGroups',
  allowedEmailDomains: 'allowedEmailDomains',
  audiences: 'audiences',
  updateProfile: 'updateProfile',
  endSession: 'endSession',
  settings: 'own',
} as const satisfies Record<keyof ProviderConfig, keyof ProviderSettings>

const addresses = ['issuer', 'authUrl', 'tokenUrl', 'profileUrl', 'jwksUrl'] as const

/**
 * Merges the providers of the environment and of the configuration module, in the order of /login: those of the module first,
 * in its order. For one name, each setting of the environment takes precedence; `-` and `_` in names are equivalent. Faults are
 * added to `faults`.
 */
export function mergeProviders(
  environment: readonly ProviderSettings[],
  module: Readonly<Record<string, ProviderConfig & TokenStorageConfig>>,
  faults: string[],
): ProviderSettings[] {
  const rest = new Map(environment.map((settings) => [settings.name, settings]))
  const merged: ProviderSettings[] = []
  const seen = new Set<string>()
  for (const [name, { keepTokens: _stored, ...config }] of Object.entries(module)) {
    const variable = name.replaceAll('-', '_')
    const fault =
      faultOfProviderName(name) ?? (seen.has(variable) ? `${name} is configured twice` : undefined)
    if (fault !== undefined) {
      faults.push(`login.providers: ${fault}`)
      continue
    }
    seen.add(variable)
    // Only `keepTokens` is set: the provider is configured elsewhere, or built in.
    if (Object.keys(config).length === 0 && !rest.has(variable)) continue
    const { name: _name, ...fromEnvironment } = rest.get(variable) ?? { name }
    rest.delete(variable)
    const settings = fromModule(name, config, faults)
    const own = { ...settings.own, ...fromEnvironment.own }
    merged.push({ ...settings, ...fromEnvironment, name, ...(Object.keys(own).length > 0 && { own }) })
  }
  return [...merged, ...rest.values()]
}

function fromModule(name: string, config: ProviderConfig, faults: string[]): Partial<ProviderSettings> {
  const settings: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(config)) {
    if (!Object.hasOwn(fields, key)) {
      faults.push(`login.providers.${name}: unknown field ${key}; use ${Object.keys(fields).join(', ')}`)
    } else if (value !== undefined && value !== '') {
      settings[fields[key as keyof ProviderConfig]] = value
    }
  }
  for (const key of addresses) {
    try {
      if (config[key]) httpUrl(config[key])
    } catch (error) {
      faults.push(`login.providers.${name}.${key} is wrong: ${(error as Error).message}`)
      delete settings[key]
    }
  }
  const given = Object.entries(config.settings ?? {}).filter(([, value]) => value !== undefined)
  return {
    ...settings,
    ...(given.length > 0 && { own: Object.fromEntries(given) as Record<string, string> }),
  }
}
