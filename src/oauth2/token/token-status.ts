import type { AccessTokens, AccessTokenClaims } from '../../accounts/tokens/access-tokens.ts'
import type { DescribedToken, RefreshTokens } from '../../accounts/tokens/refresh-tokens.ts'
import { Problem } from '../../errors.ts'

/** The three parts of a signed JWT; the first one is JSON and therefore begins with `{"`. */
const jwt = /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/

/** A token that this service issued: whom it belongs to, and whether it is valid now. */
export type KnownToken =
  | { kind: 'access'; claims: AccessTokenClaims; active: boolean }
  | ({ kind: 'refresh' } & DescribedToken)

/** Recognizes tokens by their form. The hint of the caller would change nothing (RFC 7662, section 2.1). */
export class TokenStatus {
  readonly #accessTokens: AccessTokens
  readonly #refreshTokens: RefreshTokens

  constructor(parts: { accessTokens: AccessTokens; refreshTokens: RefreshTokens }) {
    this.#accessTokens = parts.accessTokens
    this.#refreshTokens = parts.refreshTokens
  }

  /** `undefined` for an unknown token, and for an access token that has expired. */
  async find(token: string): Promise<KnownToken | undefined> {
    if (!jwt.test(token)) {
      const described = await this.#refreshTokens.describe(token)
      return described && { kind: 'refresh', ...described }
    }
    const claims = await this.#accessTokens.verify(token).catch((error: unknown) => {
      if (error instanceof Problem) return undefined
      throw error
    })
    if (!claims) return undefined
    return { kind: 'access', claims, active: await this.#accessTokens.isLive(claims) }
  }
}
