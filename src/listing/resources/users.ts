import type { AdminRule } from '../../accounts/users/roles.ts'
import type { Item, Revision } from '../items.ts'
import type { Filter, KindRules, ListDeclaration } from '../list.ts'
import { specified } from './products-and-posts.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import type { KeyValue } from '../../paging/cursor.ts'
import type { Engine } from '../../storage/query-runner.ts'
import { isStorableText } from '../../storage/sql-text.ts'
import { trueOrFalse } from '../filters.ts'

/** Users that a search finds at most by each of e-mail address, name and id, so that a short text costs no more than a long one. */
const mostFound = 1_000
/** UTF-16 code units of a search; the rest is ignored. */
const longestSearch = 320
/** Sorts after all other characters, by bytes. */
const highest = '\u{10ffff}'

/** The filters of GET /users. @param admins what makes a user an admin beside the role of the row */
function userFilters(admins: readonly AdminRule[]): Filter[] {
  return [
    {
      parameter: 'q',
      field: 'email',
      kind: 'prefix',
      rules: searchRules,
      description: `Keeps users whose e-mail address, name or id begins with this text, in upper or lower case, and the user of an identity \`provider:providerId\`. On SQLite, only A to Z are the same in both cases. At most ${mostFound} are found by each.`,
    },
    {
      parameter: 'role',
      field: 'role',
      kind: 'equals',
      rules: roleRules(admins),
      description: 'Keeps users with this role. Any other value has no effect.',
    },
    {
      parameter: 'blocked',
      field: 'blockedAt',
      kind: 'flag',
      rules: blockedRules,
      description:
        '`true` keeps blocked users, `false` those who may sign in. Any other value has no effect.',
    },
    { parameter: 'provider', field: 'provider', kind: 'equals', description: '' },
    {
      parameter: 'lastSeenSince',
      field: 'lastSeenAt',
      kind: 'atLeast',
      description: 'Keeps users who were seen at this time or later.',
    },
    {
      parameter: 'lastSeenUntil',
      field: 'lastSeenAt',
      kind: 'below',
      description: 'Keeps users who were not seen at this time or later.',
    },
  ]
}

const blockedRules: KindRules = {
  read: trueOrFalse({ values: [], variant: 'blocked' }, { values: [], variant: 'not blocked' }),
  sql: ({ column, applied }) => `${column} is ${applied.variant === 'blocked' ? 'not null' : 'null'}`,
}

/** The role that the list shows: that of the row, or admin by an identity. */
function roleRules(admins: readonly AdminRule[]): KindRules {
  const values: KeyValue[] = admins.flatMap((rule) => [
    rule.provider,
    'providerId' in rule ? rule.providerId : rule.group,
  ])
  const identities = (plain: () => string): string =>
    `select user_id from identities where ${admins
      .map((rule) => {
        const provider = `provider = ${plain()}`
        return `(${provider} and ${'providerId' in rule ? 'provider_id' : 'admin_group'} = ${plain()})`
      })
      .join(' or ')}`
  return {
    read: (text) => (text === 'admin' || text === 'user' ? { values, variant: text } : { unreadable: 'all' }),
    sql({ plain, applied }) {
      const others = admins.length === 0 ? undefined : identities(plain)
      // A union instead of `or`: both engines then seek in the index of admins.
      if (applied.variant === 'admin')
        return `id in (select id from users where role = 'admin'${others === undefined ? '' : ` union ${others}`})`
      return `role = 'user'${others === undefined ? '' : ` and id not in (${others})`}`
    },
  }
}

const searchRules: KindRules = {
  read(text) {
    const searched = text.slice(0, longestSearch).trim()
    if (!isStorableText(searched)) return 'none'
    if (searched === '') return 'all'
    const colon = searched.indexOf(':')
    const identity = [searched.slice(0, Math.max(0, colon)), searched.slice(colon + 1)]
    const range = [searched, searched + highest]
    return { values: [...range, ...range, ...range, ...identity] }
  },
  sql({ plain, engine }) {
    const found = ['email', 'name'].map((column) => {
      const key = bytes(`lower(${column})`, engine)
      // The database lowers both sides, because SQLite lowers ASCII letters only.
      return `${key} >= ${bytes(`lower(${plain()})`, engine)} and ${key} < ${bytes(`lower(${plain()})`, engine)}`
    })
    const ids = `id >= ${bytes(`lower(${plain()})`, engine)} and id < ${bytes(`lower(${plain()})`, engine)}`
    const parts = [...found, ids].map(
      (condition, index) =>
        `select id from (select id from users where ${condition} limit ${mostFound}) as found${index}`,
    )
    const identity = `select user_id from identities where provider = ${plain()} and provider_id = ${plain()}`
    const all = [...parts, identity].join(' union ')
    // As an array, PostgreSQL finds the ids first: it would join them with a walk through all users in the order of the page.
    return engine === 'postgres' ? `id = any(array(${all}))` : `id in (${all})`
  },
}

/** A text as an index over its bytes compares it. */
function bytes(expression: string, engine: Engine): string {
  return engine === 'postgres' ? `${expression} collate "C"` : expression
}

/** Rows that a filtered page counts at most. */
const countAtMost = 10_000

/** GET /users. @param admins what makes a user an admin beside the role of the row */
export function usersList(admins: readonly AdminRule[]): ListDeclaration {
  return {
    ...specified({
      name: 'users',
      path: '/users',
      table: 'users',
      summary: 'Users, oldest first',
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
