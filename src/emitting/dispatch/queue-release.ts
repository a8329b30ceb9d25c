import type { SubscriberQueue } from './subscriber-queue.ts'

/** Milliseconds without work after which a queue is released. */
const idleTimeout = 60_000
/** Milliseconds that a queue stays here while other subscribers wait for a free place. */
const turnLength = 1_000

/** Whether an idle queue may be released. @param crowded whether other subscribers wait for a free place */
export function isUnneeded(queue: SubscriberQueue, now: number, crowded: boolean): boolean {
  if (queue.draining) return true
  // A new queue starts with one attempt: releasing this one early would break the rate limit.
  if (!crowded && queue.mustWaitForRate(now)) return false
  const inactive = !queue.destination && !queue.stale
  const unused = queue.releasable && (crowded || now - queue.lastUsedAt >= idleTimeout)
  return inactive || unused
}

/** Whether the queue had its turn, and must make room if other subscribers wait. */
export function hadTurn({ createdAt }: SubscriberQueue, now: number): boolean {
  return now - createdAt >= turnLength
}
