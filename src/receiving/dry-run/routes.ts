import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { readEventNumber } from '../../events/cursor.ts'
import { requireScope } from '../../http/access/access.ts'
import type { App } from '../../http/app.ts'
import { EmptyBody, IdParams, nullable } from '../../http/schemas/schemas.ts'
import { DryRun } from '../failed/routes.ts'
import type { DryRuns } from './dry-runs.ts'
import { dryRunLimit } from './rehearse.ts'
import { mostShown } from './writes.ts'

const Row = Type.Record(Type.String(), Type.Unknown())

const Table = Type.Object({
  table: Type.String(),
  inserted: Type.Integer(),
  updated: Type.Integer(),
  deleted: Type.Integer(),
  rows: Type.Array(
    Type.Object({
      operation: Type.Enum(['insert', 'update', 'delete']),
      key: Row,
      before: nullable(Row, 'Of an update: the changed columns'),
      after: nullable(Row),
    }),
    {
      description: `The first ${mostShown.rows}; long values are cut, and those of columns with names of credentials are redacted`,
    },
  ),
  note: nullable(Type.String(), 'Why rows are missing'),
})

const Line = Type.Object({
  level: Type.Enum(['debug', 'info', 'warn', 'error']),
  message: Type.String(),
  fields: nullable(Type.String()),
})

const Detailed = Type.Object({
  ...DryRun.properties,
  handlers: Type.Array(Type.String(), { description: 'The ids of the handlers that match the event' }),
  tables: Type.Array(Table, { description: 'The rows that the handlers wrote and that were rolled back' }),
  log: Type.Array(Line, { description: 'What the handlers wrote to `context.log`; not to `console`' }),
  notes: Type.Array(Type.String(), { description: 'What could not be seen' }),
})

/** Runs the handlers of an event without keeping their work. */
export function dryRunRoutes(app: App, { dryRuns }: { dryRuns: DryRuns }): void {
  app.post(
    '/events/:id/dry-run',
    {
      config: { access: { scope: 'webhooks:write' }, optionalBody: true },
      schema: {
        tags: ['events'],
        summary: "Run a received event's handlers without committing",
        description: `Also for processed events. The answer shows the rows that would be written, the events that would be emitted, log lines, the error and the time. Handlers see \`context.dryRun\`; what they do outside of their transaction is not undone. At most ${dryRunLimit / 1000} seconds, and one dry run for each person at a time. A key needs the scope \`events:read\` as well.`,
        params: IdParams,
        body: EmptyBody,
        response: { 200: Detailed },
      },
    },
    async (request, reply) => {
      const id = readEventNumber(request.params.id)
      // It shows the event's data and rows of the database, and a write scope alone reads nothing.
      requireScope(request, 'events:read')
      return reply.send({ ...(await dryRuns.one(id, { processed: true, origin: auditOrigin(request) })) })
    },
  )
}
