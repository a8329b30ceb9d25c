import type { AccountBasis } from '../services.ts'
import { newId } from '../../crypto/ids.ts'
import type { Queryable, Tx } from '../../storage/database.ts'
import {
  type FoundUser,
  identitiesOf,
  insertIdentity,
  isKey,
  type ProviderIdentity,
  updateKnown,
} from './identities.ts'
import { userProfileReader } from './user-profile.ts'
import { isAdminIdentity, roleExpression, type IdentityKey } from './roles.ts'

export type User = NonNullable<Awaited<ReturnType<Users['find']>>>

/** The roles that a user has. */
export type Roles = NonNullable<Awaited<ReturnType<Users['roles']>>>

/** Local users and the identities that link to them. */
export class Users {
  readonly #parts: Pick<AccountBasis, 'database' | 'clock' | 'admins'>
  readonly profile: ReturnType<typeof userProfileReader>

  constructor(parts: Pick<AccountBasis, 'database' | 'clock' | 'admins'>) {
    this.#parts = parts
    this.profile = userProfileReader(parts.admins)
  }

  async find(db: Queryable, id: string) {
    return db
      .selectFrom('users')
      .select(['users.id', 'users.email', 'users.name', roleExpression(this.#parts.admins).as('role')])
      .where('users.id', '=', id)
      .executeTakeFirst()
  }

  /** `atProvider`: in sessions that were signed in with this provider. A group of another one does not count there. */
  async roles(db: Queryable, id: string, provider: string) {
    const counted = this.#parts.admins.filter((rule) => 'providerId' in rule || rule.provider === provider)
    return db
      .selectFrom('users')
      .select(roleExpression(this.#parts.admins).as('role'))
      .select(roleExpression(counted).as('atProvider'))
      .where('users.id', '=', id)
      .executeTakeFirst()
  }

  /** What makes a user an admin beside the assigned role, for the audit log. */
  async adminReason(db: Queryable, userId: string): Promise<'ADMIN_IDENTITIES' | 'groups' | undefined> {
    if (this.#parts.admins.length === 0) return undefined
    const rows = await db
      .selectFrom('identities')
      .select(['provider', 'provider_id'])
      .where('user_id', '=', userId)
      .where(isAdminIdentity(this.#parts.admins))
      .execute()
    if (rows.length === 0) return undefined
    const isListed = rows.some((row) =>
      this.#parts.admins.some(
        (rule) =>
          'providerId' in rule && rule.provider === row.provider && rule.providerId === row.provider_id,
      ),
    )
    return isListed ? 'ADMIN_IDENTITIES' : 'groups'
  }

  /** The users that are admins by ADMIN_IDENTITIES or by a group. */
  async listedAdmins(db: Queryable): Promise<ReadonlySet<string>> {
    if (this.#parts.admins.length === 0) return new Set()
    const rows = await db
      .selectFrom('identities')
      .select('user_id')
      .where(isAdminIdentity(this.#parts.admins))
      .execute()
    return new Set(rows.map((row) => row.user_id))
  }

  /**
   * The user that the identity links to; a new one if there is none. Two concurrent calls for a new identity return
   * one user: the unique key lets one insert through, and the other call looks again and finds it.
   * @throws IssuerMismatch
   */
  async findOrCreate(tx: Tx, identity: ProviderIdentity): Promise<FoundUser> {
    // The identity may also be unlinked between the conflicting insert and the next read.
    for (;;) {
      const known = await updateKnown(tx, identity, this.#parts.clock.now())
      if (known) return known
      const userId = await this.#create(tx, identity)
      if (userId !== undefined) return { userId, created: true, blocked: false }
    }
  }

  /** Creates a user with this identity; `undefined` when another transaction inserted the identity first. */
  async #create(tx: Tx, identity: ProviderIdentity): Promise<string | undefined> {
    const now = this.#parts.clock.now()
    const id = newId(now)
    const { provider, providerId, email, name } = identity
    await tx
      .insertInto('users')
      .values({
        id,
        email,
        name,
        provider,
        provider_id: providerId,
        role: 'user',
        blocked_at: null,
        created_at: now,
        last_seen_at: now,
      })
      .execute()
    if (await insertIdentity(tx, id, identity, now)) return id
    await tx.deleteFrom('users').where('id', '=', id).execute()
    return undefined
  }

  /**
   * Copies e-mail address and name of an identity to its user, if it is the one that `users.provider` names: others would make
   * the values change with each way of signing in. A value that the provider does not send stays. Returns the changed fields.
   * @param replaces whether a value that is set is replaced, too; an empty one is always filled
   */
  async updateProfile(
    tx: Tx,
    userId: string,
    identity: ProviderIdentity,
    replaces: boolean,
  ): Promise<('email' | 'name')[]> {
    const row = await tx
      .selectFrom('users')
      .select(['email', 'name'])
      .where('id', '=', userId)
      .where('provider', '=', identity.provider)
      .where('provider_id', '=', identity.providerId)
      .executeTakeFirst()
    if (!row) return []
    const { email, name, isFallbackEmail } = identity
    const values = {
      email: replaces && !isFallbackEmail ? (email ?? row.email) : (row.email ?? email),
      name: replaces ? (name ?? row.name) : (row.name ?? name),
    }
    const changed = (['email', 'name'] as const).filter((field) => values[field] !== row[field])
    if (changed.length === 0) return []
    const now = this.#parts.clock.now()
    await tx.updateTable('users').set(values).where('id', '=', userId).execute()
    // The identity itself may have changed before, when this was not configured.
    await tx.updateTable('identities').set({ updated_at: now }).where(isKey(identity)).execute()
    return changed
  }

  /**
   * Links an identity to a user. `taken` when it belongs to another one; nothing is moved then.
   * @throws IssuerMismatch
   */
  async link(tx: Tx, userId: string, identity: ProviderIdentity): Promise<'linked' | 'known' | 'taken'> {
    // `unlink` takes the same lock, so that changes of a user's identities run one after the other.
    await lockUser(tx, userId)
    if (await insertIdentity(tx, userId, identity, this.#parts.clock.now())) {
      // An identity may carry the admin role.
      await this.#parts.database.revocations.announce(tx, userId)
      return 'linked'
    }
    const owner = await updateKnown(tx, identity, this.#parts.clock.now())
    return owner?.userId === userId ? 'known' : 'taken'
  }

  /** Whether a user may not sign in: blocked, or deleted. */
  async isBlocked(tx: Tx, userId: string): Promise<boolean> {
    const user = await tx.selectFrom('users').select('blocked_at').where('id', '=', userId).executeTakeFirst()
    return !user || user.blocked_at !== null
  }

  /**
   * Unlinks a user's identities at one provider, or the one with `providerId`. The last identity stays: of two concurrent
   * calls, the second one waits for the first and sees its result.
   */
  async unlink(
    tx: Tx,
    userId: string,
    provider: string,
    providerId?: string,
  ): Promise<{ unlinked: IdentityKey[] } | 'unknown' | 'last'> {
    await lockUser(tx, userId)
    const all = await identitiesOf(tx, userId)
    const isLeaving = (key: IdentityKey): boolean =>
      key.provider === provider && (providerId === undefined || key.providerId === providerId)
    const remaining = all.find((identity) => !isLeaving(identity))
    const leaving = all.filter(isLeaving)
    if (leaving.length === 0) return 'unknown'
    if (!remaining) return 'last'
    await this.#parts.database.revocations.announce(tx, userId)
    for (const key of leaving) {
      await tx.deleteFrom('identities').where(isKey(key)).where('user_id', '=', userId).execute()
      await tx
        .updateTable('users')
        .set({ provider: remaining.provider, provider_id: remaining.providerId })
        .where('id', '=', userId)
        .where('provider', '=', key.provider)
        .where('provider_id', '=', key.providerId)
        .execute()
    }
    // The profile had values of those that are gone.
    await tx
      .updateTable('identities')
      .set({ updated_at: this.#parts.clock.now() })
      .where(isKey(remaining))
      .execute()
    return { unlinked: leaving }
  }
}

/** Locks a user's row for the transaction and returns it. On PostgreSQL an update without effect takes the row lock. */
export async function lockUser(tx: Tx, userId: string) {
  return tx
    .updateTable('users')
    .set((eb) => ({ role: eb.ref('role') }))
    .where('id', '=', userId)
    .returning(['role', 'blocked_at'])
    .executeTakeFirst()
}
