/** Milliseconds after an input for which calls are made for the person. The service notes uses of a session to a minute. */
const activeFor = 60_000
const inputs = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'] as const

let lastInput = performance.now()
for (const type of inputs)
  addEventListener(type, () => (lastInput = performance.now()), { capture: true, passive: true })

/**
 * `fetch` that tells the service when the page refreshes by itself and nobody uses it. Such calls do not keep the session from ending
 * after its idle time.
 */
export function fetchForPerson(address: string, init: RequestInit = {}): Promise<Response> {
  if (performance.now() - lastInput < activeFor) return fetch(address, init)
  const headers = new Headers(init.headers)
  headers.set('postern-background', 'true')
  return fetch(address, { ...init, headers })
}
