import type { AccountEventChoice } from '../accounts/users/account-events.ts'
import { companions, type ProviderSettings, faultOfProviderName, httpUrl } from '../config/providers.ts'
import { type AdmissionHook, type DeclaredHook, type HookTables, validateHooks } from './hooks.ts'
import type { ProviderBasics, ResolvedProvider } from './providers/resolved-provider.ts'
import type { AdminGroup } from '../accounts/users/roles.ts'
import { resolveProvider } from './providers/resolve-provider.ts'

/**
 * One identity provider. Environment variables of the same name (`GITHUB_WORK_…` for `github-work`) take precedence.
 * docs/reference/providers.md lists the presets and their own settings.
 */
type ProviderConfig = {
  [Field in keyof ProviderSettings as Exclude<Field, 'name' | 'label' | 'adminGroups' | 'own'>]?:
    | ProviderSettings[Field]
    | undefined
} & {
  /** The label on /login. */
  name?: string | undefined
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

/** The providers with `keepTokens`, by name, and the additional scopes that each is asked for, separated by spaces. */
export type StoredTokenScopes = ReadonlyMap<string, string>

export function providersWithStoredTokens({ providers = {} }: LoginConfig): StoredTokenScopes {
  const stored = new Map<string, string>()
  for (const [name, { keepTokens }] of Object.entries(providers))
    if (keepTokens) stored.set(name, keepTokens === true ? '' : keepTokens.scope)
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
  const scopes = [...`${provider.scope} ${forRefresh}`.split(' '), ...further.split(/[\s,]+/)]
  return {
    ...provider,
    scope: [...new Set(scopes.filter((scope) => scope !== ''))].join(' '),
    authParams: { ...authParams, ...provider.authParams },
  }
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
  const faults = validateHooks(config)
  if (!['separate', 'offer'].includes(config.sameAddress ?? 'separate'))
    faults.push("login.sameAddress must be 'separate' or 'offer'")
  const stored = providersWithStoredTokens(config)
  const providers: ResolvedProvider[] = []
  const names = builtIn === undefined ? [] : [builtIn]
  for (const settings of mergeProviders(environment, config.providers ?? {}, faults)) {
    names.push(settings.name)
    if (reservedNames.has(settings.name))
      faults.push(
        `${settings.name} cannot be the name of a provider, since /auth/${settings.name} is another call`,
      )
    const provider = resolveProvider({ updateProfile: config.updateProfile ?? false, ...settings })
    if ('faults' in provider) faults.push(...provider.faults)
    else providers.push(withStoredTokenScopes(provider, stored))
  }
  for (const name of stored.keys())
    if (!names.includes(name))
      faults.push(`login.providers.${name}: keepTokens is set, but there is no such provider`)
  return { providers, stored, faults }
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

/** The fields of a provider in the module, and the settings that they are. */
const fields = new Map<string, keyof ProviderSettings>([
  ...Object.values(companions)
    .filter(({ field }) => field !== 'label' && field !== 'adminGroups')
    .map(({ field }) => [field, field] as const),
  ['name', 'label'],
  ['roles', 'roles'],
  ['settings', 'own'],
])

const addresses: ReadonlySet<string> = new Set(['issuer', 'authUrl', 'tokenUrl', 'profileUrl', 'jwksUrl'])

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
    const own = Object.entries({ ...settings.own, ...fromEnvironment.own }).filter(([, value]) => value)
    const given = own.length > 0 && { own: Object.fromEntries(own) }
    merged.push({ ...settings, ...fromEnvironment, name, ...given })
  }
  return [...merged, ...rest.values()]
}

function fromModule(name: string, config: ProviderConfig, faults: string[]): Partial<ProviderSettings> {
  const settings: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(config)) {
    const field = fields.get(key)
    if (field === undefined)
      faults.push(`login.providers.${name}: unknown field ${key}; use ${[...fields.keys()].join(', ')}`)
    else if (value !== undefined && value !== '') {
      try {
        settings[field] = addresses.has(field) ? httpUrl(value as string) : value
      } catch (error) {
        faults.push(`login.providers.${name}.${key} is wrong: ${(error as Error).message}`)
      }
    }
  }
  return settings
}
