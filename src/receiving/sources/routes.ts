import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { closedObject, listSchema, nullable } from '../../http/schemas/schemas.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { readActivity } from '../activity/read.ts'
import type { Scheme } from '../schemes/scheme.ts'
import { sendSample } from './sample.ts'
import {
  type SourceRouteParts,
  day,
  Source,
  SourceDetail,
  viewSource,
  sumOfRefused,
  refusalsOf,
} from './view.ts'

const tags = ['receiving']

const Sample = closedObject({
  id: nullable(Type.Integer(), 'The number in the event log; null while the event is in the spool'),
  eventId: Type.String(),
  type: Type.String(),
})

const Name = Type.Object({ name: Type.String() })

/** Shows the sources, and sends them samples. */
export function sourceRoutes(app: App, parts: SourceRouteParts): void {
  listRoute(app, parts)
  detailRoute(app, parts)
  sampleRoute(app, parts)
}

function listRoute(app: App, parts: SourceRouteParts): void {
  app.get(
    '/sources',
    {
      config: { access: { scope: 'webhooks:read' }, quiet: true },
      schema: {
        tags,
        summary: 'All sources of webhooks, with what they did in the last 24 hours',
        response: { 200: listSchema(Source) },
      },
    },
    async () => {
      const { database, clock, sources } = parts
      const activities = await readActivity(database.readerAside, 'source', { since: clock.now() - day })
      return {
        data: Array.from(sources, ([name, scheme]) => viewSource(parts, name, scheme, activities.get(name))),
      }
    },
  )
}

function detailRoute(app: App, parts: SourceRouteParts): void {
  app.get(
    '/sources/:name',
    {
      config: { access: { scope: 'webhooks:read' }, quiet: true },
      schema: { tags, summary: 'One source of webhooks', params: Name, response: { 200: SourceDetail } },
    },
    async ({ params: { name } }) => {
      const scheme = find(parts, name)
      const { database, clock } = parts
      const activities = await readActivity(database.readerAside, 'source', {
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

function sampleRoute(app: App, parts: SourceRouteParts): void {
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
      const { name } = request.params
      const scheme = find(parts, name)
      const stored = await sendSample(parts, { name, scheme }, request.body, auditOrigin(request))
      return reply.code(201).send(stored)
    },
  )
}

function find({ sources }: SourceRouteParts, name: string): Scheme {
  const scheme = sources.get(name)
  if (!scheme) throw new Problem('not-found', { detail: 'There is no source of this name.' })
  return scheme
}
