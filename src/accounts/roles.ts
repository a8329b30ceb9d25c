import { sql, type RawBuilder } from 'kysely'
import type { Role } from '../storage/tables.ts'

/** The key of an identity at its provider. An e-mail address never identifies a user. */
export interface IdentityKey {
  provider: string
  providerId: string
}

/** Whether a row of `identities` is in ADMIN_IDENTITIES (`admins`), as an expression. */
export function isAdminIdentity(admins: readonly IdentityKey[]): RawBuilder<boolean> {
  if (admins.length === 0) return sql<boolean>`1 = 0`
  const listed = admins.map(
    ({ provider, providerId }) =>
      sql`(identities.provider = ${provider} and identities.provider_id = ${providerId})`,
  )
  return sql<boolean>`(${sql.join(listed, sql` or `)})`
}

/**
 * The role of a row of `users`, as an expression: its own, or admin when one of the user's identities is in
 * ADMIN_IDENTITIES. Each request computes it. It is not stored, so that an identity that is removed from the setting loses
 * the role at the next start.
 */
export function roleExpression(admins: readonly IdentityKey[]): RawBuilder<Role> {
  if (admins.length === 0) return sql<Role>`users.role`
  return sql<Role>`case when users.role = 'admin' or exists (
    select 1 from identities where identities.user_id = users.id and ${isAdminIdentity(admins)}
  ) then 'admin' else 'user' end`
}
