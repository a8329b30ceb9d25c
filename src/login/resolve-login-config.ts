import type { AdminGroup } from '../accounts/users/roles.ts'
import type { ProviderSettings } from '../config/providers.ts'
import type { LoginConfig } from './config.ts'
import { validateHooks } from './hooks.ts'
import { mergeProviders } from './providers/configured-providers.ts'
import type { ResolvedProvider } from './providers/resolved-provider.ts'
import { resolveProvider } from './providers/resolve-provider.ts'
import {
  providersWithStoredTokens,
  type StoredTokenScopes,
  validateTokenStorage,
  withStoredTokenScopes,
} from './keep-tokens-config.ts'

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
