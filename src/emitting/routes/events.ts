import { Readable } from 'node:stream'
import { Type, type Static, type TSchema } from 'typebox'
import type { FastifySchemaCompiler } from 'fastify'
import type { Clock } from '../../runtime/clock.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { defaultBodyLimit } from '../../http/body/reader.ts'
import { compileValidator } from '../../http/schemas/schema-compilers.ts'
import type { Database } from '../../storage/database.ts'
import type { Announce, Emitted, Emitter } from '../events/emitter.ts'
import { EmittedView, NewEventBody, NewEventsBody } from '../events/event-body.ts'
import { emitNdjson } from '../events/ndjson-events.ts'
import type { NewEvent } from '../events/event.ts'
import { groupEmits } from '../events/commit-emits.ts'

export interface EventRouteParts {
  emitter: Emitter
  database: Database
  clock: Clock
  announce: Announce
}

const ndjson = 'application/x-ndjson'
const lineTypes = [ndjson, 'application/ndjson', 'application/jsonl']

/** POST /events: one event, an array of them, or a stream of lines. */
export function eventRoutes(app: App, { emitter, database, clock, announce }: EventRouteParts): void {
  const emits = groupEmits({ database, emitter, announce })
  app.addContentTypeParser(lineTypes, (request, payload, done) => {
    request.raw.sendContinue?.()
    done(null, payload)
  })

  const text = Type.String({ description: 'One event per line, without a limit' })
  app.post(
    '/events',
    {
      config: { access: { scope: 'events:write' } },
      validatorCompiler: oneOrMany,
      schema: {
        tags: ['emitting'],
        summary: 'Emit events to all subscribers that match them',
        description:
          'One event, or an array of up to a thousand, which are emitted together or not at all. Lines of NDJSON are emitted as they arrive, each with its own result: the response is 200 with one line for each, in their order: `{"line", "status": 202, "id", "eventId", "type"}`, or `{"line", "status", "code", "detail"}` with the problem that the same event alone would have caused.',
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
      },
    },
    async (request, reply) => {
      const body = request.body as
        | Static<typeof NewEventBody>
        | Static<typeof NewEventsBody>
        | Readable
        | undefined
      // With a schema for each media type, a request without a type and a body is not validated.
      if (body === undefined) throw new Problem('invalid-body', { detail: 'The request has no body.' })
      if (body instanceof Readable) {
        const { budget } = app.bodies
        const network = (): string => app.bodies.networkOf(request.raw)
        const parts = { emitter, database, clock, announce, budget, network, lineLimit: defaultBodyLimit }
        const answers = Readable.from(emitNdjson(body, parts))
        return reply
          .code(200)
          .type(`${ndjson}; charset=utf-8`)
          .send(answers as never)
      }
      const view = ({ id, eventId }: Emitted, { type }: NewEvent) => ({ id, eventId, type })
      const answer = reply.code(202).type('application/json; charset=utf-8').serializer(JSON.stringify)
      if (!Array.isArray(body)) return answer.send(view(await emits.add(body), body))
      const emitted = await database.transaction((tx) => emitter.emitAll(tx, body))
      announce(emitted)
      return answer.send(emitted.map((one, index) => view(one, body[index]!)))
    },
  )
}

/** Validates the form that was sent. A union would report the errors of both forms. */
const oneOrMany: FastifySchemaCompiler<TSchema> = (route) => {
  const one = compileValidator({ ...route, schema: NewEventBody })
  const many = compileValidator({ ...route, schema: NewEventsBody })
  return (value: unknown) =>
    value instanceof Readable ? { value } : Array.isArray(value) ? many(value) : one(value)
}
