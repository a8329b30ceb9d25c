import type { Clock } from '../runtime/clock.ts'
import { ConfigurationError, type Configuration } from '../config/environment.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { NoteForbidden, NoteForeignCall } from '../http/access.ts'
import type { Authenticate } from '../http/principal.ts'
import type { Room } from '../http/room.ts'
import { Cursors } from '../paging/cursor.ts'
import type { Database } from '../storage/database.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import {
  AccountEvents,
  faultsOfAccountEvents,
  type AccountEventChoice,
  type EmitEvents,
} from './account-events.ts'
import { AccessTokens, type AppRights } from './access-tokens.ts'
import { Administration } from './administration.ts'
import { ApiKeys } from './api-keys.ts'
import { AuditLog } from './audit-log.ts'
import { AuditReader } from './audit-reader.ts'
import { auditRoutes } from './audit-routes.ts'
import { Audit } from './audit.ts'
import { createAuditForwarding } from './audit-forwarding/index.ts'
import { createAuthenticate } from './authenticate.ts'
import { deviceRoutes } from './device-routes.ts'
import { Devices } from './devices.ts'
import { HostCookie } from './host-cookie.ts'
import { jwksRoutes } from './jwks-routes.ts'
import { identityRoutes } from './identity-routes.ts'
import { RecentSignIn } from './recent-sign-in.ts'
import {
  createForbiddenNotes,
  createForeignCallNotes,
  createRefusalNotes,
  type NoteRefusal,
} from './refusals.ts'
import { RefreshTokens } from './refresh-tokens.ts'
import { RoleChanges } from './role-changes.ts'
import { accountsRoutes } from './routes.ts'
import { SecondFactor } from './second-factor.ts'
import { sessionLimits, Sessions } from './sessions.ts'
import { SigningKeys } from './signing-keys.ts'
import { createSweeper } from './sweeper.ts'
import { userRoutes } from './user-routes.ts'
import { userSessionRoutes } from './user-session-routes.ts'
import { Users } from './users.ts'

export interface AccountsParts {
  configuration: Configuration
  database: Database
  keyring: Keyring
  clock: Clock
  log: Log
  metrics: Metrics
  baseUrl: () => string
  /** Which events about accounts are emitted: `login.events` of the configuration module. */
  events: AccountEventChoice
  emit: EmitEvents
  /** `login.clients` of the configuration module. */
  apps: readonly AppRights[]
}

export interface Accounts extends Room {
  authenticate: Authenticate
  noteForeignCall: NoteForeignCall
  noteForbidden: NoteForbidden
  noteRefusal: NoteRefusal
  audit: Audit
  events: AccountEvents
  keys: ApiKeys
  users: Users
  sessions: Sessions
  sessionCookie: HostCookie
  refreshTokens: RefreshTokens
  accessTokens: AccessTokens
  roleChanges: RoleChanges
  recentSignIn: RecentSignIn
}

/** Who is this, and what may they do. @throws ConfigurationError when an event is chosen that there is not. */
export function createAccounts({
  configuration,
  database,
  keyring,
  clock,
  log,
  metrics,
  baseUrl,
  events: choice,
  emit,
  apps,
}: AccountsParts): Accounts {
  const faults = faultsOfAccountEvents(choice)
  if (faults.length > 0) throw new ConfigurationError(faults)
  const events = new AccountEvents(choice, emit)
  const admins = configuration.adminIdentities
  const limits = sessionLimits(configuration)
  const audit = new Audit({ database, clock, log, retention: configuration.auditRetention })
  const noteRefusal = createRefusalNotes(audit, clock)
  const keys = new ApiKeys(database, clock, audit.record, { adminKey: configuration.adminApiKey, log })
  const users = new Users(clock, admins, database.revocations)
  const sessions = new Sessions({ database, clock, log, limits, admins, record: audit.record })
  const refreshTokens = new RefreshTokens({ database, clock, limits, admins, record: audit.record })
  const devices = new Devices(database, sessions, refreshTokens)
  const administration = new Administration({
    database,
    clock,
    devices,
    admins,
    record: audit.record,
    keepsAnAdmin: true,
  })
  const roleChanges = new RoleChanges({ users, devices, sessions, record: audit.record })
  const signingKeys = new SigningKeys({
    database,
    keyring,
    clock,
    rotation: configuration.signingKeyRotation,
    record: audit.record,
  })
  const secondFactor = new SecondFactor({
    required: configuration.adminMfa === 'required',
    amrValues: configuration.adminAmrValues,
    acrValues: configuration.adminAcrValues,
  })
  const accessTokens = new AccessTokens({
    keys: signingKeys,
    refreshTokens,
    reader: database.reader,
    clock,
    baseUrl,
    apps,
    secondFactor,
    idle: limits.idle,
  })
  const sessionCookie = new HostCookie('postern_session', baseUrl)
  const recentSignIn = new RecentSignIn({
    sessions,
    cookie: sessionCookie,
    audit,
    clock,
    within: configuration.recentSignIn,
    proof: configuration.recentSignInProof,
  })
  const sweeper = createSweeper('accounts', clock, log, [
    (now) => sessions.sweep(now),
    (now) => refreshTokens.sweep(now),
    (now) => signingKeys.rotateIfDue(now),
    (now) => audit.sweep(now),
  ])
  return {
    authenticate: createAuthenticate({
      keys,
      accessTokens,
      sessions,
      cookie: sessionCookie,
      secondFactor,
      noteRefusal,
    }),
    noteForeignCall: createForeignCallNotes(noteRefusal),
    noteForbidden: createForbiddenNotes(noteRefusal),
    noteRefusal,
    audit,
    events,
    keys,
    users,
    sessions,
    sessionCookie,
    refreshTokens,
    accessTokens,
    roleChanges,
    recentSignIn,
    async routes(app) {
      await accountsRoutes(app, {
        database,
        users,
        sessions,
        refreshTokens,
        cookie: sessionCookie,
        audit,
        baseUrl,
      })
      await deviceRoutes(app, { devices, cookie: sessionCookie, audit })
      await userRoutes(app, administration)
      await userSessionRoutes(app, { administration, devices, database, audit })
      jwksRoutes(app, signingKeys)
      await identityRoutes(app, {
        database,
        users,
        devices,
        roleChanges,
        recentSignIn,
        cookie: sessionCookie,
        audit,
        events,
      })
      await auditRoutes(app, new AuditLog(database, new Cursors(keyring)), new AuditReader(database))
    },
    workers: [sweeper, ...createAuditForwarding({ configuration, database, clock, log, metrics, baseUrl })],
  }
}
