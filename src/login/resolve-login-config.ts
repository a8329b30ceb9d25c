import type { AdminGroup } from '../accounts/users/roles.ts'
import { type ProviderSettings, faultOfProviderName, httpUrl } from '../config/providers.ts'
import {
  type LoginConfig,
  providersWithStoredTokens,
  type StoredTokenScopes,
  validateTokenStorage,
  withStoredTokenScopes,
  type ProviderConfig,
  type TokenStorageConfig,
} from './config.ts'
import { validateHooks } from './hooks.ts'
import type { ResolvedProvider } from './providers/resolved-provider.ts'
import { resolveProvider } from './providers/resolve-provider.ts'

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
