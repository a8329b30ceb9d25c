import type { ProviderSettings } from '../config/providers.ts'
import { validateClients } from './clients.ts'
import type { LoginConfig } from './config.ts'
import { validateHooks } from './hooks.ts'
import { mergeProviders } from './providers/configured-providers.ts'
import type { ResolvedProvider } from './providers/resolved-provider.ts'
import { resolveProvider } from './providers/settings.ts'
import { validateTokenStorage, providersWithStoredTokens, withStoredTokenScopes } from './token-storage.ts'

/**
 * The providers of the environment and of the configuration module, without the built-in one, and everything that is
 * wrong with them or with the module's apps and hooks, as sentences for the operator.
 */
export function resolveProviders(
  config: LoginConfig,
  environment: readonly ProviderSettings[],
  builtIn?: string,
): { providers: ResolvedProvider[]; faults: string[] } {
  const faults = [...validateClients(config.clients ?? []), ...validateHooks(config)]
  const kept = providersWithStoredTokens(config)
  const providers: ResolvedProvider[] = []
  const named = builtIn === undefined ? [] : [builtIn]
  for (const settings of mergeProviders(environment, config.providers ?? {}, faults)) {
    named.push(settings.name)
    const provider = resolveProvider(settings)
    if ('faults' in provider) faults.push(...provider.faults)
    else providers.push(withStoredTokenScopes(provider, kept))
  }
  return { providers, faults: [...faults, ...validateTokenStorage(kept, named)] }
}
