import { type Static, Type } from 'typebox'
import { auditOrigin, type AuditOrigin } from '../accounts/audit/audit.ts'
import { Problem } from '../errors.ts'
import { type App, route } from '../http/app.ts'
import { closedObject, DateTime, listSchema, nullable } from '../http/schemas/schemas.ts'
import { isoTime, isoTimeOrNull } from '../runtime/iso-time.ts'
import { type Activities, readActivity, slots } from './activity.ts'
import type { Scheme } from './schemes/scheme.ts'
import { urlOf as addressOf, withoutCredentials } from './forward.ts'
import { type Reason, reasons } from './rejections/reasons.ts'
import { setUps, stepsOf } from './schemes/set-up.ts'
import { newId } from '../crypto/ids.ts'
import { sleep } from '../runtime/clock.ts'
import type { ReceivingRouteParts } from './routes.ts'
import { signFor } from './samples/sign-for.ts'

/** Milliseconds between two looks for the number of a stored sample, and the number of looks: a spooled event gets it later. */
const pause = 25
const looks = 40

/**
 * Sends a signed sample through the verification and the storing of its source. Its handlers run as for any event.
 * @returns `id` is null if the event is still in the spool
 * @throws Problem `unprocessable` if no sample can be signed for this source; what rejects a webhook
 */
async function sendSample(
  parts: ReceivingRouteParts,
  name: string,
  given: SampleOptions,
  origin: AuditOrigin,
): Promise<Static<typeof Sample>> {
  const { database, record, endpoints } = parts
  const signed = signSample(parts, name, find(parts, name), given)
  if (!signed)
    throw new Problem('unprocessable', {
      detail: `No sample can be signed for the source ${name}: its sender signs with a key pair, or its scheme differs from that of the presets.`,
    })
  await database.transaction((tx) => record(tx, { action: 'source.sampled', target: name, ...origin }))
  const { body, headers } = signed
  const url = urlOf(parts, name)
  const { eventId, type } = await endpoints
    .get(name)!
    .receiveSample({ rawBody: Buffer.from(body), headers, url })
  return { id: await numberOf(parts, name, eventId), eventId, type }
}

interface SampleOptions {
  type?: string | undefined
  data?: unknown
}

/** Undefined if a sample of the source cannot be signed here. */
function signSample(
  parts: ReceivingRouteParts,
  name: string,
  scheme: Scheme,
  { type = exampleTypeOf(name, scheme), data = { sample: true } }: SampleOptions,
) {
  const now = parts.clock.now()
  return signFor(scheme, { type, id: newId(now), now, data, url: urlOf(parts, name) })
}

function exampleTypeOf(name: string, scheme: Scheme): string {
  return setUps[scheme.name]?.exampleType ?? `${name}.sample`
}

async function numberOf({ database, clock }: ReceivingRouteParts, source: string, eventId: string) {
  for (let look = 0; look < looks; look += 1) {
    const row = await database.reader
      .selectFrom('event_queue')
      .select('event')
      .where('source', '=', source)
      .where('event_id', '=', eventId)
      .executeTakeFirst()
    if (row) return row.event
    await sleep(clock, pause)
  }
  return null
}

const tags = ['receiving']

const Sample = closedObject({
  id: nullable(Type.Integer(), 'The number in the event log; null while the event is in the spool'),
  eventId: Type.String(),
  type: Type.String(),
})

const Name = Type.Object({ name: Type.String() })

/** Shows the sources, and sends them samples. */
export function sourceRoutes(app: App, parts: ReceivingRouteParts): void {
  listRoute(app, parts)
  detailRoute(app, parts)
  sampleRoute(app, parts)
}

function listRoute(app: App, parts: ReceivingRouteParts): void {
  app.get(
    '/sources',
    route(
      { scope: 'webhooks:read' },
      tags,
      'Webhook sources, with their activity of the last 24 hours',
      { response: { 200: listSchema(Source) } },
      { quiet: true },
    ),
    async () => {
      const { database, clock, sources } = parts
      const activities = await readActivity(database.slowReader, 'source', { since: clock.now() - day })
      return {
        data: Array.from(sources, ([name, scheme]) => viewSource(parts, name, scheme, activities.get(name))),
      }
    },
  )
}

function detailRoute(app: App, parts: ReceivingRouteParts): void {
  app.get(
    '/sources/:name',
    route(
      { scope: 'webhooks:read' },
      tags,
      'One webhook source',
      { params: Name, response: { 200: SourceDetail } },
      { quiet: true },
    ),
    async ({ params: { name } }) => {
      const scheme = find(parts, name)
      const { database, clock } = parts
      const activities = await readActivity(database.slowReader, 'source', {
        since: clock.now() - day,
        name,
      })
      const activity = activities.get(name)
      return {
        ...viewSource(parts, name, scheme, activity),
        refusals: refusalsOf(activity),
        slots: (activity?.slots ?? []).map(({ at, counts }) => ({
          at: isoTime(at),
          accepted: counts['accepted'] ?? 0,
          duplicates: counts['duplicate'] ?? 0,
          refused: sumOfRefused(Object.entries(counts)),
        })),
      }
    },
  )
}

function sampleRoute(app: App, parts: ReceivingRouteParts): void {
  app.post(
    '/sources/:name/sample',
    {
      // A sample may have any content, so that sending one is as much as having the source's secret.
      config: { access: { scope: 'admin' }, optionalBody: true },
      schema: {
        tags,
        summary: 'Send a signed sample to a source',
        description:
          'The sample is signed with the secret of the source, verified and stored as any webhook, and its handlers run. Rejected with 422 for senders that sign with a key pair.',
        params: Name,
        body: closedObject({
          type: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: 200,
              description: 'Default: `exampleType` of the source',
            }),
          ),
          data: Type.Optional(
            Type.Record(Type.String(), Type.Unknown(), {
              description: 'The fields of the event. Default: `{"sample":true}`',
            }),
          ),
        }),
        response: { 201: Sample },
      },
    },
    async (request, reply) => {
      const stored = await sendSample(parts, request.params.name, request.body, auditOrigin(request))
      return reply.code(201).send(stored)
    },
  )
}

function urlOf({ baseUrl }: ReceivingRouteParts, source: string): string {
  return `${baseUrl()}/webhooks/${source}`
}

function find({ sources }: ReceivingRouteParts, name: string): Scheme {
  const scheme = sources.get(name)
  if (!scheme) throw new Problem('not-found', { detail: 'There is no source of this name.' })
  return scheme
}

const day = slots.source.retention

const Source = closedObject({
  name: Type.String(),
  url: Type.String({ description: 'The URL to register at the sender' }),
  scheme: Type.String({ description: 'The preset, or `hmac`' }),
  label: Type.String({ description: 'The name of the sender' }),
  steps: Type.Array(Type.String(), { description: 'What to do at the sender' }),
  docs: nullable(Type.String(), 'The sender’s own documentation'),
  exampleType: Type.String({ description: 'The type of a typical event' }),
  hasSecret: Type.Boolean(),
  weakness: nullable(Type.String(), 'What is weak about how its sender proves itself, or about its secret'),
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
      dropped: Type.Integer({ description: 'Verified webhooks that the source’s `drop` did not store' }),
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

const SourceDetail = closedObject({
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

function viewSource(
  parts: ReceivingRouteParts,
  name: string,
  scheme: Scheme,
  activity: Activities | undefined,
) {
  const setUp = setUps[scheme.name]
  const { forwardTo } = scheme
  const lastRefused = [...(activity?.lastAt ?? [])].filter(([counter]) => isRefusal(counter))
  return {
    name,
    url: urlOf(parts, name),
    scheme: scheme.name,
    label: setUp?.label ?? scheme.name,
    steps: stepsOf(name, scheme),
    docs: setUp?.docs ?? null,
    exampleType: exampleTypeOf(name, scheme),
    hasSecret: scheme.hasSecret,
    weakness: weaknessOf(scheme),
    canSign: signSample(parts, name, scheme, {}) !== undefined,
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
      dropped: activity?.recent.get('dropped') ?? 0,
      refused: sumOfRefused(activity?.recent ?? []),
    },
  }
}

function weaknessOf({ caution, weakness }: Scheme): string | null {
  const parts = [caution, weakness && `has a secret that ${weakness.text}`].filter(
    (part) => part !== undefined,
  )
  return parts.length === 0 ? null : `This source ${parts.join(', and ')}.`
}

const isRefusal = (counter: string): counter is Reason => Object.hasOwn(reasons, counter)

function sumOfRefused(counts: Iterable<[string, number]>): number {
  let sum = 0
  for (const [counter, count] of counts) if (isRefusal(counter)) sum += count
  return sum
}

function refusalsOf(activity: Activities | undefined) {
  return [...(activity?.recent ?? [])]
    .filter((entry): entry is [Reason, number] => isRefusal(entry[0]))
    .map(([reason, count]) => {
      const lastAt = isoTimeOrNull(activity?.lastAt.get(reason))
      return Object.assign({ reason, count, lastAt }, reasons[reason])
    })
    .toSorted((a, b) => b.count - a.count)
}
