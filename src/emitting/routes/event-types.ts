import type { FastifyReply } from 'fastify'
import { type Static, Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { Problem } from '../../errors.ts'
import { type App, route } from '../../http/app.ts'
import { closedObject, DateTime, listSchema, noContent, nullable } from '../../http/schemas/schemas.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import type { CatalogueEntry } from '../events/event-catalogue.ts'
import { eventTypePattern } from '../events/event.ts'
import {
  eventTypeFields,
  newestSchema,
  noFields,
  type StoredEventType,
} from '../events/stored-event-types.ts'
import type { EmittingRouteParts } from './area.ts'

const EventTypeView = closedObject({
  type: Type.String(),
  description: nullable(Type.String()),
  schema: nullable(Type.Unknown(), 'JSON Schema of the data'),
  samples: Type.Array(Type.Unknown(), { description: 'Examples of the data' }),
  builtIn: Type.Boolean({ description: 'Whether the service itself emits it' }),
  stored: Type.Boolean({ description: 'Whether it was created through the API; other types are declared' }),
  deprecated: eventTypeFields.deprecated,
  group: nullable(Type.String()),
})

const StoredView = closedObject({
  type: Type.String(),
  ...eventTypeFields,
  createdAt: DateTime,
  updatedAt: DateTime,
})
const NewFields = Type.Partial(Type.Object(eventTypeFields), { additionalProperties: false })
const params = Type.Object({ type: Type.String({ pattern: eventTypePattern }) })

/** For bodies with JSON Schemas of any form, which no response schema can serialize. */
const withSchemas = (reply: FastifyReply): FastifyReply =>
  reply.type('application/json; charset=utf-8').serializer(JSON.stringify)
const tags = ['emitting']

/** The catalog for customers, and the stored event types for administrators. The API reference lists declared types as webhooks. */
export function eventTypeRoutes(app: App, parts: EmittingRouteParts): void {
  const { catalogue, storedEventTypes } = parts
  for (const entry of catalogue.entries) app.webhooks[entry.type] = { post: describe(entry) }
  const declared = catalogue.entries.map(viewDeclared)
  app.get(
    '/event-types',
    route('public', tags, 'The event catalog with samples', { response: { 200: listSchema(EventTypeView) } }),
    async (_request, reply) => {
      const shown = await storedEventTypes.shown()
      const data = [...declared, ...shown.map(viewShown)]
      return withSchemas(reply).send({ data })
    },
  )
  app.get(
    '/stored-event-types',
    route(
      { scope: 'subscribers:read' },
      tags,
      'Event types created through the API, including archived ones',
      { response: { 200: listSchema(StoredView) } },
    ),
    async (_request, reply) => {
      const all = await storedEventTypes.list()
      return withSchemas(reply).send({ data: all.map(viewStored) })
    },
  )
  changeRoutes(app, parts)
}

function changeRoutes(app: App, { storedEventTypes }: EmittingRouteParts): void {
  app.put(
    '/event-types/:type',
    route({ scope: 'subscribers:write' }, tags, 'Create or replace an event type', {
      description:
        'Absent fields get their defaults. Types that the configuration declares cannot be changed.',
      params,
      body: NewFields,
      response: { 200: StoredView, 201: StoredView },
    }),
    async (request, reply) => {
      const { type } = request.params
      let isNew = true
      const [stored] = await storedEventTypes.change([type], auditOrigin(request), (before) => {
        isNew = !before.has(type)
        return [{ ...noFields, ...request.body, type }]
      })
      return withSchemas(reply.code(isNew ? 201 : 200)).send(viewStored(stored!))
    },
  )
  app.delete(
    '/event-types/:type',
    route({ scope: 'subscribers:write' }, tags, 'Delete an event type created through the API', {
      description: 'Subscribers that match it still get its events. To only hide it, archive it instead.',
      params,
      response: noContent,
    }),
    async (request, reply) => {
      const removed = await storedEventTypes.remove(request.params.type, auditOrigin(request))
      if (!removed)
        throw new Problem('not-found', { detail: 'There is no stored event type with this name.' })
      return reply.code(204).send(null)
    },
  )
}

type Shown = Static<typeof EventTypeView>

function viewDeclared(entry: CatalogueEntry): Shown {
  const { type, description = null, schema = null, samples = [], builtIn } = entry
  const more = { stored: false, deprecated: false, group: null }
  return { type, description, schema, samples: [...samples], builtIn, ...more }
}

function viewShown(one: StoredEventType): Shown {
  const { type, description, deprecated: isDeprecated, group } = one
  const { schema = null, samples } = newestSchema(one)
  const more = { builtIn: false, stored: true, deprecated: isDeprecated, group }
  return { type, description: description || null, schema, samples, ...more }
}

function viewStored({ createdAt, updatedAt, ...one }: StoredEventType): Static<typeof StoredView> {
  return { ...one, createdAt: isoTime(createdAt), updatedAt: isoTime(updatedAt) }
}

/** The OpenAPI 3.1 description of a webhook. */
function describe({ type, description, schema, samples = [] }: CatalogueEntry): object {
  const examples = samples.map((data, index) => [
    `sample ${index + 1}`,
    { value: { id: 'msg_0123456789', type, timestamp: '2026-01-31T08:30:00.000Z', data } },
  ])
  return {
    tags: ['events that are sent'],
    summary: type,
    ...(description !== undefined && { description }),
    security: [],
    requestBody: {
      content: {
        'application/json': {
          schema: {
            type: 'object',
            required: ['id', 'type', 'timestamp', 'data'],
            properties: {
              id: { type: 'string', description: 'The stable id, the same in every attempt and replay' },
              type: { const: type },
              timestamp: { type: 'string', format: 'date-time' },
              data: embeddable(schema),
            },
          },
          ...(examples.length > 0 && { examples: Object.fromEntries(examples) as object }),
        },
      },
    },
    responses: { '2XX': { description: 'Delivered; other responses are retried' } },
  }
}

/** In a schema with references, OpenAPI tools would resolve them in the surrounding document. */
function embeddable(schema: object | undefined): object {
  if (schema === undefined) return {}
  return JSON.stringify(schema).includes('"$ref"') ? { description: 'See GET /event-types' } : schema
}
