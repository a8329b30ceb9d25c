import type { Users } from '../accounts/users/users.ts'
import type { Queryable } from '../storage/database.ts'

/** The claims about a user that each scope gives (OpenID Connect Core, section 5.4). `groups` is of this service. */
export const claimsByScope = {
  profile: ['name', 'picture', 'updated_at'],
  email: ['email', 'email_verified'],
  groups: ['groups'],
} as const

/** The claims about a user, for id_tokens and the userinfo endpoint. */
export class UserClaims {
  readonly #users: Users
  readonly #reader: Queryable

  constructor(users: Users, reader: Queryable) {
    this.#users = users
    this.#reader = reader
  }

  /**
   * The claims that the scopes give. A claim without a value is missing. `email_verified` is what the provider asserted, and `groups` are
   * those of the provider of the sign-in.
   * @param scope separated by spaces
   */
  async of(
    { userId, provider }: { userId: string; provider: string },
    scope: string,
  ): Promise<Record<string, unknown>> {
    const scopes = new Set(scope.split(' '))
    const names = Object.entries(claimsByScope).flatMap(([name, claims]) => (scopes.has(name) ? claims : []))
    if (names.length === 0) return {}
    const profile = await this.#users.profile(this.#reader, userId, provider)
    if (!profile) return {}
    const values: Record<string, unknown> = {
      name: profile.name,
      picture: profile.picture,
      updated_at: profile.updatedAt === null ? null : Math.floor(profile.updatedAt / 1000),
      email: profile.email,
      email_verified: profile.email === null ? null : profile.emailVerified,
      groups: profile.groups,
    }
    return Object.fromEntries(
      names.filter((name) => values[name] !== null).map((name) => [name, values[name]]),
    )
  }
}
