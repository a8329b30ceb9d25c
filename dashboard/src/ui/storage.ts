// Browsers may forbid storage, as in frames of other sites: reading or even naming it then throws.
// oxlint-disable no-restricted-globals -- the only module that may use it

/** The value that this browser stores under a key; null if there is none, or if storage is blocked. */
export function readStored(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

/** Stores a text in this browser. If storage is blocked, the page loses it when it is closed. */
export function writeStored(key: string, value: string): void {
  try {
    localStorage.setItem(key, value)
  } catch {
    // Nothing that is stored here is needed.
  }
}
