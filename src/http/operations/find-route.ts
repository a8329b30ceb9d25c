import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import { readText } from '../../paging/filter-parameters.ts'
import { holdsScope } from '../access/scopes.ts'
import type { App } from '../app.ts'
import { foundKinds, mostFound, type Finder, type Found } from '../finder.ts'
import { NullableText, optionalText } from '../schemas/schemas.ts'

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
    {
      config: { access: { scope: scopes }, quiet: true },
      schema: {
        tags: ['operations'],
        summary: 'Find events, deliveries, subscribers, people, apps, keys, sources and handlers',
        description: `By an id, by the beginning of an e-mail address or a person’s name, or by a part of another name. At most ${mostFound} of each kind, and only kinds that the scopes of the caller cover.`,
        querystring: Type.Object({ q: optionalText('What to find') }),
        response: { 200: Type.Object({ data: Type.Array(Item) }) },
      },
    },
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
