import type { Clock } from '../runtime/clock.ts'
import type { Database } from '../storage/database.ts'
import { postgresQueue } from './store.postgres.ts'
import { sqliteQueue } from './store.sqlite.ts'
import type { DeliveryQueue } from './store.ts'

export interface QueueParts {
  database: Database
  clock: Clock
  onError: (error: unknown) => void
}

export function openQueue({ database, clock, onError }: QueueParts): DeliveryQueue {
  return database.engine === 'sqlite' ? sqliteQueue(database) : postgresQueue({ database, clock, onError })
}
