import { Type } from 'typebox'
import type { Clock } from '../../runtime/clock.ts'
import type { App } from '../app.ts'
import { attentionTopics, type Attention, type FindAttention } from '../attention.ts'
import { SharedAnswers } from '../caching/shared-answers.ts'
import { DateTime, nullable } from '../schemas/schemas.ts'
import { isoTimeOrNull } from '../../runtime/iso-time.ts'

/** Milliseconds for which an answer is given again. */
const cachedFor = 3_000

const Item = Type.Object({
  kind: Type.String({ description: 'A stable name, such as `handler-failing`' }),
  severity: Type.Union([Type.Literal('error'), Type.Literal('warning')], {
    description: '`error`: something fails now. `warning`: it will, unless you act',
  }),
  text: Type.String({ description: 'What is wrong, in a sentence' }),
  since: nullable(DateTime),
  about: Type.Object({
    topic: Type.Enum([...attentionTopics]),
    id: Type.String({ description: 'The name or id of what it is about' }),
  }),
})

/** Finds everything that an operator should look at, the urgent first. */
export type FindAllAttention = () => Promise<Attention[]>

/** Declares `GET /attention`: what an operator should look at. Callers of the returned function share its answers. */
export function attentionRoute(app: App, clock: Clock, find: readonly FindAttention[]): FindAllAttention {
  const answers = new SharedAnswers<Attention[]>(clock, cachedFor)
  const findShared = () => answers.get('', () => findAll(find, clock.now()))
  app.get(
    '/attention',
    {
      config: { access: { scope: 'operate' }, openInDemo: true, quiet: true },
      schema: {
        tags: ['operations'],
        summary: 'Open alerts, most urgent first',
        description:
          'Failing handlers and subscribers, more rejected webhooks, secrets and API keys that end soon, work that stalls, volumes that fill and the spool. At most 20 of each kind. Renewed every three seconds.',
        response: { 200: Type.Object({ data: Type.Array(Item) }) },
      },
    },
    async () => {
      const found = await findShared()
      return { data: found.map(present) }
    },
  )
  return findShared
}

/** One after the other, so that a page takes one connection of the pool. */
async function findAll(find: readonly FindAttention[], now: number): Promise<Attention[]> {
  const found: Attention[] = []
  for (const one of find) found.push(...(await one(now)))
  const order = { error: 0, warning: 1 }
  return found.toSorted(
    (one, other) => order[one.severity] - order[other.severity] || (one.since ?? 0) - (other.since ?? 0),
  )
}

function present({ kind, severity, text, since, about }: Attention) {
  return { kind, severity, text, since: isoTimeOrNull(since), about }
}
