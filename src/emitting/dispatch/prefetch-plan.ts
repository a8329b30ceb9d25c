import { startPosition, type ReadRequest } from '../store.ts'
import type { SubscriberQueue } from './subscriber-queue.ts'

/** Deliveries that wait in memory in all queues, divided by their number. `minPerQueue` can exceed a share. */
const maxWaiting = 4_000
/** The most deliveries that wait in one buffer of a queue. */
const maxPerQueue = 256
/** A queue holds up to this multiple of its concurrency: enough to work on while more is read. */
const concurrencyFactor = 8
const minPerQueue = 8
/** Queues that one read serves. */
const queuesPerRead = 200
/** A queue that is filled to less than this share of its limit joins the reads of others. */
const joinBelow = 0.8
/** Milliseconds until reading starts from the beginning again, to find deliveries that were committed late. */
const rescanInterval = 5_000

/** The most waiting deliveries of each kind, first attempts or retries, for a queue, given the number of queues. */
export function prefetchLimit({ destination }: SubscriberQueue, queues: number): number {
  const concurrency = destination?.concurrency ?? 1
  const fairShare = Math.max(minPerQueue, Math.floor(maxWaiting / Math.max(1, queues)))
  return Math.min(maxPerQueue, fairShare, Math.max(minPerQueue, concurrency * concurrencyFactor))
}

/** Whether a queue should request a refill. @param limit of `prefetchLimit` */
export function isLow(queue: SubscriberQueue, limit: number): boolean {
  const { destination, draining, inMemory, firstAttempts } = queue
  if (draining) return false
  if (destination?.ordered) return inMemory === 0 && firstAttempts.mayHaveMore
  return hasBufferUpTo(queue, limit / 2)
}

/**
 * The queues of one read: those that requested it, and others that have space. The deliveries of one event lie together in the
 * table, so separate reads would go through the same pages again and again.
 */
export function queuesToRead(
  requested: ReadonlySet<SubscriberQueue>,
  all: ReadonlyMap<string, SubscriberQueue>,
): SubscriberQueue[] {
  const chosen = new Set([...requested].slice(0, queuesPerRead))
  for (const queue of all.values()) {
    if (chosen.size >= queuesPerRead) break
    if (hasSpace(queue, prefetchLimit(queue, all.size))) chosen.add(queue)
  }
  return [...chosen]
}

function hasSpace(queue: SubscriberQueue, limit: number): boolean {
  if (queue.draining || queue.destination?.ordered !== false) return false
  return hasBufferUpTo(queue, limit * joinBelow)
}

function hasBufferUpTo({ firstAttempts, retries }: SubscriberQueue, length: number): boolean {
  return (
    (firstAttempts.mayHaveMore && firstAttempts.waiting.length <= length) ||
    (retries.mayHaveMore && retries.waiting.length <= length)
  )
}

/** What is to be read for a queue now. @param limit of `prefetchLimit` */
export function readRequests(queue: SubscriberQueue, now: number, limit: number): ReadRequest[] {
  const { destination, id: subscriberId } = queue
  if (!destination || queue.draining) return []
  if (destination.ordered) return queue.inMemory === 0 ? [{ subscriberId, ordered: true }] : []
  if (now - queue.rescannedAt >= rescanInterval) {
    queue.rescannedAt = now
    queue.firstAttempts.position = queue.retries.position = startPosition
  }
  return [queue.firstAttempts, queue.retries].flatMap((buffer) => {
    const count = limit - buffer.waiting.length
    if (!buffer.mayHaveMore || count <= 0) return []
    // A read from the beginning finds again what is in memory.
    const again = buffer.position === startPosition ? queue.inMemory : 0
    const retries = buffer === queue.retries
    return [{ subscriberId, ordered: false as const, retries, behind: buffer.position, count: count + again }]
  })
}
