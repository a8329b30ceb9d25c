import type { IncomingEvent } from './incoming.ts'
import type { ClaimedEvent } from './store.ts'

/** Which events of an insert are claimed, and until when: milliseconds since 1970. */
export interface InsertLeases {
  readonly claim: string
  readonly until: ReadonlyMap<IncomingEvent, number>
}

/** A claim that is made by the statement that inserts its events. It ends with one of the two calls. */
export interface InsertClaim extends InsertLeases {
  /** Called with the events that are claimed now: those of `until` that were new. */
  stored(claimed: readonly ClaimedEvent[]): void
  /** Called if the statement failed. It may have taken effect nevertheless. */
  failed(): void
}

/** Chooses the events of an insert that this process claims. Returns `undefined` if it claims none of them. */
export type ClaimInserts = (events: readonly IncomingEvent[]) => InsertClaim | undefined

/** Runs an insert with a claim. @returns the number of claimed events @throws what `insert` throws */
export async function insertWithClaim(
  insert: (leases: InsertLeases) => Promise<readonly ClaimedEvent[]>,
  claim: InsertClaim,
): Promise<number> {
  let claimed: readonly ClaimedEvent[]
  try {
    claimed = await insert(claim)
  } catch (error) {
    claim.failed()
    throw error
  }
  claim.stored(claimed)
  return claimed.length
}
