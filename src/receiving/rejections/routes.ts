import type { Selectable } from 'kysely'
import { Type } from 'typebox'
import type { App } from '../../http/app.ts'
import type { Cursors, CursorScope } from '../../paging/cursor.ts'
import { readLimit } from '../../paging/limit.ts'
import type { Database } from '../../storage/database.ts'
import type { RejectedWebhooksTable } from '../../storage/tables.ts'
import { mostKept } from './log.ts'
import { reasons, type Reason } from './reasons.ts'
import { presentBody } from './redact.ts'

const limits = { default: 20, max: 100 }

const Item = Type.Object({
  id: Type.Integer(),
  source: Type.String(),
  at: Type.String({ format: 'date-time' }),
  reason: Type.String({ description: `${Object.keys(reasons).join(', ')}: as in postern_webhooks_total` }),
  meaning: Type.String({ description: 'The reason in plain words' }),
  advice: Type.String({ description: 'What to do' }),
  detail: Type.String({ description: 'What exactly spoke against it; the sender is not told' }),
  address: Type.Union([Type.String(), Type.Null()], { description: 'Where it came from' }),
  headers: Type.Record(Type.String(), Type.String(), {
    description: 'Of credentials and signatures only how long they were',
  }),
  size: Type.Union([Type.Integer(), Type.Null()], { description: 'Bytes of the whole body' }),
  body: Type.Optional(
    Type.String({
      description: 'Its first 4 KiB, without the values of fields that are named like credentials',
    }),
  ),
  bodyBase64: Type.Optional(Type.String({ description: 'Instead of `body` when the bytes are no text' })),
})

/** GET /rejected-webhooks: the last refused ones, the newest first. */
export function rejectedRoutes(
  app: App,
  { database, cursors }: { database: Database; cursors: Cursors },
): void {
  app.get(
    '/rejected-webhooks',
    {
      config: { access: 'admin', quiet: true },
      schema: {
        tags: ['receiving'],
        summary: 'The last webhooks that were refused, and why, newest first',
        description: `Of each source and reason the last ${mostKept}, within a second or two of their coming; of a flood some are left out. The metric postern_webhooks_total counts them all.`,
        querystring: Type.Object({
          source: Type.Optional(Type.String({ description: 'Of this source alone' })),
          reason: Type.Optional(Type.String({ description: 'For this reason alone' })),
          limit: Type.Optional(Type.String({ description: 'Default 20, at most 100' })),
          cursor: Type.Optional(Type.String({ description: 'The nextCursor of the page before' })),
        }),
        response: {
          200: Type.Object({
            data: Type.Array(Item),
            pageInfo: Type.Object({
              hasNextPage: Type.Boolean(),
              nextCursor: Type.Union([Type.String(), Type.Null()]),
            }),
          }),
        },
      },
    },
    async ({ query: { source, reason, limit, cursor } }) => {
      const size = readLimit(limit, limits)
      const scope: CursorScope = {
        list: 'rejected-webhooks',
        keys: [{ name: 'id', type: 'integer' }],
        query: [source ?? null, reason ?? null],
      }
      let rows = database.reader.selectFrom('rejected_webhooks').selectAll()
      if (source) rows = rows.where('source', '=', source)
      if (reason) rows = rows.where('reason', '=', reason)
      if (cursor !== undefined) rows = rows.where('id', '<', cursors.decode(scope, cursor)[0] as number)
      const found = await rows
        .orderBy('id', 'desc')
        .limit(size + 1)
        .execute()
      const page = found.slice(0, size)
      const last = found.length > size ? page.at(-1) : undefined
      return {
        data: page.map(present),
        pageInfo: {
          hasNextPage: last !== undefined,
          nextCursor: last ? cursors.encode(scope, [last.id]) : null,
        },
      }
    },
  )
}

function present(row: Selectable<RejectedWebhooksTable>) {
  const explanation = reasons[row.reason as Reason] as (typeof reasons)[Reason] | undefined
  return {
    id: row.id,
    source: row.source,
    at: new Date(row.at).toISOString(),
    reason: row.reason,
    meaning: explanation?.meaning ?? '',
    advice: explanation?.advice ?? '',
    detail: row.detail,
    address: row.address,
    headers: JSON.parse(row.headers) as Record<string, string>,
    size: row.size,
    ...(row.body && presentBody(row.body)),
  }
}
