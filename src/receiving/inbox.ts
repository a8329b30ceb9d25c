import type { Clock } from '../runtime/clock.ts'
import type { Database } from '../storage/database.ts'
import { postgresInbox } from './postgres/store.ts'
import { sqliteInbox } from './sqlite/store.ts'
import type { InboxStore } from './store.ts'

export interface InboxParts {
  database: Database
  clock: Clock
  /** Told about events that could not be stored, or moved, at once. */
  onError: (error: unknown) => void
  /** Told about the session that holds this process's claims. */
  onClaimerError: (error: unknown) => void
}

/**
 * The inbox on the database's engine. Whoever stores into it wakes the worker of its own process, which tells the others where
 * it cannot take all; without such a worker the others are woken. Were all woken, each would look for what one of them takes.
 */
export function openInbox({ database, clock, onError, onClaimerError }: InboxParts): InboxStore {
  const wake = (): void => {
    if (!database.signalHere('inbox')) database.signal('inbox')
  }
  const store =
    database.engine === 'sqlite'
      ? sqliteInbox({ database, clock, onError, onMoved: wake })
      : postgresInbox({ database, clock, onError: onClaimerError })
  return {
    ...store,
    async insert(events, within) {
      await store.insert(events, within)
      if (events.some(({ status }) => status === 'pending')) wake()
    },
  }
}
