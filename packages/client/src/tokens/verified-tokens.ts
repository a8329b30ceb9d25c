import type { AccessTokenClaims } from './claims.ts'

/**
 * Tokens whose signature was verified, so that the next request with the same token costs no verification. Bounded: the least
 * recently used are dropped. All are dropped when the keys change. The caller checks the end of the token at each use.
 */
export class VerifiedTokens {
  readonly #capacity: number
  readonly #tokens = new Map<string, AccessTokenClaims>()
  #generation = -1

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get(token: string, generation: number): AccessTokenClaims | undefined {
    if (generation !== this.#generation) return undefined
    const claims = this.#tokens.get(token)
    if (claims) {
      this.#tokens.delete(token)
      this.#tokens.set(token, claims)
    }
    return claims
  }

  /** @param generation that of the keys with which it was verified. */
  set(token: string, claims: AccessTokenClaims, generation: number): void {
    // An older set of keys verified it, while a newer one was fetched.
    if (generation < this.#generation || this.#capacity === 0) return
    if (generation !== this.#generation) this.#tokens.clear()
    this.#generation = generation
    this.#tokens.set(token, claims)
    if (this.#tokens.size > this.#capacity) this.#tokens.delete(this.#tokens.keys().next().value!)
  }

  delete(token: string): void {
    this.#tokens.delete(token)
  }
}
