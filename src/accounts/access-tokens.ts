import { randomUUID } from 'node:crypto'
import type { JWTPayload, JWTVerifyResult } from 'jose'
import type { Clock } from '../clock.ts'
import { Problem } from '../errors.ts'
import type { Principal } from '../http/principal.ts'
import type { Queryable } from '../storage/database.ts'
import type { Family, RefreshTokens } from './refresh-tokens.ts'
import { algorithm, type SigningKeys } from './signing-keys.ts'

/** Seconds that an access token is good for. */
export const accessTokenLifetime = 15 * 60

const type = 'at+jwt'

/**
 * Access tokens for apps: JWTs by the profile of RFC 9068. They are short-lived, and still looked up when they are used:
 * one of a revoked family or a blocked user is refused at once.
 */
export class AccessTokens {
  readonly #keys: SigningKeys
  readonly #refreshTokens: RefreshTokens
  readonly #reader: Queryable
  readonly #clock: Clock
  readonly #baseUrl: () => string

  constructor(parts: {
    keys: SigningKeys
    refreshTokens: RefreshTokens
    reader: Queryable
    clock: Clock
    baseUrl: () => string
  }) {
    this.#keys = parts.keys
    this.#refreshTokens = parts.refreshTokens
    this.#reader = parts.reader
    this.#clock = parts.clock
    this.#baseUrl = parts.baseUrl
  }

  async issue(family: Family): Promise<string> {
    const { SignJWT } = await import('jose')
    const { kid, key } = await this.#keys.signer()
    const now = Math.floor(this.#clock.now() / 1000)
    return new SignJWT({
      client_id: family.clientId,
      sid: family.familyId,
      auth_time: Math.floor(family.authenticatedAt / 1000),
    })
      .setProtectedHeader({ alg: algorithm, typ: type, kid })
      .setIssuer(this.#baseUrl())
      .setAudience(this.#baseUrl())
      .setSubject(family.userId)
      .setJti(randomUUID())
      .setIssuedAt(now)
      .setExpirationTime(now + accessTokenLifetime)
      .sign(key)
  }

  /** The principal of a token. @throws Problem `not-signed-in` when it is not (or no longer) valid. */
  async authenticate(token: string): Promise<Principal> {
    const { sub, sid } = (await this.#verify(token)).payload as JWTPayload & { sid?: unknown }
    if (typeof sub !== 'string' || typeof sid !== 'string') throw invalid()
    const role = await this.#refreshTokens.liveRole(this.#reader, sid, sub)
    if (!role) throw invalid()
    return { kind: 'token', role, userId: sub, sessionId: sid }
  }

  async #verify(token: string): Promise<JWTVerifyResult> {
    const { errors, jwtVerify } = await import('jose')
    try {
      return await jwtVerify(
        token,
        async ({ kid }) => {
          const key = kid === undefined ? undefined : await this.#keys.publicKey(kid)
          if (!key) throw new errors.JWKSNoMatchingKey()
          return key
        },
        {
          algorithms: [algorithm],
          typ: type,
          issuer: this.#baseUrl(),
          audience: this.#baseUrl(),
          requiredClaims: ['exp', 'sub', 'sid'],
          currentDate: new Date(this.#clock.now()),
        },
      )
    } catch (error) {
      if (error instanceof errors.JOSEError) throw invalid(error)
      throw error
    }
  }
}

function invalid(cause?: unknown): Problem {
  return new Problem('not-signed-in', { detail: 'The access token is invalid, expired or revoked.', cause })
}
