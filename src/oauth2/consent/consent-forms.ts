import type { Keyring } from '../../crypto/keyring.ts'

const purpose = 'consent'
const macLength = 18

/** What a consent form is about. */
export interface ConsentRequest {
  sessionId: string
  clientId: string
  requestUri: string
  /** Separated by spaces. */
  scope: string
  /** The APIs, separated by spaces. */
  resource: string | null
}

/**
 * Binds the form of a consent page to its session and its request: a form that was made for another session, or that listed
 * other scopes or APIs, is refused.
 */
export class ConsentForms {
  readonly #keyring: Keyring

  constructor(keyring: Keyring) {
    this.#keyring = keyring
  }

  /** The hidden fields of the form. */
  fields(request: ConsentRequest): Record<string, string> {
    const proof = this.#keyring.sign(message(request), purpose).subarray(0, macLength).toString('base64url')
    return { client_id: request.clientId, request_uri: request.requestUri, proof }
  }

  verify(request: ConsentRequest, proof: string): boolean {
    return this.#keyring.verify(message(request), Buffer.from(proof, 'base64url'), purpose)
  }
}

/** JSON, so that the parts cannot run into each other. */
function message({ sessionId, clientId, requestUri, scope, resource }: ConsentRequest): string {
  return JSON.stringify([sessionId, clientId, requestUri, scope, resource])
}
