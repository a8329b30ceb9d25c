import type { Keyring } from '../../crypto/keyring.ts'

const purpose = 'refusal'
const macLength = 18

/**
 * Signs the message of a hook that refused a sign-in, since it travels to /login in the query string. The signature covers
 * the reference ID too. Without it, anybody could make a link to /login that shows a text of their choice.
 */
export class RefusalMessages {
  readonly #keyring: Keyring

  constructor(keyring: Keyring) {
    this.#keyring = keyring
  }

  /** The query parameters of a message. */
  sign(referenceId: string, message: string): Record<string, string> {
    const mac = this.#keyring.sign(`${referenceId}\n${message}`, purpose).subarray(0, macLength)
    return { message, proof: mac.toString('base64url') }
  }

  /** The message, when this service signed it for this reference ID. */
  verify(query: Readonly<Record<string, string | undefined>>): string | undefined {
    const { id, message, proof } = query
    if (id === undefined || message === undefined || proof === undefined) return undefined
    const mac = Buffer.from(proof, 'base64url')
    return this.#keyring.verify(`${id}\n${message}`, mac, purpose) ? message : undefined
  }
}
