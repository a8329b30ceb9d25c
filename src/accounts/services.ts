import type { Configuration } from '../config/environment.ts'
import type { ModuleParts } from '../http/service-module.ts'
import { Cursors } from '../paging/cursor.ts'
import { type AccountEventChoice, createAccountEvents, type EmitEvents } from './users/account-events.ts'
import { AccessTokens } from './tokens/access-tokens.ts'
import { ApiKeys } from './tokens/api-keys.ts'
import { Audit, type RecordAudit } from './audit/audit.ts'
import { BrowserBinding, HostCookie } from '../http/responses/host-cookie.ts'
import { HostSessions, Sessions, type SessionLimits } from './sessions/sessions.ts'
import { createSecondFactor, RecentSignIn } from './sessions/recent-sign-in.ts'
import { createRefusalNotes } from './refusals.ts'
import { RefreshTokens } from './tokens/refresh-tokens.ts'
import { TokenFamilies } from './tokens/token-families.ts'
import { RoleChanges } from './users/role-changes.ts'
import type { AdminGroup, AdminRule } from './users/roles.ts'
import { SigningKeys } from './tokens/signing-keys.ts'
import { Users } from './users/users.ts'
import type { Database } from '../storage/database.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../telemetry/log.ts'
import { Devices } from './sessions/devices.ts'
import { Invitations } from './users/invitations.ts'
import { Impersonations } from './sessions/impersonation.ts'
import type { Session } from './sessions/session-lookup.ts'
import { LastSeenWriter } from './sessions/last-seen-writer.ts'
import { Administration } from './users/administration.ts'
import type { AppRights } from './sessions/authentication.ts'

/** What all services of accounts need. */
export interface AccountBasis {
  database: Database
  clock: Clock
  log: Log
  limits: SessionLimits
  /** What makes a user an admin beside the role of the row. */
  admins: readonly AdminRule[]
  record: RecordAudit
  lastSeen: LastSeenWriter
  /** Whether the setting, and a session's role and sign-in, allow acting for users. */
  mayImpersonate: (own: Pick<Session, 'role' | 'acr' | 'amr'>) => boolean
}

/** What those services need that only the running service has. */
export interface AccountWiring
  extends
    AccountBasis,
    Omit<ReturnType<typeof createUserServices>, 'shared'>,
    Pick<AccountsParts, 'configuration' | 'baseUrl' | 'findApp'> {
  users: Users
  signingKeys: SigningKeys
  sessionCookie: HostCookie
  binding: BrowserBinding
}

/** Users, sessions and keys, as far as they need only the database: for the service and for the command line alike. */
export function createUserServices(
  parts: Pick<ModuleParts, 'database' | 'clock' | 'log'> & {
    configuration: Configuration
    /** The groups at providers whose members are admins: of the environment and of the configuration module. */
    adminGroups: readonly AdminGroup[]
    /** See Administration. */
    mayRemoveLastAdmin: boolean
  },
) {
  const { configuration, database, clock, log, mayRemoveLastAdmin } = parts
  const { auditRetention: retention, adminApiKey: adminKey } = configuration
  const admins: readonly AdminRule[] = [...configuration.adminIdentities, ...parts.adminGroups]
  const { sessionIdle: idle, sessionLifetime: lifetime, sessionsPerUser: perUser } = configuration
  const limits: SessionLimits = { idle, lifetime, perUser }
  const audit = new Audit({ database, clock, log, retention })
  const { record } = audit
  const lastSeen = new LastSeenWriter(database, log, limits.idle)
  const secondFactor = createSecondFactor(configuration)
  const mayImpersonate: AccountBasis['mayImpersonate'] = ({ role, ...signIn }) =>
    configuration.impersonation === 'on' && role === 'admin' && !secondFactor.isMissing(role, signIn)
  const shared: AccountBasis = { database, clock, log, limits, admins, record, lastSeen, mayImpersonate }
  const sessions = new Sessions(shared)
  const tokenFamilies = new TokenFamilies({ ...shared, sessions })
  const devices = new Devices({ database, sessions, tokenFamilies })
  return {
    shared,
    admins,
    audit,
    secondFactor,
    mayImpersonate,
    keys: new ApiKeys(database, clock, record, { adminKey, log }),
    sessions,
    tokenFamilies,
    devices,
    administration: new Administration({ ...shared, devices, mayRemoveLastAdmin }),
  }
}

export interface AccountsParts extends ModuleParts {
  /** Which events about accounts are emitted: `login.events` of the configuration module. */
  events: AccountEventChoice
  emit: EmitEvents
  /** The groups at providers whose members are admins. */
  adminGroups: readonly AdminGroup[]
  /** The rights of an app; `undefined` for an unknown one. */
  findApp: (id: string) => Promise<AppRights | undefined>
  /** The scopes of guarded applications, which API keys may also have, with the applications' hosts. */
  applicationScopes: ReadonlyMap<string, readonly string[]>
}

/** What the module does, for its routes and for other modules. */
export type AccountServices = ReturnType<typeof createAccountServices>

/** All services of the module, in the order in which they need each other. */
export function createAccountServices(parts: AccountsParts) {
  const { configuration, database, keyring, clock, baseUrl, findApp, applicationScopes } = parts
  const cursors = new Cursors(keyring)
  const { signingKeyRotation: rotation } = configuration
  const { shared, ...services } = createUserServices({ ...parts, mayRemoveLastAdmin: false })
  const wiring: AccountWiring = {
    ...shared,
    ...services,
    configuration,
    baseUrl,
    findApp,
    users: new Users(shared),
    signingKeys: new SigningKeys({ database, keyring, clock, rotation, record: shared.record }),
    sessionCookie: new HostCookie('postern_session', baseUrl),
    binding: new BrowserBinding(baseUrl),
  }
  return {
    ...wiring,
    applicationScopes,
    cursors,
    ...createRefusalNotes(services.audit, clock),
    events: createAccountEvents(parts.events, parts.emit),
    hostSessions: new HostSessions(wiring),
    refreshTokens: new RefreshTokens(wiring),
    roleChanges: new RoleChanges(wiring),
    invitations: new Invitations(wiring),
    impersonations: new Impersonations(wiring),
    accessTokens: new AccessTokens(wiring),
    recentSignIn: new RecentSignIn(wiring),
  }
}
