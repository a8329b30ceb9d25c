import type { Queryable } from '../storage/database.ts'
import type { Role } from '../storage/tables.ts'
import { roleExpression, type AdminRule } from './roles.ts'

/** A user with what the providers of the identities assert about the person. */
export interface UserProfile {
  id: string
  role: Role
  email: string | null
  /** Only true if an identity of this user has this e-mail address and its provider asserts that the person owns it. */
  emailVerified: boolean
  name: string | null
  /** Of the identity that `users.provider` names, else of the identity that was used last. */
  picture: string | null
  /** Of all identities, sorted and without duplicates; at most `maxGroups`. */
  groups: readonly string[]
  /** When one of the fields above last changed by a sign-in, in milliseconds. Changes of the role do not count. */
  updatedAt: number
}

/** The most groups of a profile. */
const maxGroups = 200

/** The identities of one user that are read. */
const maxIdentities = 100

export async function readUserProfile(
  db: Queryable,
  userId: string,
  admins: readonly AdminRule[],
): Promise<UserProfile | undefined> {
  const user = await db
    .selectFrom('users')
    .select(['id', 'email', 'name', 'provider', 'provider_id', 'created_at'])
    .select(roleExpression(admins).as('role'))
    .where('id', '=', userId)
    .executeTakeFirst()
  if (!user) return undefined
  const identities = await db
    .selectFrom('identities')
    .select(['provider', 'provider_id', 'email', 'email_verified', 'picture', 'groups', 'updated_at'])
    .where('user_id', '=', userId)
    .orderBy('last_used_at', 'desc')
    .limit(maxIdentities)
    .execute()
  const { id, role, email, name } = user
  const first = identities.find(
    (one) => one.provider === user.provider && one.provider_id === user.provider_id,
  )
  const groups = new Set(identities.flatMap((one) => storedGroups(one.groups)))
  return {
    id,
    role,
    email,
    emailVerified:
      email !== null && identities.some((one) => one.email_verified === 1 && one.email === email),
    name,
    picture: first?.picture ?? identities.find((one) => one.picture !== null)?.picture ?? null,
    groups: [...groups].toSorted().slice(0, maxGroups),
    updatedAt: Math.max(user.created_at, ...identities.map((one) => one.updated_at ?? 0)),
  }
}

/** The groups of a row of `identities`. */
export function storedGroups(groups: string | null): string[] {
  return groups === null ? [] : (JSON.parse(groups) as string[])
}
