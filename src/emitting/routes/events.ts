import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { type Static, type TSchema, Type } from 'typebox'
import type { FastifySchemaCompiler } from 'fastify'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { invalidBody, Problem } from '../../errors.ts'
import { readEventNumber } from '../../events/present.ts'
import type { EmittingRouteParts } from './area.ts'
import { type App, route } from '../../http/app.ts'
import { defaultBodyLimit } from '../../http/body/reader.ts'
import { compileValidator } from '../../http/schemas/schema-compilers.ts'
import { emitNdjson, type NdjsonEventsParts } from '../events/ndjson-events.ts'
import {
  EmittedView,
  eventIdPattern,
  type NewEvent,
  NewEventBody,
  NewEventsBody,
  readNumbers,
  viewEmitted,
} from '../events/event.ts'
import { begin, end, run, spans, type Work, withContext } from '../../telemetry/spans.ts'
import { depthOf, EventLoop, longestChain, passedOn } from '../../telemetry/propagation.ts'
import { IdParams, noContent, optionalText } from '../../http/schemas/schemas.ts'

const ndjson = 'application/x-ndjson'
const lineTypes = [ndjson, 'application/ndjson', 'application/jsonl']

const text = Type.String({ description: 'One event per line, without a limit' })

const emitSchema = {
  tags: ['emitting'],
  summary: 'Emit events to all subscribers that match them',
  description:
    'One event, whose `id` may come as the `Idempotency-Key` header instead, or an array of up to a thousand, which are emitted together or not at all. Lines of NDJSON are emitted as they arrive, each with its own result: the response is 200 with one line for each, in their order: `{"line", "status": 202, "id", "eventId", "type"}`, or `{"line", "status", "code", "detail"}` with the problem that the same event alone would have caused.',
  headers: Type.Object({
    'idempotency-key': optionalText('The `id` of the one event of the body, also in double quotes'),
  }),
  body: {
    content: {
      'application/json': { schema: Type.Union([NewEventBody, NewEventsBody]) },
      [ndjson]: { schema: text },
    },
  },
  response: {
    200: {
      description: 'The responses to the lines',
      content: { [ndjson]: { schema: Type.String() } },
    },
    202: Type.Union([EmittedView, Type.Array(EmittedView)]),
  },
}

/** POST /events: one event, an array of them, or a stream of lines. DELETE /events/{id}: cancels a scheduled one. DELETE /events/{id}/payload: removes the payload. */
export function eventRoutes(app: App, parts: EmittingRouteParts): void {
  emitRoute(app, parts)
  removalRoutes(app, parts)
}

function removalRoutes(app: App, { scheduledEvents, payloadRemoval }: EmittingRouteParts): void {
  app.delete(
    '/events/:id',
    route(
      { scope: 'events:write' },
      ['emitting'],
      'Cancel an event that is scheduled by `deliverAt` or `delay`',
      { params: IdParams, response: noContent },
    ),
    async (request, reply) => {
      await scheduledEvents.cancel(readEventNumber(request.params.id), auditOrigin(request))
      return reply.code(204).send(null)
    },
  )
  app.delete(
    '/events/:id/payload',
    route({ scope: 'events:write' }, ['emitting'], "Remove an emitted event's payload", {
      description:
        'The event stays in the log without its data, and its deliveries stay without bodies. Pending deliveries fail. No delivery can be replayed.',
      params: IdParams,
      response: noContent,
    }),
    async (request, reply) => {
      await payloadRemoval.remove(readEventNumber(request.params.id), auditOrigin(request))
      return reply.code(204).send(null)
    },
  )
}

function emitRoute(app: App, { emitter, clock }: EmittingRouteParts): void {
  app.addContentTypeParser(lineTypes, (request, payload, done) => {
    request.raw.sendContinue?.()
    done(null, payload)
  })

  app.post(
    '/events',
    {
      config: { access: { scope: 'events:write' } },
      validatorCompiler: oneOrMany,
      schema: emitSchema,
    },
    async (request, reply) => {
      const body = request.body as
        | Static<typeof NewEventBody>
        | Static<typeof NewEventsBody>
        | Readable
        | undefined
      // With a schema for each media type, a request without a type and a body is not validated.
      if (body === undefined) throw new Problem('invalid-body', { detail: 'The request has no body.' })
      useAsId(request.headers['idempotency-key'], body)
      const { headers } = request
      if (body instanceof Readable) {
        const { budget } = app.bodies
        const network = (): string => app.bodies.networkOf(request.raw)
        checkChain(headers)
        const parts = { emitter, clock, budget, network, lineLimit: defaultBodyLimit }
        return reply
          .code(200)
          .type(`${ndjson}; charset=utf-8`)
          .send(Readable.from(emitLines(headers, body, parts)) as never)
      }
      const answer = reply.code(202).type('application/json; charset=utf-8').serializer(JSON.stringify)
      if (!Array.isArray(body)) {
        const emitted = await emitTraced(headers, { 'postern.type': body.type }, (carried) =>
          emitter.commit({ ...body, headers: carried }),
        )
        return answer.send(viewEmitted(emitted, body))
      }
      const emitted = await emitTraced(headers, { [eventCount]: body.length }, (carried) =>
        emitter.commitAll(body.map((event) => ({ ...event, headers: carried }))),
      )
      return answer.send(emitted.map((one, index) => viewEmitted(one, body[index]!)))
    },
  )
}

/** @throws Problem `unprocessable` if the chain of events that caused this one is too long */
function checkChain(headers: IncomingHttpHeaders): void {
  if (depthOf(headers) >= longestChain)
    throw new Problem('unprocessable', { detail: new EventLoop().message })
}

/**
 * Emits with the headers that deliveries carry: those of the request or, if it is traced, with the context of the span.
 * @throws Problem as `checkChain`
 */
export function emitTraced<T>(
  headers: IncomingHttpHeaders,
  attributes: Work['attributes'],
  add: (carried: string | null) => Promise<T>,
): Promise<T> {
  checkChain(headers)
  if (!spans.emit.start.hasSubscribers) return add(passedOn(headers))
  const work = begin('emit', headers, attributes)
  return run(work, () => add(passedOn(withContext(headers, work))))
}

const eventCount = 'messaging.batch.message_count'

/** The same for NDJSON. Its span ends with the last response, or when the client leaves, and counts the events, also known ones. */
async function* emitLines(
  headers: IncomingHttpHeaders,
  body: Readable,
  parts: Omit<NdjsonEventsParts, 'headers'>,
): AsyncGenerator<string> {
  if (!spans.emit.start.hasSubscribers) {
    yield* emitNdjson(body, { ...parts, headers: passedOn(headers) })
    return
  }
  const work = begin('emit', headers, {})
  let count = 0
  const emitter: NdjsonEventsParts['emitter'] = {
    async commitEach(events) {
      const results = await parts.emitter.commitEach(events)
      count += results.filter((result) => !(result instanceof Problem)).length
      return results
    },
  }
  try {
    yield* emitNdjson(body, { ...parts, emitter, headers: passedOn(withContext(headers, work)) })
  } catch (error) {
    work.error = error
    throw error
  } finally {
    work.attributes[eventCount] = count
    end(work)
  }
}

/** @throws Problem `invalid-body` if the key has not the form of an id, or the body has several events or another id */
function useAsId(header: string | undefined, body: NewEvent | NewEvent[] | Readable): void {
  if (header === undefined) return
  // draft-ietf-httpapi-idempotency-key-header has the key in double quotes.
  const id = /^"(.*)"$/.exec(header)?.[1] ?? header
  const refuse = (detail: string): Problem => invalidBody('/id', detail)
  if (Array.isArray(body) || body instanceof Readable)
    throw refuse('Idempotency-Key is for a body of one event. Give each of several events its own id.')
  if (body.id !== undefined && body.id !== id)
    throw refuse(
      'The Idempotency-Key header and the id of the event differ. Send one of them, or the same text in both.',
    )
  if (!new RegExp(eventIdPattern).test(id))
    throw refuse('The Idempotency-Key header must be 1 to 256 visible ASCII characters without a full stop.')
  body.id = id
}

/** Validates the form that was sent. A union would report the errors of both forms. */
const oneOrMany: FastifySchemaCompiler<TSchema> = (route) => {
  const one = compileValidator({ ...route, schema: NewEventBody })
  const many = compileValidator({ ...route, schema: NewEventsBody })
  return (value: unknown) => {
    if (value instanceof Readable) return { value }
    for (const event of [value].flat()) readNumbers(event)
    return Array.isArray(value) ? many(value) : one(value)
  }
}
