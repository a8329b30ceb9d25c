import type { Configuration } from '../config/environment.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Database } from '../storage/database.ts'
import type { Log } from '../telemetry/log.ts'
import { Audit } from './audit/audit.ts'
import { Devices } from './sessions/devices.ts'
import { LastSeenWriter } from './sessions/last-seen-writer.ts'
import { sessionLimits, Sessions } from './sessions/sessions.ts'
import { ApiKeys } from './tokens/api-keys.ts'
import { TokenFamilies } from './tokens/token-families.ts'
import { Administration } from './users/administration.ts'
import type { AdminGroup, AdminRule } from './users/roles.ts'

interface UserServicesParts {
  configuration: Pick<
    Configuration,
    'adminIdentities' | 'adminApiKey' | 'auditRetention' | keyof Parameters<typeof sessionLimits>[0]
  >
  database: Database
  clock: Clock
  log: Log
  /** The groups at providers whose members are admins: of the environment and of the configuration module. */
  adminGroups: readonly AdminGroup[]
  /** See AdministrationParts. */
  mayRemoveLastAdmin: boolean
}

/** Users, sessions and keys, as far as they need only the database: for the service and for the command line alike. */
export function createUserServices(parts: UserServicesParts) {
  const { configuration, database, clock, log, mayRemoveLastAdmin } = parts
  const { auditRetention: retention, adminApiKey: adminKey } = configuration
  const admins: readonly AdminRule[] = [...configuration.adminIdentities, ...parts.adminGroups]
  const limits = sessionLimits(configuration)
  const audit = new Audit({ database, clock, log, retention })
  const { record } = audit
  const lastSeen = new LastSeenWriter(database, log, limits.idle)
  const shared = { database, clock, log, limits, admins, record, lastSeen }
  const sessions = new Sessions(shared)
  const tokenFamilies = new TokenFamilies(shared)
  const devices = new Devices(database, sessions, tokenFamilies)
  return {
    shared,
    admins,
    audit,
    keys: new ApiKeys(database, clock, record, { adminKey, log }),
    sessions,
    tokenFamilies,
    devices,
    administration: new Administration({ ...shared, devices, mayRemoveLastAdmin }),
  }
}
