import type { InferResult } from 'kysely'
import { buildOnce } from '../../storage/built-once.ts'
import type { Queryable } from '../../storage/database.ts'
import { roleExpression, type AdminRule } from './roles.ts'

/**
 * The OpenID standard claims of the scope `profile` that identities have as the provider sent them, beside name and picture
 * (OpenID Connect Core, sections 5.1 and 5.4). They are for display: people can change most of them at their providers.
 */
export const profileClaims = [
  'preferred_username',
  'given_name',
  'family_name',
  'middle_name',
  'nickname',
  'locale',
  'zoneinfo',
  'gender',
  'birthdate',
  'profile',
  'website',
] as const

/** The known claims by name; 4 KiB of JSON at most. */
export type ProfileClaims = Readonly<Partial<Record<(typeof profileClaims)[number], string>>>

/** The most groups of a profile. */
const maxGroups = 200

/** The identities of one user that are read. */
const maxIdentities = 100

/** What the profile needs of a user and, in one row for each, of their identities, the one that was used last first. */
function profileStatement(admins: readonly AdminRule[]) {
  return buildOnce((db, { userId }: { userId: string }) =>
    db
      .selectFrom('users')
      .leftJoin('identities', 'identities.user_id', 'users.id')
      .select([
        'users.id as id',
        'users.email as userEmail',
        'users.name as name',
        'users.created_at as created_at',
        'users.groups as userGroups',
      ])
      .select(['users.provider as userProvider', 'users.provider_id as userProviderId'])
      .select(roleExpression(admins).as('role'))
      .select(['identities.provider as provider', 'identities.provider_id as provider_id'])
      .select(['identities.email as email', 'identities.email_verified as email_verified'])
      .select(['identities.picture as picture', 'identities.claims as claims', 'identities.groups as groups'])
      .select(['identities.created_at as linked_at', 'identities.updated_at as updated_at'])
      .where('users.id', '=', userId)
      .orderBy('identities.last_used_at', 'desc')
      .limit(maxIdentities),
  )
}

type ProfileRow = InferResult<ReturnType<ReturnType<typeof profileStatement>>>[number]

/**
 * Reads what the service knows about a user, for tokens, headers and pages; `undefined` when there is no such user. With the provider of a
 * sign-in, only its groups are given: two providers may use one name for two groups, and a provider at which the person does not sign in
 * does not tell whether they are still a member.
 */
export function userProfileReader(admins: readonly AdminRule[]) {
  const statement = profileStatement(admins)
  return async (db: Queryable, userId: string, provider?: string) =>
    profileOf((await db.executeQuery(statement(db, { userId }))).rows, provider)
}

/** A user with what the providers of the identities assert about the person. */
function profileOf(rows: readonly ProfileRow[], provider: string | undefined) {
  const [user] = rows
  if (!user) return undefined
  // A user without an identity has one row without them.
  const identities = rows.filter(({ provider }) => provider !== null)
  const { id, role, userEmail: email, name } = user
  const first = identities.find(
    (one) => one.provider === user.userProvider && one.provider_id === user.userProviderId,
  )
  const named = identities.filter((one) => provider === undefined || one.provider === provider)
  const ownGroups = storedGroups(user.userGroups)
  const groups = new Set([...ownGroups, ...named.flatMap((one) => storedGroups(one.groups))])
  return {
    id,
    role,
    email,
    /** Only true if an identity of this user has this e-mail address and its provider asserts that the person owns it. */
    emailVerified:
      email !== null && identities.some((one) => one.email_verified === 1 && one.email === email),
    name,
    /** Of the identity that `users.provider` names, else of the identity that was used last. */
    picture: first?.picture ?? identities.find((one) => one.picture !== null)?.picture ?? null,
    /** All from one identity, chosen as for the picture: claims of two identities are not mixed. */
    claims: storedClaims(first?.claims ?? identities.find((one) => one.claims !== null)?.claims ?? null),
    /** `ownGroups`, and those of all identities or only of those at the given provider; sorted, at most `maxGroups`. */
    groups: [...groups].toSorted().slice(0, maxGroups),
    /** Those that an invitation or an admin gave. */
    ownGroups,
    /** When one of the fields above last changed, in milliseconds. Changes of the role and of `ownGroups` do not count. */
    updatedAt: Math.max(user.created_at, ...identities.map((one) => one.updated_at ?? one.linked_at ?? 0)),
  }
}

/** The claims of a row of `identities`. */
function storedClaims(claims: string | null): ProfileClaims {
  return claims === null ? {} : (JSON.parse(claims) as ProfileClaims)
}

/** The groups of a row of `identities`, `users` or `invitations`. */
export function storedGroups(groups: string | null): string[] {
  return groups === null ? [] : (JSON.parse(groups) as string[])
}
