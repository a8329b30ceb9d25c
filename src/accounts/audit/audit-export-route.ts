import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { closedSignal } from '../../http/connections/closed-signal.ts'
import { acceptedCoding, encodeStream } from '../../http/caching/content-coding.ts'
import { readTimeParameter } from '../../paging/time-parameter.ts'
import { entryLine } from './audit-entry.ts'
import type { AuditReader, AuditStart } from './audit-reader.ts'
import { optionalText } from '../../http/schemas/schemas.ts'

const mediaType = 'application/x-ndjson'
/** Exports of one address in a minute: enough to follow the log by polling every few seconds. */
const exportsPerMinute = 30

/** GET /audit/export: all entries after a position, as a stream. */
export function auditExportRoute(app: App, reader: AuditReader): void {
  app.get(
    '/audit/export',
    {
      config: {
        access: { scope: 'admin' },
        rateLimit: { max: exportsPerMinute },
        sends: { always: ['Content-Disposition', 'Vary'], sometimes: ['Content-Encoding'] },
      },
      schema: {
        tags: ['sign-in'],
        summary: 'The audit log as one JSON object per line, oldest first',
        description:
          'Each line is an entry of `GET /audit` with its number `seq`. To follow the log, repeat the call with the last `seq` as `after`: it returns each entry once.',
        querystring: Type.Object({
          after: optionalText('Only entries with a greater `seq`'),
          since: optionalText('At this time or later, ISO 8601'),
        }),
        response: { 200: { description: 'A stream', content: { [mediaType]: { schema: Type.String() } } } },
      },
    },
    async (request, reply) => {
      const start = parseStart(request.query)
      const coding = acceptedCoding(request.headers['accept-encoding'])
      reply.header('vary', 'Accept-Encoding').header('content-type', `${mediaType}; charset=utf-8`)
      reply.header('content-disposition', 'attachment; filename="audit.ndjson"')
      if (coding !== 'identity') reply.header('content-encoding', coding)
      if (request.method === 'HEAD') return reply.send(Readable.from([]) as never)
      const lines = Readable.from(linesOf(reader, start, closedSignal(reply)), { objectMode: false })
      return reply.send(encodeStream(lines, coding) as never)
    },
  )
}

async function* linesOf(reader: AuditReader, start: AuditStart, closed: AbortSignal): AsyncGenerator<string> {
  for await (const rows of reader.pages(start, closed)) yield rows.map(entryLine).join('')
}

/** @throws Problem `invalid-parameter` */
function parseStart({ after = '', since = '' }: { after?: string; since?: string }): AuditStart {
  const number = after === '' ? 0 : /^\d{1,15}$/.test(after) ? Number(after) : undefined
  if (number === undefined)
    throw new Problem('invalid-parameter', {
      parameter: 'after',
      detail: 'The parameter `after` must be the `seq` of an entry.',
    })
  return { after: number, since: since === '' ? undefined : readTimeParameter(since, 'since') }
}
