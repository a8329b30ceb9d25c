import { sql, type RawBuilder } from 'kysely'
import type { Role } from '../storage/tables.ts'

/** What links an account to a provider: never an e-mail address. */
export interface IdentityKey {
  provider: string
  providerId: string
}

/**
 * The role of a row of `users`, as an expression for queries that have that table: its own, or admin when one of the
 * user's identities is in ADMIN_IDENTITIES. It is worked out at each request and not copied into the row, so that an
 * identity that is taken off the list loses the role with the next start.
 */
export function roleExpression(admins: readonly IdentityKey[]): RawBuilder<Role> {
  if (admins.length === 0) return sql<Role>`users.role`
  const listed = admins.map(
    ({ provider, providerId }) => sql`(i.provider = ${provider} and i.provider_id = ${providerId})`,
  )
  return sql<Role>`case when users.role = 'admin' or exists (
    select 1 from identities i where i.user_id = users.id and (${sql.join(listed, sql` or `)})
  ) then 'admin' else 'user' end`
}
