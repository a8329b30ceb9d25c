import type { LoginConfig } from './config.ts'

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

/** A provider's scopes with those that its kept tokens are needed for. */
export function withKeptScopes<P extends { name: string; scope: string }>(
  provider: P,
  kept: KeptProviders,
): P {
  const further = kept.get(provider.name)
  if (further === undefined || further.length === 0) return provider
  const scopes = provider.scope.split(' ').filter((scope) => scope !== '')
  return { ...provider, scope: [...new Set([...scopes, ...further])].join(' ') }
}

/** What is wrong with the keeping, as sentences for the operator. */
export function faultsOfKeeping(kept: KeptProviders, configured: readonly string[]): string[] {
  return [...kept.keys()]
    .filter((name) => !configured.includes(name))
    .map((name) => `login.providers.${name}: keepTokens is set, but there is no such provider`)
}
