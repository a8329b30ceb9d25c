import type {
  AuthorizationCodeGrantChecks,
  Configuration,
  TokenEndpointResponse,
  TokenEndpointResponseHelpers,
} from 'openid-client'
import type { ProfileDocument } from './profile.ts'
import type { ProviderServer, ProviderServers } from './provider-server.ts'
import { TokenExchange } from './token-exchange.ts'

export interface Redeemed {
  tokens: TokenEndpointResponse & TokenEndpointResponseHelpers
  /** What the id_token was verified with. */
  configuration: Configuration
}

export interface Redemption {
  server: ProviderServer
  /** The redirect URI with the answer's code and state. */
  url: URL
  checks: AuthorizationCodeGrantChecks
  /** The issuer that an id_token of these claims must name, where that depends on them. */
  issuerOf: ((claims: ProfileDocument, issuer: string) => string) | undefined
}

/**
 * Exchanges a code and verifies the id_token. A code can be sent once only, so what came for it is looked at again when
 * the first look failed for a reason that lies with us: the token's tenant has an issuer of its own, or the provider
 * has new keys since they were last fetched (openid-client itself does not fetch them again within a minute).
 * @throws whatever speaks against the answer.
 */
export async function redeemIdToken(servers: ProviderServers, redemption: Redemption): Promise<Redeemed> {
  const { authorizationCodeGrant } = await import('openid-client')
  const { server, url, checks, issuerOf } = redemption
  const exchange = new TokenExchange()
  const look = async ({ configuration }: ProviderServer): Promise<Redeemed> => {
    const tokens = await exchange.run(() =>
      authorizationCodeGrant(configuration, new URL(url), { ...checks }),
    )
    return { tokens, configuration }
  }
  const lookWithNewKeys = async (stale: ProviderServer, error: unknown): Promise<Redeemed> => {
    if (!mayBeNewKey(error)) throw error
    const renewed = await servers.withoutKeys(stale)
    const redeemed = await look(renewed)
    await servers.keepKeys(renewed)
    return redeemed
  }
  try {
    return await look(server)
  } catch (error) {
    const claims = exchange.claims()
    const { issuer } = server.metadata
    const wanted = claims && issuerOf ? issuerOf(claims, issuer) : issuer
    if (wanted === issuer) return lookWithNewKeys(server, error)
    const other = await servers.underIssuer(server, wanted)
    try {
      const redeemed = await look(other)
      await servers.keepKeys(other)
      return redeemed
    } catch (second) {
      return await lookWithNewKeys(other, second)
    }
  }
}

/** Whether a signature failed in a way that another set of keys may mend. */
function mayBeNewKey(error: unknown): boolean {
  for (let current = error; current instanceof Error; current = current.cause) {
    const { code, message } = current as Error & { code?: unknown }
    if (code === 'OAUTH_KEY_SELECTION_FAILED' || message === 'JWT signature verification failed') return true
  }
  return false
}
