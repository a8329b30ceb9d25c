import type { Clock } from '../../runtime/clock.ts'
import type { Database } from '../../storage/database.ts'
import { postgresEventQueue } from '../postgres/store.ts'
import { sqliteEventQueue } from '../sqlite/store.ts'
import { insertWithClaim, type ClaimInserts } from './insert-claims.ts'
import type { EventQueue } from './store.ts'

export interface EventQueueParts {
  database: Database
  clock: Clock
  /** On SQLite, called when spooled events could not be moved. */
  onError: (error: unknown) => void
  /** Called for errors of the session that holds this process's claims. */
  onClaimerError: (error: unknown) => void
  /** Called with the source of each event that was known already. */
  onDuplicate?: ((source: string) => void) | undefined
}

/**
 * Opens the event queue on the database's engine. An insert wakes the worker of its own process, which wakes the others if it cannot
 * process everything; a process without a worker wakes the others. Waking all would make all but one of them poll in vain. Events that the
 * insert has claimed wake nobody.
 */
export function openEventQueue(parts: EventQueueParts): EventQueue {
  const { database, clock, onError, onClaimerError, onDuplicate } = parts
  const wake = (): void => {
    if (!database.signalHere('event_queue')) database.signal('event_queue')
  }
  const store =
    database.engine === 'sqlite'
      ? sqliteEventQueue({ database, clock, onError, onMoved: wake, onDuplicate })
      : postgresEventQueue({ database, clock, onError: onClaimerError, onDuplicate })
  const { insertClaiming } = store
  let choose: ClaimInserts | undefined
  return {
    ...store,
    async insert(events, within) {
      const claim = insertClaiming && choose?.(events)
      let claimed = 0
      if (claim) claimed = await insertWithClaim((leases) => insertClaiming(events, leases, within), claim)
      else await store.insert(events, within)
      const pending = events.filter(({ status }) => status === 'pending').length
      if (pending > claimed) wake()
    },
    claimInserts(by) {
      choose = by
    },
  }
}
