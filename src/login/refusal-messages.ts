import type { Keyring } from '../crypto/keyring.ts'

const purpose = 'refusal'
const macLength = 18

/**
 * The message of a hook that refused a sign-in, on its way to /login in the address. It is signed together with the
 * number for support, so that nobody can make a link to our page that says what they want.
 */
export class RefusalMessages {
  readonly #keyring: Keyring

  constructor(keyring: Keyring) {
    this.#keyring = keyring
  }

  /** The parameters to add to the address. */
  write(supportId: string, message: string): Record<string, string> {
    const mac = this.#keyring.sign(`${supportId}\n${message}`, purpose).subarray(0, macLength)
    return { message, proof: mac.toString('base64url') }
  }

  /** The message, when it was written here for this number. */
  read(query: Readonly<Record<string, string | undefined>>): string | undefined {
    const { id, message, proof } = query
    if (id === undefined || message === undefined || proof === undefined) return undefined
    const mac = Buffer.from(proof, 'base64url')
    return this.#keyring.verify(`${id}\n${message}`, mac, purpose) ? message : undefined
  }
}
