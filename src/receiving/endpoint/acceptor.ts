import { Problem } from '../../errors.ts'
import { GroupCommit, type GroupCommitLimits } from '../../storage/group-commit.ts'
import type { IncomingEvent } from '../queue/incoming.ts'

/** Stores events durably, each at most once for each (source, event id). */
export type InsertEvents = (events: readonly IncomingEvent[]) => Promise<void>

/**
 * Stores the events of requests by group commit. `add` resolves once the event is on the disk.
 * It rejects with the Problems `overloaded` when too much waits already and `stopping` after `close`, or with StorageUnavailable.
 */
export type Acceptor = GroupCommit<IncomingEvent, void>

/** Milliseconds for which a running commit delays the next one. See `GroupCommitLimits`. */
const maxWait = 50
/** Bytes of the objects around an event. */
const aroundAnEvent = 1_024

/** @param onError called for failures other than a Problem or an unavailable database. */
export function createAcceptor(
  insert: InsertEvents,
  onError: (error: unknown) => void,
  limits: Partial<GroupCommitLimits> = {},
): Acceptor {
  return new GroupCommit<IncomingEvent, void>({
    async commit(events) {
      try {
        await insert(events)
      } catch (error) {
        // A Problem, such as a full spool, concerns all events.
        if (error instanceof Problem) return events.map(() => error)
        throw error
      }
      return events.map(() => undefined)
    },
    sizeOf: ({ payload, headers }) => payload.length + headers.length + aroundAnEvent,
    refuse: (reason) => new Problem(reason, { retryAfter: 1 }),
    onError,
    limits: { maxWait, ...limits },
  })
}
