import type { Clock } from '../clock.ts'
import type { Database } from '../storage/database.ts'
import { Spool } from './spool.ts'
import { postgresInbox } from './store.postgres.ts'
import { sqliteInbox } from './store.sqlite.ts'
import type { InboxStore } from './store.ts'

export interface InboxParts {
  database: Database
  clock: Clock
  onError: (error: unknown) => void
}

/** The inbox on the database's engine; whoever stores into it wakes the workers. */
export function openInbox({ database, clock, onError }: InboxParts): InboxStore {
  const wake = (): void => database.signal('inbox')
  const store =
    database.engine === 'sqlite'
      ? sqliteInbox(database, new Spool({ database, clock, onError, onMoved: wake }))
      : postgresInbox(database)
  return {
    ...store,
    async keep(events) {
      await store.keep(events)
      if (events.some(({ status }) => status === 'pending')) wake()
    },
  }
}
