import type { FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import { requireScope } from '../../http/access/access.ts'
import type { Authenticate } from '../../http/access/principal.ts'
import { type App, route } from '../../http/app.ts'
import { clientIp } from '../../http/limits/client-address.ts'
import { readEventCursor } from '../present.ts'
import { type LiveHub, topics, Viewer } from './hub.ts'

const mediaType = 'text/event-stream'
const scope = 'events:read'

const description = `Messages: \`hello\` at the beginning; \`event\` for a new event or one whose status changed, as in \`GET /events\`; \`changed\` with the topics of which something changed (${topics.join(', ')}); \`gap\` when more events came than are sent one by one, after which a page reads the log again. Comments come every 15 seconds. A browser that connects again gets what it missed, by \`Last-Event-ID\`.`

/** GET /live: server-sent events for pages. */
export function liveRoute(app: App, hub: LiveHub, authenticate: Authenticate): void {
  app.closing.onStart(() => hub.close())
  app.get(
    '/live',
    route(
      { scope },
      ['events'],
      'Live changes, as server-sent events',
      {
        description,
        response: {
          200: { description: 'A stream', content: { [mediaType]: { schema: Type.String() } } },
        },
      },
      { openInDemo: true, quiet: true, background: true, sends: { always: ['X-Accel-Buffering'] } },
    ),
    async (request, reply) => {
      if (!request.headers.accept?.includes(mediaType))
        throw new Problem('not-acceptable', { detail: `Send \`Accept: ${mediaType}\`.` })
      if (app.closing.begun) throw new Problem('stopping', { retryAfter: 1 })
      reply.header('content-type', `${mediaType}; charset=utf-8`).header('x-accel-buffering', 'no')
      if (request.method === 'HEAD') return reply.send(Readable.from([]) as never)
      const { authorization = '', cookie = '' } = request.headers
      const viewer = new Viewer({
        person: personOf(request),
        credential: `${authorization}\n${cookie}`,
        async isAllowed() {
          if (request.principal) requireScope({ principal: await authenticate(request) }, scope)
          return true
        },
      })
      await hub.add(viewer, readLastEvent(request))
      // Fastify destroys the stream of a client that leaves, also of one that has left already.
      return reply.send(viewer.stream as never)
    },
  )
}

function personOf(request: FastifyRequest): string {
  const { userId, keyId } = request.principal ?? {}
  return userId ?? keyId ?? clientIp(request)
}

/** Browsers send back the newest id of the stream. Anything else counts as no id. */
function readLastEvent({ headers }: FastifyRequest): number | undefined {
  const id = headers['last-event-id']
  return typeof id === 'string' && /^\d+$/.test(id) ? readEventCursor(id) : undefined
}
