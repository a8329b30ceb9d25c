import { randomUUID } from 'node:crypto'
import type { JWTPayload, JWTVerifyResult } from 'jose'
import type { Clock } from '../runtime/clock.ts'
import { Problem } from '../errors.ts'
import { basePathOf } from '../http/requests/base-path.ts'
import type { Principal } from '../http/access/principal.ts'
import type { Queryable } from '../storage/database.ts'
import type { Family, RefreshTokens } from './refresh-tokens.ts'
import { stepUpPath, type SecondFactor } from './second-factor.ts'
import { algorithm, type SigningKeys } from './signing-keys.ts'

/** Seconds that an access token is valid at most. */
const longestLifetime = 15 * 60

const type = 'at+jwt'

/** The part of an app's configuration that is about its access tokens. */
export interface AppRights {
  id: string
  /**
   * Whether its access tokens have the admin role when an admin signs in with it. Default false: an app acts with the
   * rights of a user, because an attacker who takes over the app has its tokens.
   */
  admin?: boolean | undefined
  /**
   * Whether its access tokens may list and revoke all sessions of their user and read the account's audit log: for an app
   * that is the product's own account page. Default false: only the sessions of this app.
   */
  managesSessions?: boolean | undefined
  /**
   * The audience of its access tokens (the claim `aud`); default this service. This service accepts only tokens with its
   * own audience.
   */
  audience?: string | readonly string[] | undefined
}

export interface AccessTokensParts {
  keys: SigningKeys
  refreshTokens: RefreshTokens
  reader: Queryable
  clock: Clock
  baseUrl: () => string
  apps: readonly AppRights[]
  secondFactor: SecondFactor
  /** Milliseconds without a refresh after which a token family expires. */
  idle: number
}

/**
 * Access tokens for apps: short-lived JWTs (RFC 9068). Each use also reads the token family, so that revoking a family or
 * blocking a user takes effect at once.
 */
export class AccessTokens {
  readonly #parts: AccessTokensParts
  readonly #apps: ReadonlyMap<string, AppRights>
  /** Seconds. A token must not outlive its family. */
  readonly #lifetime: number

  constructor(parts: AccessTokensParts) {
    this.#parts = parts
    this.#apps = new Map(parts.apps.map((app) => [app.id, app]))
    this.#lifetime = Math.max(1, Math.min(longestLifetime, Math.floor(parts.idle / 1000)))
  }

  /** Signs a token for a family. `expiresIn` is in seconds. */
  async issue(family: Family): Promise<{ token: string; expiresIn: number }> {
    const { SignJWT } = await import('jose')
    const audience = this.#apps.get(family.clientId)?.audience ?? this.#parts.baseUrl()
    const { kid, key } = await this.#parts.keys.signer()
    const now = Math.floor(this.#parts.clock.now() / 1000)
    const token = await new SignJWT({
      client_id: family.clientId,
      sid: family.familyId,
      auth_time: Math.floor(family.authenticatedAt / 1000),
    })
      .setProtectedHeader({ alg: algorithm, typ: type, kid })
      .setIssuer(this.#parts.baseUrl())
      .setAudience(typeof audience === 'string' ? audience : [...audience])
      .setSubject(family.userId)
      .setJti(randomUUID())
      .setIssuedAt(now)
      .setExpirationTime(now + this.#lifetime)
      .sign(key)
    return { token, expiresIn: this.#lifetime }
  }

  /** The principal of a token. @throws Problem `not-signed-in` when it is invalid, expired or revoked. */
  async authenticate(token: string): Promise<Principal> {
    const { sub, sid } = (await this.#verify(token)).payload as JWTPayload & { sid?: unknown }
    if (typeof sub !== 'string' || typeof sid !== 'string') throw invalid()
    const live = await this.#parts.refreshTokens.findLive(this.#parts.reader, sid, sub)
    if (!live) throw invalid()
    const app = this.#apps.get(live.clientId)
    const role = app?.admin === true ? live.role : 'user'
    const lacksSecondFactor = this.#parts.secondFactor.isMissing(role, live)
    const onlyApp = app?.managesSessions === true ? {} : { onlyApp: live.clientId }
    return {
      kind: 'token',
      role: lacksSecondFactor ? 'user' : role,
      userId: sub,
      sessionId: sid,
      clientId: live.clientId,
      ...(lacksSecondFactor && { stepUp: stepUpPath(basePathOf(this.#parts.baseUrl()), live.provider) }),
      ...onlyApp,
    }
  }

  async #verify(token: string): Promise<JWTVerifyResult> {
    const { errors, jwtVerify } = await import('jose')
    try {
      return await jwtVerify(
        token,
        async ({ kid }) => {
          const key = kid === undefined ? undefined : await this.#parts.keys.publicKey(kid)
          if (!key) throw new errors.JWKSNoMatchingKey()
          return key
        },
        {
          algorithms: [algorithm],
          typ: type,
          issuer: this.#parts.baseUrl(),
          audience: this.#parts.baseUrl(),
          requiredClaims: ['exp', 'sub', 'sid'],
          currentDate: new Date(this.#parts.clock.now()),
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
