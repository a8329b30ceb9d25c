import type { SubscriberQueue } from './subscriber-queue.ts'

/** Milliseconds without work after which a queue is released. */
const idleTimeout = 60_000
/** Milliseconds that a queue stays here while other subscribers wait for a free place. */
const turnLength = 1_000

/**
 * Whether a queue without work may be released: it is drained, its subscriber is not active, or it was not used lately. That of a
 * failing subscriber stays, because its retries come. @param crowded whether other subscribers wait for a free place
 */
export function isUnneeded(queue: SubscriberQueue, now: number, crowded: boolean): boolean {
  if (queue.draining) return true
  // Another process would start with one attempt: releasing this queue early would break the rate limit.
  if (!crowded && queue.pace.mustWaitForRate(now)) return false
  const isInactive = !queue.destination && !queue.stale
  return isInactive || (queue.pace.healthy && (crowded || now - queue.lastUsedAt >= idleTimeout))
}

/** Whether the queue had its turn, and must make room if other subscribers wait. */
export function hadTurn({ createdAt }: SubscriberQueue, now: number): boolean {
  return now - createdAt >= turnLength
}
