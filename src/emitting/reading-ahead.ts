import type { Lane } from './lanes.ts'
import { beginning, type Wanted } from './store.ts'

/** Deliveries that wait in memory, of all lanes and of one. */
const mostWaiting = 4_000
const mostOfLane = 256
/** Times its concurrency that a lane may have waiting: enough for the time that reading more takes. */
const timesConcurrency = 8
const leastOfLane = 8
/** Lanes that one read serves. */
const lanesPerRead = 200
/** Of what a lane may have waiting: with less, it reads on when others do. */
const muchOfLane = 0.8
/** Milliseconds until reading begins again, where late commits may lie. */
const beginAgainAfter = 5_000

/** Deliveries of a kind, first attempts or retries, that one of so many lanes may have waiting. */
export function aheadOf({ destination }: Lane, lanes: number): number {
  const { concurrency = 1 } = destination ?? {}
  const fair = Math.max(leastOfLane, Math.floor(mostWaiting / Math.max(1, lanes)))
  return Math.min(mostOfLane, fair, Math.max(leastOfLane, concurrency * timesConcurrency))
}

/** Whether a lane should read on. @param most what it may have waiting of each kind */
export function isLow({ destination, leaving, held, fresh, retries }: Lane, most: number): boolean {
  if (leaving) return false
  if (destination?.ordered) return held === 0 && fresh.more
  return [fresh, retries].some((stock) => stock.more && stock.waiting.length <= most / 2)
}

/**
 * The lanes of one read: those that want more, and those that have room. What one event made for several subscribers lies
 * together, so that reading for one lane after the other would go through the same pages again and again.
 */
export function lanesOfRead(hungry: ReadonlySet<Lane>, all: ReadonlyMap<string, Lane>): Lane[] {
  const chosen = new Set([...hungry].slice(0, lanesPerRead))
  for (const lane of all.values()) {
    if (chosen.size >= lanesPerRead) break
    if (hasRoom(lane, aheadOf(lane, all.size))) chosen.add(lane)
  }
  return [...chosen]
}

function hasRoom({ destination, leaving, fresh, retries }: Lane, most: number): boolean {
  if (leaving || destination?.ordered !== false) return false
  return [fresh, retries].some((stock) => stock.more && stock.waiting.length <= most * muchOfLane)
}

/** What a lane is to read now. @param most what it may have waiting of each kind */
export function wantedOf(lane: Lane, now: number, most: number): Wanted[] {
  const { destination, id: subscriberId } = lane
  if (!destination || lane.leaving) return []
  if (destination.ordered) return lane.held === 0 ? [{ subscriberId, ordered: true }] : []
  if (now - lane.begunAgainAt >= beginAgainAfter) {
    // Commits that came late may lie before what was read last.
    lane.begunAgainAt = now
    lane.fresh.behind = lane.retries.behind = beginning
  }
  return [lane.fresh, lane.retries].flatMap((stock) => {
    const count = most - stock.waiting.length
    if (!stock.more || count <= 0) return []
    // From the beginning on, what is held is found again.
    const again = stock.behind === beginning ? lane.held : 0
    const retries = stock === lane.retries
    return [{ subscriberId, ordered: false as const, retries, behind: stock.behind, count: count + again }]
  })
}
