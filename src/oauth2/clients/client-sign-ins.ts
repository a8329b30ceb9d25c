import type { AuditOrigin, RecordAudit } from '../../accounts/audit/audit.ts'
import { deviceName } from '../../accounts/sessions/device-name.ts'
import type { TokenFamilies } from '../../accounts/tokens/token-families.ts'
import { idScope, type Cursors } from '../../paging/cursor.ts'
import type { PageOfRows, PageRequest } from '../../paging/page.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Database } from '../../storage/database.ts'
import { clientTarget, type ClientManagement } from './client-management.ts'

/** A live sign-in of a user in an app: its refresh tokens belong to it. */
export interface ClientSignIn {
  id: string
  userId: string
  email: string | null
  name: string | null
  provider: string
  /** The browser of the sign-in, such as `Firefox on Linux`. */
  device: string
  address: string | null
  /** Separated by spaces; null for a sign-in at GET /auth/{provider}. */
  scope: string | null
  createdAt: number
  lastSeenAt: number
  expiresAt: number
}

export interface ClientSignInsParts {
  database: Database
  clock: Clock
  cursors: Cursors
  clients: Pick<ClientManagement, 'get'>
  tokenFamilies: TokenFamilies
  record: RecordAudit
  /** Milliseconds without use after which a sign-in expires. */
  idle: number
}

/** The sign-ins of one app. */
export class ClientSignIns {
  readonly #parts: ClientSignInsParts

  constructor(parts: ClientSignInsParts) {
    this.#parts = parts
  }

  /** Newest first. @throws Problem `not-found` for an unknown app, `invalid-cursor` */
  async page(clientId: string, request: PageRequest): Promise<PageOfRows<ClientSignIn>> {
    const { database, clock, cursors, clients, idle } = this.#parts
    await clients.get(clientId)
    const now = clock.now()
    const query = database.readerAside
      .selectFrom('token_families as family')
      .innerJoin('users', 'users.id', 'family.user_id')
      .select(['family.id', 'family.user_id as userId', 'family.provider', 'family.address', 'family.scope'])
      .select(['family.user_agent', 'family.created_at as createdAt', 'family.last_seen_at as lastSeenAt'])
      .select(['family.expires_at as expiresAt', 'users.email', 'users.name'])
      .where('family.client_id', '=', clientId)
      .where('family.revoked_at', 'is', null)
      .where('family.expires_at', '>', now)
      .where('family.last_seen_at', '>', now - idle)
    const scope = idScope('client sign-ins', [clientId])
    const { rows, nextCursor } = await cursors.readById(scope, request, (before, count) =>
      query
        .$if(before !== undefined, (all) => all.where('family.id', '<', before!))
        .orderBy('family.id', 'desc')
        .limit(count)
        .execute(),
    )
    const signIns = rows.map(({ user_agent: agent, ...row }) =>
      Object.assign(row, { device: deviceName(agent) }),
    )
    return { rows: signIns, nextCursor }
  }

  /** Revokes one sign-in with its tokens. False when the app has no such sign-in. */
  async revoke(clientId: string, id: string, origin: AuditOrigin): Promise<boolean> {
    const { database, tokenFamilies, record } = this.#parts
    const userId = await tokenFamilies.ownerOf(database.reader, id)
    if (userId === undefined) return false
    const detail = { signIn: id }
    const target = clientTarget(clientId)
    return tokenFamilies.revoke(
      userId,
      id,
      (tx) => record(tx, { ...origin, action: 'tokens.revoked', userId, target, detail }),
      { clientId },
    )
  }
}
