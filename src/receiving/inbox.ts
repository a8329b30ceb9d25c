import type { Clock } from '../runtime/clock.ts'
import type { Database } from '../storage/database.ts'
import { postgresInbox } from './postgres/store.ts'
import { sqliteInbox } from './sqlite/store.ts'
import type { InboxStore } from './store.ts'

export interface InboxParts {
  database: Database
  clock: Clock
  /** Called when events could not be stored or moved immediately. */
  onError: (error: unknown) => void
  /** Called for errors of the session that holds this process's claims. */
  onClaimerError: (error: unknown) => void
}

/**
 * Opens the inbox on the database's engine. An insert wakes the worker of its own process, which wakes the others if it cannot
 * handle everything; a process without a worker wakes the others. If all were woken, all but one would look in vain.
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
