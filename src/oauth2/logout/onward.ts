import type { Clock } from '../../runtime/clock.ts'
import type { Keyring } from '../../crypto/keyring.ts'

const purpose = 'end-session'
const macLength = 18
/** Milliseconds that the sign-out at the identity provider may take. */
const lifetime = 10 * 60_000

/** Where the browser goes after a sign-out. */
export interface Next {
  url: string
  /** Whether it goes there only by a click of the person; see Consents.trusts. */
  asks: boolean
}

/**
 * Carries the address of the app through the sign-out at the identity provider, as its `state`. It is signed, so that the
 * browser is sent to addresses only that this service has checked.
 */
export class Onward {
  readonly #keyring: Keyring
  readonly #clock: Clock

  constructor(keyring: Keyring, clock: Clock) {
    this.#keyring = keyring
    this.#clock = clock
  }

  /** @param next the checked address, if there is one */
  state(next: Next | undefined): string {
    const content = JSON.stringify([this.#clock.now() + lifetime, next?.url ?? null, next?.asks ?? false])
    const mac = this.#keyring.sign(content, purpose).subarray(0, macLength)
    return `${Buffer.from(content).toString('base64url')}.${mac.toString('base64url')}`
  }

  /** The address in a state; `undefined` when there is none, or when the state is old or not of this service. */
  read(state: string): Next | undefined {
    const [content = '', mac = ''] = state.split('.').map((part) => Buffer.from(part, 'base64url'))
    if (mac.length === 0 || !this.#keyring.verify(content, Buffer.from(mac), purpose)) return undefined
    const [until, url, asks] = JSON.parse(content.toString()) as [number, string | null, boolean]
    return until > this.#clock.now() && url !== null ? { url, asks } : undefined
  }
}
