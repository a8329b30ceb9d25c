import { holdsScope } from './access/access.ts'
import type { Scope } from './access/principal.ts'
import { Type } from 'typebox'
import { Problem } from '../errors.ts'
import { readText } from '../paging/parameters.ts'
import { type App, route } from './app.ts'
import { NullableText, optionalText } from './schemas/schemas.ts'

/** What the search of all things finds. */
const foundKinds = [
  'event',
  'order-key',
  'delivery',
  'subscriber',
  'customer',
  'event-type',
  'source',
  'handler',
  'user',
  'session',
  'app',
  'key',
] as const

export interface Found {
  kind: (typeof foundKinds)[number]
  /** By which its page is found. */
  id: string
  title: string
  /** More about it, for one line. */
  detail: string | null
}

/** What one module contributes to the search of all things. */
export interface Finder {
  /** The scope that a caller needs to see it. */
  readonly scope: Scope
  /**
   * Finds a few things by an id, or by the beginning or a part of a name, by indexes or among a bounded number of rows.
   * @param text without spaces at its ends, and not empty
   */
  find(text: string): Promise<Found[]>
}

/** Things of one kind that one search shows. */
export const mostFound = 5

/** Whether a name contains a text, ignoring case. */
export function contains(name: string | null | undefined, text: string): boolean {
  return name?.toLowerCase().includes(text.toLowerCase()) === true
}

const Item = Type.Object({
  kind: Type.Enum([...foundKinds]),
  id: Type.String({ description: 'The id of its page' }),
  title: Type.String(),
  detail: NullableText,
})

/** GET /search: one box for everything that has an id or a name. */
export function findRoute(app: App, finders: readonly Finder[]): void {
  const scopes = [...new Set(finders.map(({ scope }) => scope))]
  app.get(
    '/search',
    route(
      { scope: scopes },
      ['operations'],
      'Find events, deliveries, subscribers, people, apps, keys, sources and handlers',
      {
        description: `By an id, by the beginning of an e-mail address or a person’s name, or by a part of another name. At most ${mostFound} of each kind, and only kinds that the scopes of the caller cover.`,
        querystring: Type.Object({ q: optionalText('What to find') }),
        response: { 200: Type.Object({ data: Type.Array(Item) }) },
      },
      { quiet: true },
    ),
    async ({ query, principal }) => {
      const text = readText(query.q ?? '', 'q').trim()
      if (!principal) throw new Problem('not-signed-in')
      if (text === '') return { data: [] }
      const allowed = finders.filter(
        ({ scope }) => principal.role === 'admin' || holdsScope(principal.scopes ?? [], scope),
      )
      const found = (await Promise.all(allowed.map((finder) => finder.find(text)))).flat()
      return { data: firstOfEach(found) }
    },
  )
}

/** A few of each kind, in the order of the kinds. */
function firstOfEach(found: readonly Found[]): Found[] {
  return foundKinds.flatMap((kind) => found.filter((one) => one.kind === kind).slice(0, mostFound))
}
