import { Type } from 'typebox'
import { closedObject, DateTime, nullable } from '../../http/schemas/schemas.ts'
import { isoTimeOrNull } from '../../runtime/iso-time.ts'
import { slots } from '../activity/activity.ts'
import { type Activities } from '../activity/read.ts'
import { urlOf as addressOf, withoutCredentials } from '../forward-target.ts'
import { reasons, type Reason } from '../rejections/reasons.ts'
import { setUps, stepsOf } from '../schemes/set-up.ts'
import type { Scheme } from '../schemes/scheme.ts'
import { canSign, type SampleParts } from './sample.ts'

export interface SourceRouteParts extends SampleParts {
  sources: ReadonlyMap<string, Scheme>
}

export const day = slots.source.retention

export const Source = closedObject({
  name: Type.String(),
  url: Type.String({ description: 'The URL to register at the sender' }),
  scheme: Type.String({ description: 'The preset, or `hmac`' }),
  label: Type.String({ description: 'The name of the sender' }),
  steps: Type.Array(Type.String(), { description: 'What to do at the sender' }),
  docs: nullable(Type.String(), 'The sender’s own documentation'),
  exampleType: Type.String({ description: 'The type of a typical event' }),
  hasSecret: Type.Boolean(),
  canSign: Type.Boolean({ description: 'Whether `POST /sources/{name}/sample` can sign a sample' }),
  answersChallenges: Type.Boolean({
    description: 'Whether a GET by which the sender checks the URL is answered',
  }),
  forwardTo: nullable(Type.String(), 'The address that its events are posted to, without its query'),
  rateLimit: nullable(Type.Number(), 'Events per second'),
  lastEventAt: nullable(DateTime),
  lastRefusedAt: nullable(DateTime),
  day: Type.Object(
    {
      accepted: Type.Integer({ description: 'Acknowledged webhooks, with duplicates' }),
      duplicates: Type.Integer({ description: 'Those whose event was stored already' }),
      refused: Type.Integer(),
    },
    { description: 'Of the last 24 hours, within two seconds' },
  ),
})

const Refusal = Type.Object({
  reason: Type.String(),
  meaning: Type.String({ description: 'The reason in a sentence' }),
  advice: Type.String({ description: 'What to do' }),
  count: Type.Integer(),
  lastAt: nullable(DateTime),
})

export const SourceDetail = closedObject({
  ...Source.properties,
  refusals: Type.Array(Refusal, {
    description: 'Of the last 24 hours, by reason, the most frequent first',
  }),
  slots: Type.Array(
    Type.Object({
      at: DateTime,
      accepted: Type.Integer(),
      duplicates: Type.Integer(),
      refused: Type.Integer(),
    }),
    { description: 'The last 24 hours in quarters of an hour; those without a webhook are left out' },
  ),
})

export function viewSource(
  parts: SourceRouteParts,
  name: string,
  scheme: Scheme,
  activity: Activities | undefined,
) {
  const { clock, urlOf } = parts
  const setUp = setUps[scheme.name]
  const url = urlOf(name)
  const { forwardTo } = scheme
  const lastRefused = [...(activity?.lastAt ?? [])].filter(([counter]) => isRefusal(counter))
  return {
    name,
    url,
    scheme: scheme.name,
    label: setUp?.label ?? scheme.name,
    steps: stepsOf(name, scheme),
    docs: setUp?.docs ?? null,
    exampleType: setUp?.exampleType ?? `${name}.sample`,
    hasSecret: scheme.hasSecret,
    canSign: canSign(name, scheme, clock.now(), url),
    answersChallenges: scheme.ask !== undefined,
    forwardTo: forwardTo === undefined ? null : withoutCredentials(addressOf(forwardTo)),
    rateLimit: scheme.rateLimit ?? null,
    lastEventAt: isoTimeOrNull(activity?.lastAt.get('accepted')),
    lastRefusedAt: isoTimeOrNull(
      lastRefused.length === 0 ? null : Math.max(...lastRefused.map(([, at]) => at)),
    ),
    day: {
      accepted: activity?.recent.get('accepted') ?? 0,
      duplicates: activity?.recent.get('duplicate') ?? 0,
      refused: sumOfRefused(activity?.recent ?? []),
    },
  }
}

const isRefusal = (counter: string): counter is Reason => Object.hasOwn(reasons, counter)

export function sumOfRefused(counts: Iterable<[string, number]>): number {
  let sum = 0
  for (const [counter, count] of counts) if (isRefusal(counter)) sum += count
  return sum
}

export function refusalsOf(activity: Activities | undefined) {
  return [...(activity?.recent ?? [])]
    .filter((entry): entry is [Reason, number] => isRefusal(entry[0]))
    .map(([reason, count]) => ({
      reason,
      meaning: reasons[reason].meaning,
      advice: reasons[reason].advice,
      count,
      lastAt: isoTimeOrNull(activity?.lastAt.get(reason)),
    }))
    .toSorted((a, b) => b.count - a.count)
}
