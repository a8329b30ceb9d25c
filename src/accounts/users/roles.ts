import { sql, type RawBuilder } from 'kysely'
import type { Role } from '../../storage/tables.ts'

/** The key of an identity at its provider. An e-mail address never identifies a user. */
export interface IdentityKey {
  provider: string
  providerId: string
}

/** A group at a provider whose members are admins here. */
export interface AdminGroup {
  provider: string
  group: string
}

/** What makes a user an admin besides the role of the row: an identity of ADMIN_IDENTITIES, or membership in a group. */
export type AdminRule = IdentityKey | AdminGroup

/** The credentials of signed-in users, which name the provider of their sign-in: sessions of browsers, and token families of apps. */
export type CredentialTable = 'sessions' | 'token_families'

/**
 * Whether a row of `identities` makes its user an admin, as an expression.
 * @param credential a group counts only for credentials of a sign-in with its provider: at no other one does the provider tell
 * whether the user is still a member
 */
export function isAdminIdentity(
  admins: readonly AdminRule[],
  credential?: CredentialTable,
): RawBuilder<boolean> {
  if (admins.length === 0) return sql<boolean>`1 = 0`
  const listed = admins.map((rule) => {
    const ofProvider = sql`identities.provider = ${rule.provider}`
    if ('providerId' in rule) return sql`(${ofProvider} and identities.provider_id = ${rule.providerId})`
    const member = sql`${ofProvider} and identities.admin_group = ${rule.group}`
    if (credential === undefined) return sql`(${member})`
    return sql`(${member} and ${sql.ref(`${credential}.provider`)} = ${rule.provider})`
  })
  return sql<boolean>`(${sql.join(listed, sql` or `)})`
}

/**
 * The role of a row of `users`, as an expression: its own, or admin when one of the user's identities makes it so. Each request
 * computes it. It is not stored, so that an identity or a group that is removed from the configuration loses the role at the next
 * start.
 */
export function roleExpression(admins: readonly AdminRule[], credential?: CredentialTable): RawBuilder<Role> {
  if (admins.length === 0) return sql<Role>`users.role`
  return sql<Role>`case when users.role = 'admin' or exists (
    select 1 from identities where identities.user_id = users.id and ${isAdminIdentity(admins, credential)}
  ) then 'admin' else 'user' end`
}
