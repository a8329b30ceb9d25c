import type { LoginConfig } from './config.ts'
import type { ProviderBasics } from './providers/resolved-provider.ts'

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
