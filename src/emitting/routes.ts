import { Type } from 'typebox'
import type { FastifyRequest } from 'fastify'
import type { App } from '../http/app.ts'
import type { Database } from '../storage/database.ts'
import type { Emitter } from './emitter.ts'
import { eventIdPattern, eventTypePattern } from './event.ts'
import { parseLossless, parsePlain } from './lossless-json.ts'
import { deliveryRoutes, type DeliveryRouteParts } from './routes/deliveries.ts'
import { jobRoutes, type JobRouteParts } from './routes/jobs.ts'
import { subscriberRoutes, type SubscriberRouteParts } from './routes/subscribers.ts'

export interface EmittingRouteParts extends SubscriberRouteParts, DeliveryRouteParts, JobRouteParts {
  emitter: Emitter
  database: Database
}

/** All calls of this room. What is emitted keeps every number as it was written; other bodies are read as usual. */
export async function emittingRoutes(app: App, parts: EmittingRouteParts): Promise<void> {
  await app.register(async (scope: App) => {
    readJsonWith(scope, parseLossless)
    emitRoute(scope, parts)
  })
  await app.register(async (scope: App) => {
    readJsonWith(scope, parsePlain)
    scope.addHook('preValidation', emptyWhenAbsent)
    subscriberRoutes(scope, parts)
    deliveryRoutes(scope, parts)
    jobRoutes(scope, parts)
  })
}

function readJsonWith(scope: App, parse: (bytes: Uint8Array) => unknown): void {
  scope.removeContentTypeParser('application/json')
  scope.bodies.parse(scope, ['application/json'], (_request, bytes, done) => {
    let body: unknown
    try {
      body = parse(bytes)
    } catch (error) {
      return done(error as Error)
    }
    done(null, body)
  })
}

async function emptyWhenAbsent(request: FastifyRequest): Promise<void> {
  if (request.routeOptions.config.optionalBody && request.body === undefined) request.body = {}
}

const NewEventBody = Type.Object(
  {
    type: Type.String({
      pattern: eventTypePattern,
      description: 'What the event is, such as `order.paid`; subscribers choose by it',
    }),
    data: Type.Unknown({ description: 'Any JSON value; sent as it is' }),
    id: Type.Optional(
      Type.String({
        pattern: eventIdPattern,
        description: 'Makes the same call twice the same event. Default: a new one.',
      }),
    ),
  },
  { additionalProperties: false },
)

const EmittedView = Type.Object(
  {
    id: Type.Integer({ description: 'Its place in the log: GET /events/{id}' }),
    eventId: Type.String({ description: 'The stable id that subscribers get' }),
    type: Type.String(),
  },
  { additionalProperties: false },
)

function emitRoute(app: App, { emitter, database }: EmittingRouteParts): void {
  app.post(
    '/events',
    {
      config: { access: 'admin' },
      schema: {
        tags: ['emitting'],
        summary: 'Emit an event to all subscribers whose event types match',
        body: NewEventBody,
        response: { 202: EmittedView },
      },
    },
    async ({ body }, reply) => {
      const [emitted] = await database.transaction((tx) => emitter.within(tx, [body]))
      database.signal('deliveries')
      return reply.code(202).send({ ...emitted!, type: body.type })
    },
  )
}
