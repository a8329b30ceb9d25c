import { ConfigurationError } from '../config/environment.ts'
import type { DeclaredHandler, Handler, ProviderToken } from './config.ts'

/** Where users' access tokens at identity providers come from; service.ts passes it in. */
export interface ProviderTokenSource {
  /** Whether tokens of this provider are kept at all. */
  keeps(provider: string): boolean
  accessToken: ProviderToken
}

/**
 * The handlers as functions. One that declares which providers' access tokens it needs gets those, and no other handler
 * gets any. @throws ConfigurationError for a declaration that cannot be met.
 */
export function plainHandlers(
  handlers: Readonly<Record<string, DeclaredHandler>> = {},
  tokens?: ProviderTokenSource,
): Record<string, Handler> {
  const faults: string[] = []
  const plain = Object.entries(handlers).map(([key, declared]): [string, Handler] => {
    // What is neither is told by whoever checks all handlers.
    if (typeof declared !== 'object' || declared === null) return [key, declared]
    const { handle, providerTokens } = declared
    for (const provider of providerTokens) {
      if (tokens?.keeps(provider)) continue
      faults.push(
        `receiving.handlers[${JSON.stringify(key)}] needs tokens of ${provider}: set login.providers.${provider}.keepTokens`,
      )
    }
    return [key, (event, context) => handle(event, { ...context, providerToken })]

    async function providerToken(...[provider, owner]: Parameters<ProviderToken>) {
      if (!tokens || !providerTokens.includes(provider))
        throw new Error(`this handler does not declare that it needs tokens of ${provider}`)
      return tokens.accessToken(provider, owner)
    }
  })
  if (faults.length > 0) throw new ConfigurationError(faults)
  return Object.fromEntries(plain)
}

/** What a handler without a declaration gets. */
export const noProviderToken: ProviderToken = async (provider) => {
  throw new Error(
    `declare the need first: { providerTokens: [${JSON.stringify(provider)}], handle: async (event, context) => … }`,
  )
}
