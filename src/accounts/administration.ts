import { sql } from 'kysely'
import type { Clock } from '../runtime/clock.ts'
import { isId } from '../crypto/ids.ts'
import { Problem } from '../errors.ts'
import type { Database, Queryable, Tx } from '../storage/database.ts'
import type { Role } from '../storage/tables.ts'
import type { AuditOrigin, RecordAudit } from './audit.ts'
import type { Devices } from './devices.ts'
import { roleExpression, type IdentityKey } from './roles.ts'

/** What an admin may change about an account. */
export interface AccessChange {
  blocked?: boolean | undefined
  role?: Role | undefined
}

/** Any constant: changes that could take the last admin away go one after the other. */
const lockKeys = [7_226, 3] as const

/** An account as admins see it. */
export interface Account {
  id: string
  email: string | null
  name: string | null
  provider: string
  providerId: string
  role: Role
  blockedAt: number | null
  createdAt: number
}

/**
 * Blocking, letting in again, roles. Whatever changes ends all sessions and tokens of the account at once: nobody goes
 * on with a credential that was made when the account could do something else.
 */
export class Administration {
  readonly #database: Database
  readonly #clock: Clock
  readonly #devices: Devices
  readonly #admins: readonly IdentityKey[]
  readonly #record: RecordAudit
  readonly #keepsAnAdmin: boolean

  /** @param parts.keepsAnAdmin whether the last admin stays: for all but the command line, which is the way out. */
  constructor(parts: {
    database: Database
    clock: Clock
    devices: Devices
    admins: readonly IdentityKey[]
    record: RecordAudit
    keepsAnAdmin: boolean
  }) {
    this.#keepsAnAdmin = parts.keepsAnAdmin
    this.#database = parts.database
    this.#clock = parts.clock
    this.#devices = parts.devices
    this.#admins = parts.admins
    this.#record = parts.record
  }

  async find(db: Queryable, id: string): Promise<Account | undefined> {
    return db
      .selectFrom('users')
      .select(['id', 'email', 'name', 'provider', 'provider_id as providerId'])
      .select(['blocked_at as blockedAt', 'created_at as createdAt'])
      .select(roleExpression(this.#admins).as('role'))
      .where('id', '=', id)
      .executeTakeFirst()
  }

  /** The id of the account that `provider:providerId` links to, or that has this very id. */
  async resolve(text: string): Promise<string | undefined> {
    if (isId(text)) return (await this.find(this.#database.reader, text))?.id
    const colon = text.indexOf(':')
    const row = await this.#database.reader
      .selectFrom('identities')
      .select('user_id')
      .where('provider', '=', text.slice(0, Math.max(0, colon)))
      .where('provider_id', '=', text.slice(colon + 1))
      .executeTakeFirst()
    return row?.user_id
  }

  /**
   * Changes what is given and differs; gives the account as it is then, `undefined` when there is none.
   * @throws Problem `conflict` for the role of an identity in ADMIN_IDENTITIES, which only that setting takes away;
   * `last-admin` when nobody would be left who is admin and not blocked.
   */
  async change(id: string, change: AccessChange, origin: AuditOrigin): Promise<Account | undefined> {
    return this.#database.transaction(async (tx) => {
      if (change.blocked === true || change.role === 'user') await this.#lockAdmins(tx)
      const before = await this.#lock(tx, id)
      if (!before) return undefined
      const was = await this.find(tx, id)
      const blocks = change.blocked !== undefined && change.blocked !== (before.blocked_at !== null)
      const promotes = change.role !== undefined && change.role !== before.role
      if (change.role === 'user' && before.role === 'user' && was?.role === 'admin') {
        throw new Problem('conflict', {
          detail: 'An identity of this account is in ADMIN_IDENTITIES: take it off that setting.',
        })
      }
      if (blocks) await this.#setBlocked(tx, id, change.blocked === true, origin)
      if (promotes) await this.#setRole(tx, id, before.role, change.role!, origin)
      if (blocks || promotes) await this.#devices.revokeAll(tx, id)
      const is = await this.find(tx, id)
      const lost = isAdmin(was) && !isAdmin(is)
      if (this.#keepsAnAdmin && lost && !(await this.#hasAdmin(tx))) throw new Problem('last-admin')
      return is
    })
  }

  /** Two admins that take each other's role at once would both find the other one; on SQLite nobody else writes. */
  async #lockAdmins(tx: Tx): Promise<void> {
    if (this.#database.engine === 'postgres')
      await sql`select pg_advisory_xact_lock(${lockKeys[0]}, ${lockKeys[1]})`.execute(tx)
  }

  async #hasAdmin(tx: Tx): Promise<boolean> {
    const unblocked = tx.selectFrom('users').select('users.id').where('users.blocked_at', 'is', null).limit(1)
    // Written out, so that the index of admins is used.
    if (await unblocked.where(sql<boolean>`users.role = 'admin'`).executeTakeFirst()) return true
    if (this.#admins.length === 0) return false
    const listed = unblocked
      .innerJoin('identities', 'identities.user_id', 'users.id')
      .where((eb) =>
        eb.or(
          this.#admins.map(({ provider, providerId }) =>
            eb.and({ 'identities.provider': provider, 'identities.provider_id': providerId }),
          ),
        ),
      )
    return (await listed.executeTakeFirst()) !== undefined
  }

  async #setBlocked(tx: Tx, id: string, blocked: boolean, origin: AuditOrigin): Promise<void> {
    await tx
      .updateTable('users')
      .set({ blocked_at: blocked ? this.#clock.now() : null })
      .where('id', '=', id)
      .execute()
    await this.#record(tx, { action: blocked ? 'user.blocked' : 'user.unblocked', userId: id, ...origin })
  }

  async #setRole(tx: Tx, id: string, from: Role, to: Role, origin: AuditOrigin): Promise<void> {
    await tx.updateTable('users').set({ role: to }).where('id', '=', id).execute()
    await this.#record(tx, { action: 'user.role_changed', userId: id, detail: { from, to }, ...origin })
  }

  /** The row's own state; a change that changes nothing locks it on PostgreSQL. */
  async #lock(tx: Tx, id: string): Promise<{ role: Role; blocked_at: number | null } | undefined> {
    return tx
      .updateTable('users')
      .set((eb) => ({ role: eb.ref('role') }))
      .where('id', '=', id)
      .returning(['role', 'blocked_at'])
      .executeTakeFirst()
  }
}

function isAdmin(account: Account | undefined): boolean {
  return account?.role === 'admin' && account.blockedAt === null
}
