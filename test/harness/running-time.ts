/** Milliseconds between two looks at the clock, and what such a time counts for at most. */
const tick = 50
const longestTick = 500

interface Entry {
  readonly at: number
  readonly callback: () => void
}

/** Milliseconds in which this process ran. */
let elapsed = 0
const entries = new Set<Entry>()
let ticking: NodeJS.Timeout | undefined

/**
 * Calls `callback` when this process has run for so many milliseconds, give or take fifty: one that was stopped meanwhile
 * (SIGSTOP, a machine that slept) has given nobody time to do anything. Returns a function that cancels it.
 */
export function afterRunning(milliseconds: number, callback: () => void): () => void {
  const entry = { at: elapsed + milliseconds, callback }
  entries.add(entry)
  if (!ticking) startTicking()
  return () => void entries.delete(entry)
}

function startTicking(): void {
  let last = performance.now()
  ticking = setInterval(() => {
    const now = performance.now()
    elapsed += Math.min(now - last, longestTick)
    last = now
    for (const entry of entries) {
      if (entry.at > elapsed) continue
      entries.delete(entry)
      entry.callback()
    }
    if (entries.size > 0) return
    clearInterval(ticking)
    ticking = undefined
  }, tick)
}
