import { isoTime, times, type PageCall } from './call.ts'
import { clientId } from './client.ts'
import { day, idOf, type Shape } from './shape.ts'

/** Users and apps. */
export function peopleCalls({ users, now }: Shape): PageCall[] {
  const list = (name: string, query: string): PageCall => ({
    name: `users ${name}`,
    paths: [`/users?limit=50&${query}`],
  })
  const seen = isoTime(now - 7 * day)
  const user = (index: number): string => idOf((index * 997) % users)
  const of = (what: string): PageCall => ({
    name: `user ${what}`.trim(),
    // The first one has a thousand sessions and a tenth of the audit log.
    paths: times((index) => `/users/${index % 2 ? user(index) : user(0)}${what === '' ? '' : `/${what}`}`),
  })
  return [
    list('', 'sort=-id'),
    list('last page', `sort=-id&page=${Math.floor(users / 50)}`),
    list('by last use', 'sort=-lastSeenAt'),
    list('q of a letter', 'q=a&sort=-id'),
    list('q of a name', 'q=ada%2042&sort=-id'),
    list('q of nobody', 'q=zzzz&sort=-id'),
    list('q by last use', 'q=ada&sort=-lastSeenAt'),
    list('admins', 'role=admin&sort=-id'),
    list('of role user', 'role=user&sort=-lastSeenAt'),
    list('blocked', 'blocked=true&sort=-id'),
    list('not blocked', 'blocked=false&sort=-lastSeenAt'),
    list('of a provider', 'provider=google&sort=-lastSeenAt'),
    list('seen lately', `lastSeenSince=${seen}&sort=-id`),
    list('not seen lately', `lastSeenUntil=${seen}&sort=-id`),
    list(
      'of all filters',
      `q=ada&role=user&blocked=false&provider=google&lastSeenSince=${seen}&sort=-lastSeenAt`,
    ),
    of(''),
    of('sessions'),
    of('identities'),
    of('audit?limit=50'),
    of('apps'),
    { name: 'clients', paths: ['/clients?limit=50'] },
    { name: 'client', paths: [`/clients/${clientId}`] },
    { name: 'client sign-ins', paths: [`/clients/${clientId}/sign-ins?limit=50`] },
    { name: 'providers', paths: ['/providers'] },
  ]
}
