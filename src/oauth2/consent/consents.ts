import type { Clock } from '../../runtime/clock.ts'
import type { Database, Queryable, Tx } from '../../storage/database.ts'
import type { ConsentsTable } from '../../storage/tables.ts'

/** Consents of a user that are read at most. */
const mostConsents = 500

/** What each user allowed each app. A consent holds until the user revokes it, and further scopes need another one. */
export class Consents {
  readonly #database: Database
  readonly #clock: Clock

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
  }

  /** Whether the user allowed the app all of these scopes. @param scope separated by spaces */
  async covers(userId: string, clientId: string, scope: string): Promise<boolean> {
    const granted = await grantedScopes(this.#database.reader, userId, clientId)
    return granted !== undefined && scopesIn(scope).every((one) => granted.includes(one))
  }

  /** Adds scopes to what the user allows the app. @param scope separated by spaces */
  async grant(tx: Tx, userId: string, clientId: string, scope: string): Promise<void> {
    const now = this.#clock.now()
    const first = { user_id: userId, client_id: clientId, scope: '', granted_at: now, updated_at: now }
    // Inserted or locked first: of two concurrent consents the second one adds to the first.
    const { scope: before } = await tx
      .insertInto('consents')
      .values(first)
      .onConflict((conflict) => conflict.columns(['user_id', 'client_id']).doUpdateSet({ updated_at: now }))
      .returning('scope')
      .executeTakeFirstOrThrow()
    const all = [...new Set([...scopesIn(before), ...scopesIn(scope)])].toSorted().join(' ')
    await tx
      .updateTable('consents')
      .set({ scope: all })
      .where('user_id', '=', userId)
      .where('client_id', '=', clientId)
      .execute()
  }

  /** False when the user has allowed the app nothing. */
  async revoke(tx: Tx, userId: string, clientId: string): Promise<boolean> {
    const { numDeletedRows } = await tx
      .deleteFrom('consents')
      .where('user_id', '=', userId)
      .where('client_id', '=', clientId)
      .executeTakeFirst()
    return numDeletedRows > 0n
  }

  /** The consents of a user, the newest first. */
  async list(userId: string): Promise<ConsentsTable[]> {
    return this.#database.reader
      .selectFrom('consents')
      .selectAll()
      .where('user_id', '=', userId)
      .orderBy('updated_at', 'desc')
      .orderBy('client_id')
      .limit(mostConsents)
      .execute()
  }
}

async function grantedScopes(
  db: Queryable,
  userId: string,
  clientId: string,
): Promise<readonly string[] | undefined> {
  const row = await db
    .selectFrom('consents')
    .select('scope')
    .where('user_id', '=', userId)
    .where('client_id', '=', clientId)
    .executeTakeFirst()
  return row && scopesIn(row.scope)
}

function scopesIn(scope: string): string[] {
  return scope.split(' ').filter((one) => one !== '')
}
