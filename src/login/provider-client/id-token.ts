import type { IDToken } from 'openid-client'
import { equalBytes, hashToken } from '../../crypto/secrets.ts'
import type { NativeSignIn } from '../../accounts/index.ts'
import { unverifiedClaims } from '../../crypto/signed-jwt.ts'
import type { Row } from '../../storage/tables.ts'
import type { OpenIdProvider } from '../providers/resolved-provider.ts'
import { clockTolerance, type ProfileDocument } from './profile.ts'
import type { ProviderServer, ProviderServerCache } from './provider-server.ts'

/** The maximum age of an id_token, in seconds: an app sends it right after the sign-in. */
const longestAge = 300
/** Seconds for which a used id_token is remembered at most. By then it is long too old. */
const longestMemory = 86_400

/** An id_token that an app got from a provider's SDK. */
export type NativeIdToken = Pick<NativeSignIn, 'idToken' | 'nonce' | 'givenName'>

/** Why an id_token was rejected, for the app's developers. */
export class IdTokenRejected extends Error {
  override readonly name = 'IdTokenRejected'
}

/** The claims of a verified id_token, and the server with the keys that verified it. */
interface VerifiedIdToken {
  claims: IDToken
  server: ProviderServer
  /** To be used up with the sign-in. */
  used: Row<'used_assertions'>
}

/**
 * Verifies an id_token that an app got without this service (OpenID Connect Core, section 3.1.3.7): the signature, the issuer as
 * after a code exchange, an audience that the provider declares, the nonce, and an age of five minutes at most.
 * @param now milliseconds
 * @throws IdTokenRejected; errors of openid-client and fetch
 */
export async function verifyIdToken(
  servers: ProviderServerCache,
  { audiences, quirks }: OpenIdProvider,
  { idToken, nonce }: NativeIdToken,
  now: number,
): Promise<VerifiedIdToken> {
  const { implicitAuthentication, useIdTokenResponseType } = await import('openid-client')
  const unverified = unverifiedClaims(idToken)
  if (!unverified) throw new IdTokenRejected('it is not a JWT')
  // The library compares both with the claims of the verified token.
  const clientId = audienceIn(unverified, audiences)
  const expectedNonce = matchingNonce(unverified, nonce)
  const server = await servers.current()
  const issuer = quirks.expectedTokenIssuer?.(unverified, server.metadata.issuer) ?? server.metadata.issuer
  const own = await servers.withIssuer(server, issuer, clientId)
  useIdTokenResponseType(own.configuration)
  const response = new URL(`https://app.invalid/#id_token=${encodeURIComponent(idToken)}`)
  let claims: IDToken
  try {
    claims = await implicitAuthentication(own.configuration, response, expectedNonce)
  } finally {
    // Also after a failure: otherwise anybody could make each request fetch the keys, with invented key ids.
    await servers.shareKeysOf(own)
  }
  const { iat, exp, iss } = claims
  if (iat > now / 1000 + clockTolerance) throw new IdTokenRejected('iat is in the future')
  if (iat <= now / 1000 - longestAge - clockTolerance)
    throw new IdTokenRejected('it was issued more than five minutes ago')
  const end = Math.ceil(Math.min(exp, iat + longestMemory) + clockTolerance)
  // Without the signature, which ECDSA lets anybody change into another valid one.
  const hash = hashToken(idToken.slice(0, idToken.lastIndexOf('.')))
  return { claims, server: own, used: { issuer: iss, hash, expires_at: end * 1000 } }
}

/** With several audiences, `azp` has to be the client (OpenID Connect Core, section 3.1.3.7, points 4 and 5). */
function audienceIn({ aud, azp }: ProfileDocument, audiences: readonly string[]): string {
  const named: unknown[] = [aud].flat()
  const found = [azp, ...named].find(
    (one): one is string => typeof one === 'string' && audiences.includes(one) && named.includes(one),
  )
  if (found === undefined) throw new IdTokenRejected("aud is not one of the provider's audiences")
  return found
}

/** SHA-256 in hexadecimal digits, as in the SDKs' documentation. */
const digest = /^[0-9a-f]{64}$/

/**
 * The nonce that the token must have: the app's, or its SHA-256. A claim that looks like a hash counts as one: otherwise a thief of
 * the token could send the claim itself, and the hash would protect nothing.
 */
function matchingNonce({ nonce: claim }: ProfileDocument, nonce: string): string {
  if (typeof claim !== 'string' || claim === '') throw new IdTokenRejected('it has no nonce')
  const expected = digest.test(claim) ? hashToken(nonce).toString('hex') : nonce
  if (equalBytes(Buffer.from(claim), Buffer.from(expected))) return claim
  throw new IdTokenRejected(
    "its nonce is neither the request's nor its SHA-256; 64 hex digits always count as a SHA-256",
  )
}
