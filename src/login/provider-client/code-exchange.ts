import type {
  AuthorizationCodeGrantChecks,
  TokenEndpointResponse,
  TokenEndpointResponseHelpers,
} from 'openid-client'
import type { ProfileDocument } from './profile.ts'
import { refusedTokens } from './provider-errors.ts'
import type { ProviderServer, ProviderServerCache } from './provider-server.ts'
import { TokenResponseCache } from './token-response-cache.ts'

interface ExchangedCode {
  tokens: TokenEndpointResponse & TokenEndpointResponseHelpers
  /** The server that verified the id_token. */
  server: ProviderServer
}

interface ProviderCodeExchange {
  server: ProviderServer
  /** The redirect URI with the code and state of the response. */
  url: URL
  checks: AuthorizationCodeGrantChecks
  /** The issuer that an id_token with these claims must have, if it depends on the claims. */
  expectedTokenIssuer?: ((claims: ProfileDocument, issuer: string) => string) | undefined
}

/**
 * Exchanges a code and verifies the id_token. A code can be sent only once, so the response is cached and verified again in
 * two cases: the token's tenant has its own issuer, or the provider may have new keys, algorithms or addresses (openid-client fetches
 * keys once a minute at most). With Microsoft's `common` the first verification always fails, because each tenant has its own issuer.
 * @throws when the exchange or the verification fails.
 */
export async function exchangeCode(
  servers: ProviderServerCache,
  { server: current, url, checks, expectedTokenIssuer }: ProviderCodeExchange,
): Promise<ExchangedCode> {
  const { authorizationCodeGrant } = await import('openid-client')
  const cache = new TokenResponseCache()
  const verify = async (server: ProviderServer): Promise<ExchangedCode> => {
    const { configuration } = server
    const tokens = await cache
      .run(() => authorizationCodeGrant(configuration, new URL(url), { ...checks }))
      .catch(refusedTokens)
    return { tokens, server }
  }
  const verifyAsTenant = async (server: ProviderServer): Promise<ExchangedCode> => {
    const { issuer } = server.metadata
    try {
      return await verify(server)
    } catch (error) {
      const claims = cache.unverifiedClaims()
      const expected = claims && expectedTokenIssuer ? expectedTokenIssuer(claims, issuer) : issuer
      if (expected === issuer) throw error
      const exchanged = await verify(await servers.withIssuer(server, expected))
      await servers.shareKeysOf(exchanged.server)
      return exchanged
    }
  }
  try {
    return await verifyAsTenant(current)
  } catch (error) {
    const isTaken = cache.status === 200
    if (!(isTaken ? needsMetadata(error) : mayHaveMoved(error))) throw error
    const renewed = await servers.renew(current)
    const hasMoved = renewed.metadata.token_endpoint !== current.metadata.token_endpoint
    if (!isTaken && !hasMoved) throw error
    const exchanged = await verifyAsTenant(renewed)
    await servers.shareKeysOf(exchanged.server)
    return exchanged
  }
}

/** Whether the verification of an id_token failed in a way that a new document or new keys may solve. */
function needsMetadata(error: unknown): boolean {
  return chainOf(error).some(
    ({ code, message, cause }) =>
      code === 'OAUTH_KEY_SELECTION_FAILED' ||
      message === 'JWT signature verification failed' ||
      message === 'unexpected JWT "alg" header parameter' ||
      // The keys could not be fetched.
      cause instanceof Response ||
      isUnreachable(code),
  )
}

/** Whether an endpoint did not accept a request, such as one that has moved. */
export function mayHaveMoved(error: unknown): boolean {
  return chainOf(error).some(
    ({ code, message, cause }) =>
      (cause instanceof Response && movedStatuses.has(cause.status)) ||
      isUnreachable(code) ||
      /^(?:request failed|fetch failed)/.test(message),
  )
}

const movedStatuses = new Set([301, 302, 303, 307, 308, 404, 405, 410])

function isUnreachable(code: unknown): boolean {
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'OAUTH_TIMEOUT'
}

function chainOf(error: unknown): { code?: unknown; message: string; cause?: unknown }[] {
  const chain = []
  for (let current = error; current instanceof Error; current = current.cause) chain.push(current)
  return chain
}
