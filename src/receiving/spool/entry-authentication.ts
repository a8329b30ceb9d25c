import { equalBytes } from '../../crypto/constant-time.ts'
import { HmacKey } from '../../crypto/hmac.ts'
import type { Keyring } from '../../crypto/keyring.ts'

const version = 1
const [idLength, macLength] = [4, 32]
const headLength = 1 + idLength + macLength
const purpose = 'spool'

/** Why an entry is not used: `forged` also if it has no proof at all; `unknown-key` if a key signed it that POSTERN_SECRET does not have. */
export type EntryFault = 'forged' | 'unknown-key'

interface Key {
  readonly id: Buffer
  readonly hmac: HmacKey
}

/**
 * Proves that this service wrote an entry of a stream, because other programs may be able to write to it, and what is read there is taken
 * for verified webhooks. Layout: version, id of the master key (4 bytes), HMAC-SHA256 of the content, content. Each stream has keys of its
 * own, so that an entry of another one, such as that of a test environment with the same secret, is no proof.
 */
export class EntryAuthentication {
  readonly #keys: readonly [Key, ...Key[]]

  constructor(keyring: Keyring, stream: string) {
    const ids = keyring.keyIds
    const [newest, ...older] = keyring
      .derived(stream, purpose)
      .map((key, index) => ({ id: ids[index]!, hmac: new HmacKey('sha256', key) }))
    this.#keys = [newest!, ...older]
  }

  /** The entry with this content, signed with the newest key. */
  sign(content: Uint8Array): Uint8Array {
    const [{ id, hmac }] = this.#keys
    const entry = Buffer.allocUnsafe(headLength + content.length)
    entry[0] = version
    entry.set(id, 1)
    entry.set(hmac.digest(content), 1 + idLength)
    entry.set(content, headLength)
    return entry
  }

  /** The content of an entry, if one of the keys signed it. */
  verify(entry: Uint8Array): Uint8Array | EntryFault {
    if (entry.length < headLength || entry[0] !== version) return 'forged'
    const id = entry.subarray(1, 1 + idLength)
    const key = this.#keys.find((candidate) => candidate.id.equals(id))
    if (!key) return 'unknown-key'
    const content = entry.subarray(headLength)
    const mac = entry.subarray(1 + idLength, headLength)
    return equalBytes(key.hmac.digest(content), mac) ? content : 'forged'
  }
}
