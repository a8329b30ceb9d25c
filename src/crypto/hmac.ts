import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

export type HmacAlgorithm = 'sha1' | 'sha256' | 'sha384' | 'sha512'

/** HMAC (RFC 2104) with one key. */
export class HmacKey {
  readonly #algorithm: HmacAlgorithm
  readonly #key: KeyObject

  constructor(algorithm: HmacAlgorithm, key: string | Uint8Array) {
    this.#algorithm = algorithm
    this.#key = createSecretKey(Buffer.from(key))
  }

  /** Returns the digest of the concatenated parts. */
  digest(...parts: readonly (string | Uint8Array)[]): Buffer {
    const mac = createHmac(this.#algorithm, this.#key)
    for (const part of parts) mac.update(part)
    // As text: a Buffer from `digest` has memory of its own, whose allocation takes a third of the time of 1 KiB.
    return Buffer.from(mac.digest('latin1'), 'latin1')
  }
}
