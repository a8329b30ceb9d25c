import { type FailureGroups, fingerprintOf } from '../../src/receiving/failure-groups/tally.ts'
import type { Pauses } from '../../src/receiving/handlers/paused.ts'
import type { RegisteredHandler } from '../../src/receiving/handlers/declared-handlers.ts'
import type { ClaimedEvent } from '../../src/receiving/queue/store.ts'

/** A handler that does nothing, and has 30 seconds for it, except for what is given. */
export const registeredHandler = (
  key: string,
  given: Partial<RegisteredHandler> = {},
): RegisteredHandler => ({
  id: key,
  key,
  handle: () => {},
  timeout: 30_000,
  concurrency: undefined,
  orderBy: undefined,
  ...given,
})

/** An event that a worker claimed for its first attempt, except for what is given. */
export const claimedEvent = (given: Partial<ClaimedEvent> = {}): ClaimedEvent => ({
  event: 1,
  claim: 'claim',
  source: 'shop',
  eventId: 'e',
  type: 'order.paid',
  payload: new Uint8Array(),
  headers: null,
  receivedAt: 0,
  attempts: 1,
  attemptsBefore: 0,
  orderKey: null,
  ...given,
})

/** No handler is paused. */
export const neverPaused: Pauses = { isFresh: true, refresh: () => Promise.resolve(), isPaused: () => false }

/** Failures are neither stored in groups nor counted. */
export const withoutGroups: Pick<FailureGroups, 'enter' | 'count'> = {
  enter: async (_tx, handler, error) => fingerprintOf(handler, error),
  count: () => undefined,
}
