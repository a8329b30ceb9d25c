import { randomUUID } from 'node:crypto'
import type { JWTPayload } from 'jose'
import { Problem } from '../../errors.ts'
import { basePathOf } from '../../http/requests/base-path.ts'
import { type Principal, isScope, type Scope } from '../../http/access/principal.ts'
import type { Family, LiveFamily } from './token-families.ts'
import type { AccountWiring } from '../services.ts'
import type { AppRights } from '../sessions/authentication.ts'

/** Seconds that an access token is valid, unless its client declares another time. */
const defaultLifetime = 15 * 60

const type = 'at+jwt'

/** What an access token is issued for: a token family, or an app without a user. */
interface AccessTokenGrant extends Pick<Family, 'clientId' | 'scope' | 'resource'> {
  family: Family | undefined
  /** Claims of `login.claims`. Their names must not be those of the service's own claims. */
  own?: Readonly<Record<string, unknown>>
}

const noFamily = {
  authenticatedAt: undefined,
  expiresAt: Infinity,
  acr: null,
  amr: null,
  impersonatorId: null,
}

/** The verified claims of an access token. */
export interface AccessTokenClaims extends JWTPayload {
  sub: string
  client_id: string
  /** The token family; missing in a token without a user. */
  sid?: string
  scope?: string
  /** The admin who acts for the user (RFC 8693, section 4.1). */
  act?: { sub: string }
}

/**
 * Access tokens for apps: short-lived JWTs (RFC 9068). Each use also reads the token family, so that revoking a family or
 * blocking a user takes effect at once.
 */
export class AccessTokens {
  readonly #parts: AccountWiring
  /** Seconds that a family may be idle. A token is valid for no longer. */
  readonly #longestLifetime: number

  constructor(parts: AccountWiring) {
    this.#parts = parts
    this.#longestLifetime = Math.max(1, Math.floor(parts.limits.idle / 1000))
  }

  /**
   * Signs a token. `expiresIn` is in seconds. It does not outlive its family: an API that verifies it by the published keys alone
   * does not see the family's end.
   */
  async issue(grant: AccessTokenGrant): Promise<{ token: string; expiresIn: number }> {
    const { clientId, family, scope } = grant
    const { authenticatedAt, expiresAt, acr, amr, impersonatorId } = family ?? noFamily
    const app = await this.#parts.findApp(clientId)
    const now = Math.floor(this.#parts.clock.now() / 1000)
    const lifetime = Math.min(
      app?.accessTokenLifetime ?? defaultLifetime,
      this.#longestLifetime,
      Math.max(1, Math.floor(expiresAt / 1000) - now),
    )
    const audience = this.#audienceOf(grant, app)
    const token = await this.#parts.signingKeys.sign(
      {
        ...grant.own,
        iss: this.#parts.baseUrl(),
        aud: audience.length === 1 ? audience[0]! : audience,
        sub: family?.userId ?? clientId,
        jti: randomUUID(),
        iat: now,
        exp: now + lifetime,
        client_id: clientId,
        ...(family && { sid: family.familyId }),
        ...(authenticatedAt !== undefined && { auth_time: Math.floor(authenticatedAt / 1000) }),
        ...(impersonatorId !== null && { act: { sub: impersonatorId } }),
        // RFC 6749, section 3.3, does not allow an empty one.
        ...(scope && { scope }),
        ...(scope !== null && acr !== null && { acr }),
        ...(scope !== null && amr !== null && { amr: amr.split(' ') }),
      },
      { typ: type },
    )
    return { token, expiresIn: lifetime }
  }

  /**
   * The APIs of a token: those that were asked for, or those of the app. The tokens of an app of somebody else name this
   * service only with a scope of its API. With `openid`, a token is always good for the userinfo endpoint.
   */
  #audienceOf({ scope, resource }: AccessTokenGrant, app: AppRights | undefined): string[] {
    const baseUrl = this.#parts.baseUrl()
    const scopes = scope?.split(' ') ?? []
    const audience = resource?.split(' ') ?? (app?.audience === undefined ? undefined : [app.audience].flat())
    const reachesApi = scope === null || app?.firstParty !== false || scopes.some(isScope)
    const names = audience ?? (reachesApi ? [baseUrl] : [])
    const needsUserinfo = !names.includes(baseUrl) && (scopes.includes('openid') || names.length === 0)
    return needsUserinfo ? [...names, this.userinfoAudience] : [...names]
  }

  /** The audience of tokens that only the userinfo endpoint accepts. */
  get userinfoAudience(): string {
    return `${this.#parts.baseUrl()}/oauth2/userinfo`
  }

  /**
   * A token for one of these audiences, with its app, and its sign-in if it has a user.
   * @throws Problem `not-signed-in` when it is invalid, expired, revoked or for others
   */
  async accept(token: string, audience: readonly string[]) {
    const claims = await this.verify(token, audience)
    const app = await this.#parts.findApp(claims.client_id)
    if (!app) throw invalid()
    return { claims, app, live: await this.#findLive(claims) }
  }

  /** The principal of a token. @throws Problem `not-signed-in` when it is invalid, expired or revoked. */
  async authenticate(token: string): Promise<Principal> {
    const { claims, app, live } = await this.accept(token, [this.#parts.baseUrl()])
    const scopes = claims.scope?.split(' ').filter(isScope) ?? []
    if (!live) return { kind: 'token', role: 'user', clientId: app.id, scopes, claims }
    // A sign-in at GET /auth/{provider} has no scopes and acts as its user. A token without scopes can reach nothing that needs one.
    return this.#principalOf(claims, live, { app, scopes: live.scope === null ? undefined : scopes })
  }

  #principalOf(
    claims: AccessTokenClaims,
    live: LiveFamily,
    { app, scopes }: { app: AppRights; scopes: Scope[] | undefined },
  ): Principal {
    const needsAdmin = app.admin === true || (scopes !== undefined && scopes.length > 0)
    const wanted = needsAdmin ? live.role : 'user'
    const { secondFactor, baseUrl } = this.#parts
    const lacksSecondFactor = secondFactor.isMissing(wanted, live)
    const isAdmin = wanted === 'admin' && !lacksSecondFactor
    return {
      kind: 'token',
      role: isAdmin && app.admin === true ? 'admin' : 'user',
      userId: claims.sub,
      sessionId: claims.sid!,
      clientId: live.clientId,
      ...(live.impersonatorId !== null && { impersonator: { userId: live.impersonatorId } }),
      claims,
      // A scope delegates what the user may do, and only admins may do what the scopes name.
      ...(scopes !== undefined && { scopes: isAdmin ? scopes : [] }),
      ...(app.firstParty === false && { onlyScopes: true }),
      ...(lacksSecondFactor && { stepUp: secondFactor.stepUp(basePathOf(baseUrl()), live.provider) }),
      ...(app.managesSessions !== true && { onlyApp: live.clientId }),
    }
  }

  /**
   * The claims of a token for one of these audiences; without any, for whatever audience. `scope` leaves out what the app may
   * not ask for any more.
   * @throws Problem `not-signed-in` when it is invalid, expired, or for others.
   */
  async verify(token: string, audience?: readonly string[]): Promise<AccessTokenClaims> {
    const claims = await this.#parts.signingKeys.verify(token, {
      issuer: this.#parts.baseUrl(),
      typ: type,
      ...(audience && { audience: [...audience] }),
    })
    if (claims?.sub === undefined || typeof claims['client_id'] !== 'string') throw invalid()
    const known = claims as AccessTokenClaims
    const app = known.scope === undefined ? undefined : await this.#parts.findApp(known.client_id)
    return app ? { ...known, scope: allowedScopes(known.scope!, app) } : known
  }

  /**
   * The live token family of verified claims; `undefined` for a token without a user.
   * @throws Problem `not-signed-in` when the family is revoked or expired
   */
  async #findLive({ sid, sub, client_id: clientId }: AccessTokenClaims): Promise<LiveFamily | undefined> {
    if (sid === undefined && sub === clientId) return undefined
    const live =
      typeof sid === 'string'
        ? await this.#parts.tokenFamilies.findLive(this.#parts.database.reader, sid, sub)
        : undefined
    if (!live) throw invalid()
    return live
  }

  /** Whether the app and the sign-in of a verified token still exist. A token without a user lives until it expires. */
  async isLive(claims: AccessTokenClaims): Promise<boolean> {
    if (!(await this.#parts.findApp(claims.client_id))) return false
    try {
      await this.#findLive(claims)
      return true
    } catch (error) {
      if (error instanceof Problem) return false
      throw error
    }
  }
}

/** Those of the scopes that the app may ask for now. Both are separated by spaces. */
export function allowedScopes(scope: string, { scopes = [] }: Pick<AppRights, 'scopes'>): string {
  return scope
    .split(' ')
    .filter((one) => scopes.includes(one))
    .join(' ')
}

function invalid(): Problem {
  return new Problem('not-signed-in', { detail: 'The access token is invalid, expired or revoked.' })
}
