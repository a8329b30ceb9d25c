import { type ExpressionBuilder, sql, type RawBuilder } from 'kysely'
import type { Tables } from '../../storage/tables.ts'
import type { Queryable, Tx, Database } from '../../storage/database.ts'
import type { IdentityKey } from './roles.ts'
import { storedGroups, type ProfileClaims } from './user-profile.ts'

/** An identity as a provider asserts it. Only its key decides which account it is; the rest is for display and contact. */
export interface ProviderIdentity extends IdentityKey {
  /**
   * `iss` of the id_token; for plain OAuth 2.0 the provider's issuer or origins. An identity stays bound to the issuer of its
   * first sign-in. Null for an identity that was stored before issuers were.
   */
  issuer: string | null
  email: string | null
  emailVerified: boolean
  /** The provider did not say which addresses the person has, and `email` is a guess: it does not replace a verified one. */
  isFallbackEmail?: boolean
  name: string | null
  /** An https or http address. */
  picture: string | null
  claims: ProfileClaims
  /** The person's groups at the provider, as `groupsClaim` of the provider names them; at most 200 of 255 characters. */
  groups: readonly string[]
  /** The configured group of these that makes the person an admin here; null for none. */
  adminGroup: string | null
}

/** An identity is bound to another issuer than the current one: the provider's name is configured for another server now. */
export class IssuerMismatch extends Error {
  readonly userId: string

  /** @param bound the issuer that the identity is bound to; @param found the issuer of this sign-in. */
  constructor(userId: string, bound: string, found: string | null) {
    super(`the identity is bound to the issuer ${bound}, but this sign-in comes from ${found ?? 'no issuer'}`)
    this.userId = userId
  }
}

export interface FoundUser {
  userId: string
  created: boolean
  blocked: boolean
}

/** The user that an identity links to. */
export async function ownerOf(db: Queryable, key: IdentityKey): Promise<string | undefined> {
  const row = await db.selectFrom('identities').select('user_id').where(isKey(key)).executeTakeFirst()
  return row?.user_id
}

/**
 * The users who have an identity with the same verified address at another provider, and these providers; 100 at most. Blocked users
 * are omitted, so nobody else learns of them. Case is ignored as by the engine's `lower`.
 */
export async function usersOfAddress(db: Queryable, { provider, email }: ProviderIdentity) {
  return (
    db
      .selectFrom('identities')
      .innerJoin('users', 'users.id', 'identities.user_id')
      .select(['identities.user_id as userId', 'identities.provider'])
      .where(sql`lower(identities.email)`, '=', sql`lower(${email})`)
      // A literal: SQLite uses the partial index only then.
      .where(sql<boolean>`identities.email_verified = 1`)
      .where('identities.provider', '<>', provider)
      .where('users.blocked_at', 'is', null)
      .orderBy('identities.provider')
      .orderBy('identities.user_id')
      .limit(100)
      .execute()
  )
}

/** The user's identities, oldest first; a hundred at most. Times of the first and last sign-in are in milliseconds. */
export async function identitiesOf(db: Queryable, userId: string) {
  const rows = await db
    .selectFrom('identities')
    .select(['provider', 'provider_id as providerId', 'email', 'email_verified', 'name', 'picture', 'groups'])
    .select(['created_at as createdAt', 'last_used_at as lastUsedAt'])
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('provider')
    .orderBy('provider_id')
    .limit(100)
    .execute()
  return rows.map(({ email_verified: verified, groups, ...row }) =>
    Object.assign(row, { emailVerified: verified === 1, groups: storedGroups(groups) }),
  )
}

/**
 * Updates a known identity to the provider's current values. A name or an address that it does not send any more stays, with
 * its verification. The user's own row stays as it is. An identity without an
 * issuer is bound to this one. @throws IssuerMismatch when it is bound to another one.
 */
export async function updateKnown(
  tx: Tx,
  identity: ProviderIdentity,
  now: number,
): Promise<FoundUser | undefined> {
  const found = await update(tx, identity, now)
  if (found) return found
  const bound = await tx
    .selectFrom('identities')
    .select(['user_id', 'issuer'])
    .where(isKey(identity))
    .executeTakeFirst()
  if (!bound) return undefined
  if (bound.issuer !== null && bound.issuer !== identity.issuer)
    throw new IssuerMismatch(bound.user_id, bound.issuer, identity.issuer)
  // On PostgreSQL each statement sees what was committed before it: another sign-in inserted the identity between the two.
  return update(tx, identity, now)
}

/** `undefined` when there is no such identity, or it is bound to another issuer. */
async function update(tx: Tx, identity: ProviderIdentity, now: number): Promise<FoundUser | undefined> {
  const { name, email, email_verified: verified, ...asserted } = assertedColumns(identity)
  const addressed = identity.isFallbackEmail
    ? { email: unlessVerified('email', email), email_verified: unlessVerified('email_verified', verified) }
    : { email, email_verified: verified }
  // Apple sends the name only at the first sign-in.
  const values = {
    ...asserted,
    ...(name !== null && { name }),
    ...(email !== null && addressed),
  }
  const row = await tx
    .updateTable('identities')
    .set({
      ...values,
      last_used_at: now,
      issuer: identity.issuer,
      updated_at: changedAt(values, now),
    })
    .where(isKey(identity))
    .where((eb) => eb.or([eb('issuer', 'is', null), eb('issuer', '=', identity.issuer)]))
    .returning((eb) => [
      'user_id',
      eb
        .selectFrom('users')
        .select('blocked_at')
        .whereRef('users.id', '=', 'identities.user_id')
        .as('blocked_at'),
    ])
    .executeTakeFirst()
  return row && { userId: row.user_id, created: false, blocked: row.blocked_at !== null }
}

/** False when the identity exists already. */
export async function insertIdentity(
  tx: Tx,
  userId: string,
  identity: ProviderIdentity,
  now: number,
): Promise<boolean> {
  const inserted = await tx
    .insertInto('identities')
    .values({
      provider: identity.provider,
      provider_id: identity.providerId,
      user_id: userId,
      issuer: identity.issuer,
      ...assertedColumns(identity),
      created_at: now,
      last_used_at: now,
    })
    .onConflict((conflict) => conflict.columns(['provider', 'provider_id']).doNothing())
    .returning('user_id')
    .executeTakeFirst()
  return inserted !== undefined
}

/** The condition for the row of an identity. */
export const isKey =
  ({ provider, providerId }: IdentityKey) =>
  (eb: ExpressionBuilder<Tables, 'identities'>) =>
    eb.and({ provider, provider_id: providerId })

/** The columns of `identities` that the provider asserts anew at each sign-in. */
function assertedColumns(identity: ProviderIdentity) {
  const { email, emailVerified, name, picture, claims, groups, adminGroup } = identity
  return {
    email,
    email_verified: emailVerified ? 1 : 0,
    name,
    picture,
    claims: Object.keys(claims).length > 0 ? JSON.stringify(claims) : null,
    groups: groups.length > 0 ? JSON.stringify(groups) : null,
    admin_group: adminGroup,
  }
}

/** The value, unless the identity's address is verified. */
function unlessVerified<T extends string | number | null>(column: 'email' | 'email_verified', value: T) {
  return sql<T>`case when email_verified = 1 then ${sql.ref(column)} else ${value} end`
}

/** `updated_at` of an identity: now when one of the columns gets another value. */
function changedAt(
  values: Readonly<Record<string, string | number | null | RawBuilder<unknown>>>,
  now: number,
) {
  const differences = Object.entries(values).map(
    ([column, value]) => sql`${sql.ref(column)} is distinct from ${value}`,
  )
  return sql<number | null>`case when ${sql.join(differences, sql` or `)} then ${now} else updated_at end`
}

/** Counts identities by provider and issuer. The issuer is null for identities without a sign-in since issuers are stored. */
export async function countByIssuer(database: Database) {
  return database.reader
    .selectFrom('identities')
    .select(['provider', 'issuer'])
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .groupBy(['provider', 'issuer'])
    .orderBy('provider')
    .orderBy('issuer')
    .limit(1_000)
    .execute()
}

/**
 * Rebinds all identities of a provider from one issuer to another one, and runs `record` in the same transaction. Returns
 * their number.
 */
export async function rebindIssuer(
  database: Database,
  { provider, from, to }: { provider: string; from: string; to: string },
  record: (tx: Tx, count: number) => Promise<void>,
): Promise<number> {
  return database.transaction(async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('identities')
      .set({ issuer: to })
      .where('provider', '=', provider)
      .where('issuer', '=', from)
      .executeTakeFirst()
    const count = Number(numUpdatedRows)
    if (count > 0) await record(tx, count)
    return count
  })
}
