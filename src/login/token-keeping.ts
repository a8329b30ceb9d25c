import type { LoginConfig } from './config.ts'
import type { ProviderBasics } from './providers/resolved-provider.ts'

/** The providers whose tokens are kept, by name, each with the further scopes that are asked for then. */
export type KeptProviders = ReadonlyMap<string, readonly string[]>

export function keptProviders({ providers = {} }: LoginConfig): KeptProviders {
  const kept = new Map<string, readonly string[]>()
  for (const [name, { keepTokens }] of Object.entries(providers)) {
    if (keepTokens === true) kept.set(name, [])
    else if (keepTokens)
      kept.set(
        name,
        keepTokens.scope.split(/[\s,]+/).filter((scope) => scope !== ''),
      )
  }
  return kept
}

/**
 * A provider whose tokens are kept: with the scopes that they are needed for, and with what it wants in the request
 * before it gives a refresh token. Parameters that are configured go before those.
 */
export function withKeeping<P extends ProviderBasics>(provider: P, kept: KeptProviders): P {
  const further = kept.get(provider.name)
  if (further === undefined) return provider
  const { scope: forRefresh = '', authParams } = provider.quirks.keeping ?? {}
  const scopes = [...provider.scope.split(' '), ...forRefresh.split(' '), ...further]
  return {
    ...provider,
    scope: [...new Set(scopes.filter((scope) => scope !== ''))].join(' '),
    authParams: { ...authParams, ...provider.authParams },
  }
}

/** What is wrong with the keeping, as sentences for the operator. */
export function faultsOfKeeping(kept: KeptProviders, configured: readonly string[]): string[] {
  return [...kept.keys()]
    .filter((name) => !configured.includes(name))
    .map((name) => `login.providers.${name}: keepTokens is set, but there is no such provider`)
}
