import { webCrypto } from '../tokens/crypto.ts'
import { base64urlOf, bytesOfText } from '../tokens/encoding.ts'
import { page } from './page.ts'

/** A sign-in that has been started in this tab. */
export interface Flow {
  verifier: string
  nonce: string
  returnTo: string | null
  /** Milliseconds since 1970. */
  startedAt: number
}

/** Milliseconds after which a flow that never came back is removed. */
const lifetime = 3_600_000

/**
 * Starts a flow: keeps its secrets in the tab's storage under its state, so that several may be under way.
 * @returns state, nonce and PKCE challenge (RFC 7636, S256) for the authorization request.
 */
export async function beginFlow(
  prefix: string,
  returnTo: string | null,
): Promise<{ state: string; nonce: string; challenge: string }> {
  const crypto = await webCrypto()
  const random = (): string => base64urlOf(crypto.getRandomValues(new Uint8Array(32)))
  const [state, nonce, verifier] = [random(), random(), random()]
  const hash = await crypto.subtle.digest('SHA-256', bytesOfText(verifier))
  removeOld(prefix)
  const flow: Flow = { verifier, nonce, returnTo, startedAt: Date.now() }
  page.sessionStorage.setItem(prefix + state, JSON.stringify(flow))
  return { state, nonce, challenge: base64urlOf(new Uint8Array(hash)) }
}

/** The flow of a state, which is then used up; `undefined` when this tab did not start it. */
export function takeFlow(prefix: string, state: string): Flow | undefined {
  const text = page.sessionStorage.getItem(prefix + state)
  page.sessionStorage.removeItem(prefix + state)
  return text === null ? undefined : (JSON.parse(text) as Flow)
}

function removeOld(prefix: string): void {
  const { sessionStorage } = page
  const names = Array.from({ length: sessionStorage.length }, (_, index) => sessionStorage.key(index) ?? '')
  for (const name of names.filter((each) => each.startsWith(prefix))) {
    const { startedAt } = JSON.parse(sessionStorage.getItem(name) ?? '{}') as Partial<Flow>
    if ((startedAt ?? 0) < Date.now() - lifetime) sessionStorage.removeItem(name)
  }
}
