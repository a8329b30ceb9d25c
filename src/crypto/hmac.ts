import { createHmac } from 'node:crypto'

export type HmacAlgorithm = 'sha1' | 'sha256' | 'sha384' | 'sha512'

/** HMAC (RFC 2104) with one key. */
export class HmacKey {
  readonly #algorithm: HmacAlgorithm
  readonly #key: Uint8Array

  constructor(algorithm: HmacAlgorithm, key: string | Uint8Array) {
    this.#algorithm = algorithm
    this.#key = Buffer.from(key)
  }

  /** Returns the digest of the concatenated parts. */
  digest(...parts: readonly (string | Uint8Array)[]): Buffer {
    const mac = createHmac(this.#algorithm, this.#key)
    for (const part of parts) mac.update(part)
    return mac.digest()
  }
}
