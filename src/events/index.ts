import type { Room } from '../http/room.ts'
import type { Database } from '../storage/database.ts'
import { openEventLog } from './log.ts'
import { eventRoutes } from './routes.ts'

export interface EventsParts {
  database: Database
}

/** The log that receiving and emitting append to, and that `GET /events` reads. */
export function createEvents({ database }: EventsParts): Room {
  const log = openEventLog(database)
  return {
    workers: [],
    routes: (app) => eventRoutes(app, { database, log }),
  }
}
