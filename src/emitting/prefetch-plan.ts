import type { SubscriberQueue } from './subscriber-queue.ts'
import { startPosition, type ReadRequest } from './store.ts'

/** Deliveries that wait in memory, of all queues and of one. */
const mostWaiting = 4_000
const mostOfQueue = 256
/** Times its concurrency that a queue may have waiting: enough for the time that reading more takes. */
const timesConcurrency = 8
const leastOfQueue = 8
/** Lanes that one read serves. */
const lanesPerRead = 200
/** Of what a queue may have waiting: with less, it reads on when others do. */
const muchOfQueue = 0.8
/** Milliseconds until reading begins again, where late commits may lie. */
const beginAgainAfter = 5_000

/** Deliveries of a kind, first attempts or retries, that one of so many queues may have waiting. */
export function prefetchLimit({ destination }: SubscriberQueue, queues: number): number {
  const { concurrency = 1 } = destination ?? {}
  const fair = Math.max(leastOfQueue, Math.floor(mostWaiting / Math.max(1, queues)))
  return Math.min(mostOfQueue, fair, Math.max(leastOfQueue, concurrency * timesConcurrency))
}

/** Whether a queue should read on. @param most what it may have waiting of each kind */
export function isLow(
  { destination, draining: leaving, inMemory: held, firstAttempts: fresh, retries }: SubscriberQueue,
  most: number,
): boolean {
  if (leaving) return false
  if (destination?.ordered) return held === 0 && fresh.mayHaveMore
  return [fresh, retries].some((stock) => stock.mayHaveMore && stock.waiting.length <= most / 2)
}

/**
 * The queues of one read: those that want more, and those that have room. What one event made for several subscribers lies
 * together, so that reading for one queue after the other would go through the same pages again and again.
 */
export function queuesToRead(
  hungry: ReadonlySet<SubscriberQueue>,
  all: ReadonlyMap<string, SubscriberQueue>,
): SubscriberQueue[] {
  const chosen = new Set([...hungry].slice(0, lanesPerRead))
  for (const queue of all.values()) {
    if (chosen.size >= lanesPerRead) break
    if (hasRoom(queue, prefetchLimit(queue, all.size))) chosen.add(queue)
  }
  return [...chosen]
}

function hasRoom(
  { destination, draining: leaving, firstAttempts: fresh, retries }: SubscriberQueue,
  most: number,
): boolean {
  if (leaving || destination?.ordered !== false) return false
  return [fresh, retries].some((stock) => stock.mayHaveMore && stock.waiting.length <= most * muchOfQueue)
}

/** What a queue is to read now. @param most what it may have waiting of each kind */
export function readRequests(queue: SubscriberQueue, now: number, most: number): ReadRequest[] {
  const { destination, id: subscriberId } = queue
  if (!destination || queue.draining) return []
  if (destination.ordered) return queue.inMemory === 0 ? [{ subscriberId, ordered: true }] : []
  if (now - queue.rescannedAt >= beginAgainAfter) {
    // Commits that came late may lie before what was read last.
    queue.rescannedAt = now
    queue.firstAttempts.position = queue.retries.position = startPosition
  }
  return [queue.firstAttempts, queue.retries].flatMap((stock) => {
    const count = most - stock.waiting.length
    if (!stock.mayHaveMore || count <= 0) return []
    // From the beginning on, what is held is found again.
    const again = stock.position === startPosition ? queue.inMemory : 0
    const retries = stock === queue.retries
    return [{ subscriberId, ordered: false as const, retries, behind: stock.position, count: count + again }]
  })
}
