/** Calls `then` when the signal is aborted, at once if it is already. Returns a function that removes the listener. */
export function whenAborted(signal: AbortSignal, then: () => void): () => void {
  if (signal.aborted) then()
  else signal.addEventListener('abort', then, { once: true })
  return () => signal.removeEventListener('abort', then)
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => whenAborted(signal, resolve))
}
