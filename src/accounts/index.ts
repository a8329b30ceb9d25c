import { ConfigurationError } from '../config/environment.ts'
import { isBackground, isJwt, readBearer } from '../http/access/access.ts'
import type { Authenticate, Principal } from '../http/access/principal.ts'
import type { ServiceModule } from '../http/service-module.ts'
import { validateAccountEvents } from './users/account-events.ts'
import { RefusedKey, type ApiKeys } from './tokens/api-keys.ts'
import { auditRoutes } from './audit/audit-routes.ts'
import { createAuditForwarding } from './audit-forwarding/index.ts'
import { sessionDescriber, accountsRoutes } from './routes.ts'
import { ownDeviceRoutes, userDeviceRoutes } from './sessions/device-routes.ts'
import { impersonationRoutes } from './sessions/impersonation-routes.ts'
import { keyRoutes, jwksRoutes } from './tokens/key-routes.ts'
import { invitationRoutes } from './users/invitation-routes.ts'
import { identityRoutes, userRoutes } from './users/user-routes.ts'
import { createSweeper } from '../runtime/worker.ts'
import { type AccountServices, type AccountsParts, createAccountServices } from './services.ts'
import { type Attention, mostOfAKind, quoted } from '../http/attention.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { SignedInUser } from './sessions/authentication.ts'
import { isoTime } from '../runtime/iso-time.ts'
import type { FastifyRequest } from 'fastify'
import { Problem } from '../errors.ts'
import type { Session } from './sessions/session-lookup.ts'
import type { Row } from '../storage/tables.ts'
import { sql } from 'kysely'
import { isId } from '../crypto/ids.ts'
import { contains, mostFound, type Finder, type Found } from '../http/finder.ts'

/** The module: its services, and what other modules and the service need besides. */
export interface Accounts extends ServiceModule, AccountServices {
  authenticate: Authenticate
  /** The answer of GET /auth/session. */
  describeSession: ReturnType<typeof sessionDescriber>
}

/** Users, their credentials and their rights. @throws ConfigurationError when `events` names an unknown event. */
export function createAccounts(parts: AccountsParts): Accounts {
  const { database, clock, log } = parts
  const errors = validateAccountEvents(parts.events)
  if (errors.length > 0) throw new ConfigurationError(errors)
  const services = createAccountServices(parts)
  const { sessions, tokenFamilies, signingKeys, invitations, audit } = services
  const sweeper = createSweeper('accounts', clock, log, [
    (now) => sessions.sweep(now),
    (now) => tokenFamilies.sweep(now),
    (now) => signingKeys.rotateIfDue(now),
    (now) => invitations.sweep(now),
    (now) => audit.sweep(now),
  ])
  return {
    ...services,
    authenticate: createAuthenticate(services),
    describeSession: sessionDescriber(services),
    async routes(app) {
      await accountsRoutes(app, services)
      jwksRoutes(app, signingKeys)
      ownDeviceRoutes(app, services)
      userRoutes(app, services)
      userDeviceRoutes(app, services)
      await impersonationRoutes(app, services)
      identityRoutes(app, services)
      keyRoutes(app, services)
      invitationRoutes(app, services)
      auditRoutes(app, services)
    },
    workers: [sweeper, ...createAuditForwarding(parts)],
    finders: [userFinder(database), keyFinder(services.keys)],
    attention: (now) => expiringKeys(database, now),
  }
}

const day = 86_400_000
/** Milliseconds before a key expires from which on it needs attention. */
const notice = 14 * day

/** API keys that expire within two weeks. */
async function expiringKeys({ slowReader: reader }: Database, now: number): Promise<Attention[]> {
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

/** Reads a request's credential: the Authorization header first, then the session cookie. */
function createAuthenticate(services: AccountServices): Authenticate {
  const { keys, accessTokens, sessions, sessionCookie, noteRefusal, secondFactor } = services
  return async (request: FastifyRequest): Promise<Principal | undefined> => {
    const { authorization } = request.headers
    if (authorization !== undefined) {
      const token = readBearer(authorization)
      if (isJwt(token)) return accessTokens.authenticate(token)
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
    const session = await (isBackground(request) ? sessions.look(token) : sessions.find(token))
    return session && principalOf(session, secondFactor, request.server.basePath)
  }
}

function principalOf(
  session: Session,
  secondFactor: AccountServices['secondFactor'],
  basePath: string,
): Principal {
  const { id: sessionId, userId, role, provider, impersonatorId, impersonatorSessionId } = session
  const signedIn = { kind: 'session', role: 'user', userId, sessionId } as const
  if (impersonatorId !== null && impersonatorSessionId !== null)
    return { ...signedIn, impersonator: { userId: impersonatorId, sessionId: impersonatorSessionId } }
  if (secondFactor.isMissing(role, session))
    return { ...signedIn, stepUp: secondFactor.stepUp(basePath, provider) }
  return { ...signedIn, role }
}

/** Finds people by their id, or the beginning of their e-mail address or name, and one device by its id. */
function userFinder({ slowReader: reader, engine }: Database): Finder {
  const collation = engine === 'postgres' ? sql` collate "C"` : sql``
  const beginning = async (column: 'email' | 'name', text: string) => {
    const low = sql`lower(${sql.ref(column)})${collation}`
    return reader
      .selectFrom('users')
      .select(['id', 'email', 'name', 'role'])
      .where(sql<boolean>`${low} >= ${text} and ${low} < ${`${text}\u{10ffff}`}`)
      .orderBy(low)
      .limit(mostFound)
      .execute()
  }
  const byId = async (id: string): Promise<Found[]> => {
    const user = await reader
      .selectFrom('users')
      .select(['id', 'email', 'name', 'role'])
      .where('id', '=', id)
      .executeTakeFirst()
    if (user) return [describe(user)]
    const session = await reader
      .selectFrom('sessions')
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .select(['users.id', 'users.email', 'users.name'])
      .where('sessions.id', '=', id)
      .executeTakeFirst()
    if (!session) return []
    // The page of a session is the page of its user.
    return [{ kind: 'session', id: session.id, title: id, detail: session.email ?? session.name }]
  }
  return {
    scope: 'users:read',
    async find(text) {
      const low = text.toLowerCase()
      if (isId(low)) return byId(low)
      const rows = [...(await beginning('email', low)), ...(await beginning('name', low))]
      return [...new Map(rows.map((user) => [user.id, user])).values()].map(describe)
    },
  }
}

function describe({ id, email, name, role }: Pick<Row<'users'>, 'id' | 'email' | 'name' | 'role'>): Found {
  const detail = [email !== null && name !== null ? name : undefined, role].filter(Boolean).join(' · ')
  return { kind: 'user', id, title: email ?? name ?? id, detail }
}

/** Finds API keys by id, name or the beginning that lists show, among the newest thousand. */
function keyFinder(keys: ApiKeys): Finder {
  return {
    scope: 'admin',
    async find(text) {
      const found = (await keys.list()).filter(
        ({ id, name, prefix }) => id === text || contains(name, text) || text.startsWith(prefix),
      )
      return found.map(({ id, name, prefix, revoked_at: revoked }) => ({
        kind: 'key',
        id,
        title: name,
        detail: revoked === null ? `${prefix}…` : `${prefix}… · revoked`,
      }))
    },
  }
}

/** A sign-in with an id_token that an app got from a provider's SDK. */
export interface NativeSignIn {
  /** The name of the provider. */
  provider: string
  idToken: string
  /** The nonce that the app gave the SDK, itself or hashed. */
  nonce: string
  /** The name that the SDK gave the app. Apple only. */
  givenName: string | undefined
  clientId: string
  entry: { newUser: boolean; invitation: null }
}

/** What `issue` created, or an error for the app in the form of RFC 6749, section 5.2. */
export type NativeOutcome<T> =
  | { ok: true; tokens: T }
  | { ok: false; status: number; error: string; error_description: string }

/**
 * Signs a person in. `issue` creates the tokens of the app, in the transaction of the sign-in.
 * @throws Problem `provider-unavailable`; faults of the service
 */
export type SignInNative = <T>(
  request: FastifyRequest,
  signIn: NativeSignIn,
  issue: (tx: Tx, user: SignedInUser) => Promise<T>,
) => Promise<NativeOutcome<T>>
