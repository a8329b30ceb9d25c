import type {
  AuthorizationCodeGrantChecks,
  Configuration,
  TokenEndpointResponse,
  TokenEndpointResponseHelpers,
} from 'openid-client'
import type { ProfileDocument } from './profile.ts'
import type { ProviderServer, ProviderServerCache } from './provider-server.ts'
import { TokenResponseCache } from './token-response-cache.ts'

export interface ExchangedCode {
  tokens: TokenEndpointResponse & TokenEndpointResponseHelpers
  /** The configuration that verified the id_token. */
  configuration: Configuration
}

export interface ProviderCodeExchange {
  server: ProviderServer
  /** The redirect URI with the code and state of the response. */
  url: URL
  checks: AuthorizationCodeGrantChecks
  /** The issuer that an id_token with these claims must have, if it depends on the claims. */
  expectedTokenIssuer: ((claims: ProfileDocument, issuer: string) => string) | undefined
}

/**
 * Exchanges a code and verifies the id_token. A code can be sent only once, so the response is cached and verified again in
 * two cases: the token's tenant has its own issuer, or the provider has new keys (openid-client fetches keys once a minute at
 * most). With Microsoft's `common` the first verification always fails, because each tenant has its own issuer.
 * @throws when the exchange or the verification fails.
 */
export async function exchangeForIdToken(
  servers: ProviderServerCache,
  { server, url, checks, expectedTokenIssuer }: ProviderCodeExchange,
): Promise<ExchangedCode> {
  const { authorizationCodeGrant } = await import('openid-client')
  const cache = new TokenResponseCache()
  const verify = async ({ configuration }: ProviderServer): Promise<ExchangedCode> => {
    const tokens = await cache.run(() => authorizationCodeGrant(configuration, new URL(url), { ...checks }))
    return { tokens, configuration }
  }
  const verifyWithNewKeys = async (stale: ProviderServer, error: unknown): Promise<ExchangedCode> => {
    if (!mayNeedNewKeys(error)) throw error
    const renewed = await servers.refetchKeys(stale)
    const exchanged = await verify(renewed)
    await servers.shareKeysOf(renewed)
    return exchanged
  }
  try {
    return await verify(server)
  } catch (error) {
    const claims = cache.unverifiedClaims()
    const { issuer } = server.metadata
    const expected = claims && expectedTokenIssuer ? expectedTokenIssuer(claims, issuer) : issuer
    if (expected === issuer) return verifyWithNewKeys(server, error)
    const tenant = await servers.withIssuer(server, expected)
    try {
      const exchanged = await verify(tenant)
      await servers.shareKeysOf(tenant)
      return exchanged
    } catch (tenantError) {
      return await verifyWithNewKeys(tenant, tenantError)
    }
  }
}

/** Whether a verification failed in a way that new keys may solve. */
function mayNeedNewKeys(error: unknown): boolean {
  for (let current = error; current instanceof Error; current = current.cause) {
    const { code, message } = current as Error & { code?: unknown }
    if (code === 'OAUTH_KEY_SELECTION_FAILED' || message === 'JWT signature verification failed') return true
  }
  return false
}
