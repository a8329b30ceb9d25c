import type { Clock } from '../../runtime/clock.ts'
import type { Database, Queryable, Tx } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import type { Client } from '../clients/client.ts'

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

  /** Whether the user allowed the app all of these scopes and APIs. Both are separated by spaces. */
  async covers(
    userId: string,
    clientId: string,
    { scope, resource }: { scope: string; resource: string | null },
  ): Promise<boolean> {
    const granted = await grantedTo(this.#database.reader, userId, clientId)
    const includes = (before: string, asked: string): boolean =>
      wordsIn(asked).every((one) => wordsIn(before).includes(one))
    return (
      granted !== undefined && includes(granted.scope, scope) && includes(granted.resource, resource ?? '')
    )
  }

  /**
   * Whether the browser may be sent to an address of the app without a click. Anybody can register an address that is made to
   * deceive people, so those of an app that registered itself are trusted only by people who have allowed the app (RFC 9700,
   * section 4.11.2).
   * @param userId of the browser's session; `undefined` without one
   */
  async trusts({ id, selfRegistered, firstParty }: Client, userId: string | undefined): Promise<boolean> {
    if (!selfRegistered || firstParty) return true
    return userId !== undefined && (await grantedTo(this.#database.reader, userId, id)) !== undefined
  }

  /** Adds scopes and APIs to what the user allows the app. Both are separated by spaces. */
  async grant(
    tx: Tx,
    { userId, clientId }: { userId: string; clientId: string },
    { scope, resource }: { scope: string; resource: string | null },
  ): Promise<void> {
    const now = this.#clock.now()
    const none = { scope: '', resource: '' }
    const first = { user_id: userId, client_id: clientId, ...none, granted_at: now, updated_at: now }
    // Inserted or locked first: of two concurrent consents the second one adds to the first.
    const before = await tx
      .insertInto('consents')
      .values(first)
      .onConflict((conflict) => conflict.columns(['user_id', 'client_id']).doUpdateSet({ updated_at: now }))
      .returning(['scope', 'resource'])
      .executeTakeFirstOrThrow()
    await tx
      .updateTable('consents')
      .set({
        scope: union(before.scope, scope),
        resource: union(before.resource, resource ?? ''),
      })
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
  async list(userId: string): Promise<Row<'consents'>[]> {
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

function grantedTo(
  db: Queryable,
  userId: string,
  clientId: string,
): Promise<Pick<Row<'consents'>, 'scope' | 'resource'> | undefined> {
  return db
    .selectFrom('consents')
    .select(['scope', 'resource'])
    .where('user_id', '=', userId)
    .where('client_id', '=', clientId)
    .executeTakeFirst()
}

function union(before: string, added: string): string {
  return [...new Set([...wordsIn(before), ...wordsIn(added)])].toSorted().join(' ')
}

function wordsIn(text: string): string[] {
  return text.split(' ').filter((one) => one !== '')
}
