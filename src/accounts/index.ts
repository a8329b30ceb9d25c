import type { Clock } from '../clock.ts'
import type { Configuration } from '../config/environment.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Authenticate } from '../http/principal.ts'
import type { Room } from '../http/room.ts'
import type { Database } from '../storage/database.ts'
import { ApiKeys } from './api-keys.ts'
import { createAuthenticate } from './authenticate.ts'

export interface AccountsParts {
  configuration: Configuration
  database: Database
  keyring: Keyring
  clock: Clock
  baseUrl: () => string
}

export interface Accounts extends Room {
  authenticate: Authenticate
  keys: ApiKeys
}

/** Who is this, and what may they do. */
export function createAccounts({ configuration, database, clock }: AccountsParts): Accounts {
  const keys = new ApiKeys(database, clock, configuration.adminApiKey)
  return { keys, authenticate: createAuthenticate(keys), routes: () => undefined, workers: [] }
}
