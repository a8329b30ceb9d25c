import { type Configuration, ConfigurationError } from '../config/environment.ts'
import { type NoteForbidden, type NoteForeignCall, isBackground } from '../http/access/access.ts'
import type { Authenticate, Principal } from '../http/access/principal.ts'
import type { ModuleParts, ServiceModule } from '../http/service-module.ts'
import { Cursors } from '../paging/cursor.ts'
import {
  type AccountEventChoice,
  AccountEvents,
  type EmitEvents,
  validateAccountEvents,
} from './users/account-events.ts'
import { AccessTokens, type AppRights } from './tokens/access-tokens.ts'
import { type ApiKeys, RefusedKey } from './tokens/api-keys.ts'
import { AuditLog } from './audit/audit-log.ts'
import { AuditReader } from './audit/audit-reader.ts'
import { auditRoutes } from './audit/audit-routes.ts'
import type { Audit } from './audit/audit.ts'
import { createAuditForwarding } from './audit-forwarding/index.ts'
import { sessionDescriber } from './sessions/current-session.ts'
import { ownDeviceRoutes, userDeviceRoutes } from './sessions/device-routes.ts'
import { keyFinder, userFinder } from './finder.ts'
import { HostCookie } from '../http/responses/host-cookie.ts'
import { HostSessions } from './sessions/host-sessions.ts'
import { keyRoutes } from './tokens/key-routes.ts'
import { jwksRoutes } from './tokens/jwks-routes.ts'
import { identityRoutes } from './users/identity-routes.ts'
import { RecentSignIn } from './sessions/recent-sign-in.ts'
import {
  createForbiddenNotes,
  createForeignCallNotes,
  createRefusalNotes,
  type NoteRefusal,
  type NoteRefusedCall,
} from './refusals.ts'
import { RefreshTokens } from './tokens/refresh-tokens.ts'
import type { TokenFamilies } from './tokens/token-families.ts'
import { RoleChanges } from './users/role-changes.ts'
import type { AdminGroup, AdminRule } from './users/roles.ts'
import { accountsRoutes } from './routes.ts'
import { SecondFactor, type SecondFactorPolicy } from './sessions/second-factor.ts'
import type { Sessions } from './sessions/sessions.ts'
import { SigningKeys } from './tokens/signing-keys.ts'
import { createSweeper } from './sweeper.ts'
import { userDetailRoutes, userRoutes } from './users/user-routes.ts'
import { createUserServices } from './user-services.ts'
import { Users } from './users/users.ts'
import { type Attention, mostOfAKind, quoted } from '../http/attention.ts'
import type { Database } from '../storage/database.ts'
import { isoTime } from '../runtime/iso-time.ts'
import type { FastifyRequest } from 'fastify'
import { Problem } from '../errors.ts'
import type { Session } from './sessions/session-lookup.ts'

interface AccountsParts extends ModuleParts {
  /** Which events about accounts are emitted: `login.events` of the configuration module. */
  events: AccountEventChoice
  emit: EmitEvents
  /** The groups at providers whose members are admins. */
  adminGroups: readonly AdminGroup[]
  /** The rights of an app; `undefined` for an unknown one. */
  findApp: (id: string) => Promise<AppRights | undefined>
}

export interface Accounts extends ServiceModule {
  authenticate: Authenticate
  /** The answer of GET /auth/session. */
  describeSession: ReturnType<typeof sessionDescriber>
  noteForeignCall: NoteForeignCall
  noteForbidden: NoteForbidden
  noteRefusal: NoteRefusal
  noteRefusedCall: NoteRefusedCall
  audit: Audit
  events: AccountEvents
  keys: ApiKeys
  users: Users
  sessions: Sessions
  sessionCookie: HostCookie
  hostSessions: HostSessions
  secondFactor: SecondFactor
  tokenFamilies: TokenFamilies
  refreshTokens: RefreshTokens
  accessTokens: AccessTokens
  signingKeys: SigningKeys
  roleChanges: RoleChanges
  recentSignIn: RecentSignIn
  /** What makes a user an admin beside the role of the row. */
  admins: readonly AdminRule[]
}

/** Users, their credentials and their rights. @throws ConfigurationError when `events` names an unknown event. */
export function createAccounts(parts: AccountsParts): Accounts {
  const { database, keyring, clock, log } = parts
  const errors = validateAccountEvents(parts.events)
  if (errors.length > 0) throw new ConfigurationError(errors)
  const services = createServices(parts)
  const { sessions, tokenFamilies, signingKeys, audit, noteRefusal } = services
  const sweeper = createSweeper('accounts', clock, log, [
    (now) => sessions.sweep(now),
    (now) => tokenFamilies.sweep(now),
    (now) => signingKeys.rotation.rotateIfDue(now),
    (now) => audit.sweep(now),
  ])
  return {
    ...services,
    authenticate: createAuthenticate(services),
    describeSession: sessionDescriber({ ...services, database }),
    noteForeignCall: createForeignCallNotes(noteRefusal),
    noteForbidden: createForbiddenNotes(noteRefusal),
    async routes(app) {
      const { baseUrl, findApp } = parts
      const cursors = new Cursors(keyring)
      const auditLog = new AuditLog(database, cursors)
      const shared = { ...services, database, baseUrl, findApp, auditLog }
      await accountsRoutes(app, shared)
      jwksRoutes(app, signingKeys)
      ownDeviceRoutes(app, shared)
      userRoutes(app, services.administration)
      userDeviceRoutes(app, shared)
      identityRoutes(app, shared)
      userDetailRoutes(app, shared)
      keyRoutes(app, { ...shared, clock, cursors })
      auditRoutes(app, auditLog, new AuditReader(database), database)
    },
    workers: [sweeper, ...createAuditForwarding(parts)],
    finders: [userFinder(database), keyFinder(services.keys)],
    attention: (now) => expiringKeys(database, now),
  }
}

function createServices(parts: AccountsParts) {
  const { configuration, database, keyring, clock, baseUrl } = parts
  const { signingKeyRotation: rotation } = configuration
  const { shared, ...services } = createUserServices({ ...parts, mayRemoveLastAdmin: false })
  const { admins, audit, sessions, tokenFamilies, devices } = services
  const { record, limits } = shared
  const users = new Users(clock, admins, database.revocations)
  const signingKeys = new SigningKeys({ database, keyring, clock, rotation, record })
  const secondFactor = new SecondFactor(secondFactorPolicy(configuration))
  const sessionCookie = new HostCookie('postern_session', baseUrl)
  return {
    ...services,
    ...createRefusalNotes(audit, clock),
    events: new AccountEvents(parts.events, parts.emit),
    users,
    sessionCookie,
    hostSessions: new HostSessions({ ...shared, sessions }),
    refreshTokens: new RefreshTokens({ ...shared, families: tokenFamilies }),
    roleChanges: new RoleChanges({ ...shared, users, devices, sessions }),
    signingKeys,
    secondFactor,
    accessTokens: new AccessTokens({
      keys: signingKeys,
      tokenFamilies,
      reader: database.reader,
      clock,
      baseUrl,
      findApp: parts.findApp,
      secondFactor,
      idle: limits.idle,
    }),
    recentSignIn: new RecentSignIn({
      sessions,
      sessionCookie,
      audit,
      clock,
      within: configuration.recentSignIn,
      proof: configuration.recentSignInProof,
    }),
  }
}

function secondFactorPolicy({ adminMfa, adminAmrValues, adminAcrValues }: Configuration): SecondFactorPolicy {
  return { required: adminMfa === 'required', amrValues: adminAmrValues, acrValues: adminAcrValues }
}

const day = 86_400_000
/** Milliseconds before a key expires from which on it needs attention. */
const notice = 14 * day

/** API keys that expire within two weeks. */
async function expiringKeys({ readerAside: reader }: Database, now: number): Promise<Attention[]> {
  const keys = await reader
    .selectFrom('api_keys')
    .select(['id', 'name', 'expires_at'])
    .where('expires_at', '>', now)
    .where('expires_at', '<', now + notice)
    .where('revoked_at', 'is', null)
    .orderBy('expires_at')
    .limit(mostOfAKind)
    .execute()
  return keys.map(({ id, name, expires_at }) => ({
    kind: 'key-expires',
    severity: 'warning',
    text: `API key ${quoted(name)} expires on ${isoTime(expires_at ?? now).slice(0, 10)}.`,
    since: null,
    about: { topic: 'key', id },
  }))
}

const bearer = /^Bearer +([\x21-\x7e]{1,4096})$/i
/** The three parts of a signed JWT; the first one is JSON and therefore begins with `{"`. */
const jwt = /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/

interface Credentials {
  keys: ApiKeys
  accessTokens: AccessTokens
  sessions: Sessions
  sessionCookie: HostCookie
  noteRefusal: NoteRefusal
  secondFactor: SecondFactor
}

/** Reads a request's credential: the Authorization header first, then the session cookie. */
function createAuthenticate({
  keys,
  accessTokens,
  sessions,
  sessionCookie,
  noteRefusal,
  secondFactor,
}: Credentials): Authenticate {
  return async (request: FastifyRequest): Promise<Principal | undefined> => {
    const { authorization } = request.headers
    if (authorization !== undefined) {
      const token = bearer.exec(authorization)?.[1]
      if (!token) {
        throw new Problem('not-signed-in', {
          detail: 'The Authorization header is not of the form `Bearer <credential>`.',
        })
      }
      if (jwt.test(token)) return accessTokens.authenticate(token)
      return keys.authenticate(token).catch(async (error: unknown) => {
        if (error instanceof Problem && error.cause instanceof RefusedKey) {
          const { code, keyId } = error.cause
          const target = keyId === undefined ? undefined : `key:${keyId}`
          await noteRefusal(request, { action: 'key.refused', code, target })
        }
        throw error
      })
    }
    const token = sessionCookie.read(request)
    if (token === undefined) return undefined
    const session = await (isBackground(request) ? sessions.look(token) : sessions.find(token))
    return session && principalOf(session, secondFactor, request.server.basePath)
  }
}

function principalOf(session: Session, secondFactor: SecondFactor, basePath: string): Principal {
  const { id: sessionId, userId, role, provider } = session
  if (secondFactor.isMissing(role, session))
    return {
      kind: 'session',
      role: 'user',
      userId,
      sessionId,
      stepUp: secondFactor.stepUp(basePath, provider),
    }
  return { kind: 'session', role, userId, sessionId }
}
