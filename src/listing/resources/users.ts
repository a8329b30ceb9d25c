import type { AdminRule } from '../../accounts/users/roles.ts'
import { completeList } from '../declaration.ts'
import type { Item, Revision } from '../items.ts'
import type { ListDeclaration } from '../list.ts'
import { userFilters } from './user-filters.ts'
import { isoTime } from '../../runtime/iso-time.ts'

/** Rows that a filtered page counts at most. */
const countAtMost = 10_000

/** GET /users. @param admins what makes a user an admin beside the role of the row */
export function usersList(admins: readonly AdminRule[]): ListDeclaration {
  return {
    ...completeList({
      name: 'users',
      path: '/users',
      table: 'users',
      summary: 'Local users, in the order in which they were created',
      fields: {
        id: { type: 'text', description: 'Local id' },
        email: { type: 'text', nullable: true, description: "The provider's first e-mail address" },
        name: { type: 'text', nullable: true, description: "The provider's display name" },
        provider: { type: 'text', description: 'The identity provider' },
        providerId: { column: 'provider_id', type: 'text', description: "The provider's id of the user" },
        role: {
          type: 'enum',
          values: ['user', 'admin'],
          description: 'Also admin if one of the user’s identities is in ADMIN_IDENTITIES',
        },
        createdAt: { column: 'created_at', type: 'milliseconds', description: 'First sign-in' },
        blockedAt: {
          column: 'blocked_at',
          type: 'milliseconds',
          nullable: true,
          description: 'When an admin blocked the user; null if not',
        },
        lastSeenAt: {
          column: 'last_seen_at',
          type: 'milliseconds',
          nullable: true,
          description:
            'The last sign-in or request, to a minute; null for an imported user who has not signed in',
        },
      },
      // Ids are UUIDs of version 7: they ascend with time.
      key: 'id',
      sort: ['id', 'lastSeenAt'],
      pages: ['offset'],
      keep: true,
      exports: true,
    }),
    filters: userFilters(admins),
    scope: 'users:read',
    choices: false,
    openInDemo: true,
    countAtMost,
  }
}

/** A stored time of 0. */
const never = isoTime(0)

/** Completes the role and the time of the last use. @param listedAdmins the ids of the users that are admins by the settings */
export function usersRevision(listedAdmins: () => Promise<ReadonlySet<string>>): Revision {
  return async () => {
    const admins = await listedAdmins()
    return (user: Item) => ({
      ...user,
      ...(admins.has(String(user['id'])) && { role: 'admin' }),
      ...(user['lastSeenAt'] === never && { lastSeenAt: null }),
    })
  }
}

/** As without settings that make users admins: for what needs no filters. */
export const users = usersList([])
