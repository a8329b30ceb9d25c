import { Type } from 'typebox'
import type { App } from '../../http/app.ts'
import type { CatalogueEntry, EventCatalogue } from '../events/event-catalogue.ts'
import { closedObject, listSchema, nullable } from '../../http/schemas/schemas.ts'

const EventTypeView = closedObject({
  type: Type.String(),
  description: nullable(Type.String()),
  schema: nullable(Type.Unknown(), 'JSON Schema of the data'),
  samples: Type.Array(Type.Unknown(), { description: 'Examples of the data' }),
  builtIn: Type.Boolean({ description: 'Whether the service itself emits it' }),
})
const Catalogue = listSchema(EventTypeView)

/** GET /event-types, for developers of subscribers. The API reference lists the same types as webhooks. */
export function eventTypeRoutes(app: App, { entries }: EventCatalogue): void {
  for (const entry of entries) app.webhooks[entry.type] = { post: describe(entry) }

  const body = JSON.stringify({
    data: entries.map(({ type, description = null, schema = null, samples = [], builtIn }) => ({
      type,
      description,
      schema,
      samples,
      builtIn,
    })),
  })
  app.get(
    '/event-types',
    {
      config: { access: 'public' },
      schema: {
        tags: ['emitting'],
        summary: 'The event catalog with samples',
        response: { 200: Catalogue },
      },
    },
    async (_request, reply) =>
      reply
        .type('application/json; charset=utf-8')
        // The body contains JSON Schemas of any form, so it is serialized once and not by a response schema.
        .serializer((text: string) => text)
        .send(body as never),
  )
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
