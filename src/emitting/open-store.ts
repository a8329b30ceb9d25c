import type { Clock } from '../runtime/clock.ts'
import type { Database } from '../storage/database.ts'
import { postgresDeliveryStore } from './store.postgres.ts'
import { sqliteDeliveryStore } from './store.sqlite.ts'
import type { DeliveryStore } from './store.ts'

export interface DeliveryStoreParts {
  database: Database
  clock: Clock
  onError: (error: unknown) => void
}

export function openDeliveryStore({ database, clock, onError }: DeliveryStoreParts): DeliveryStore {
  return database.engine === 'sqlite'
    ? sqliteDeliveryStore(database)
    : postgresDeliveryStore({ database, clock, onError })
}
