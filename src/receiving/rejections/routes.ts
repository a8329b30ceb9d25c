import type { Selectable } from 'kysely'
import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import { readEventNumber } from '../../events/event-number.ts'
import type { App } from '../../http/app.ts'
import type { Cursors, CursorScope } from '../../paging/cursor.ts'
import { readLimit } from '../../paging/limit.ts'
import { limitParameter } from '../../paging/parameters.ts'
import type { Database } from '../../storage/database.ts'
import type { RejectedWebhooksTable } from '../../storage/tables.ts'
import { isStorableText } from '../../storage/text.ts'
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

const Counts = Type.Object({
  since: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'The first day that is counted; null when none was refused',
  }),
  total: Type.Integer(),
  data: Type.Array(
    Type.Object({
      source: Type.String(),
      reason: Type.String(),
      meaning: Type.String({ description: 'The reason in plain words' }),
      advice: Type.String({ description: 'What to do' }),
      count: Type.Integer(),
      lastAt: Type.String({ format: 'date-time' }),
    }),
    { description: 'One for each source and reason, the most frequent first' },
  ),
})

/** What was refused: how often for which reason, and the last ones. */
export function rejectedRoutes(
  app: App,
  { database, cursors }: { database: Database; cursors: Cursors },
): void {
  app.get(
    '/rejected-webhooks',
    {
      config: { access: { scope: 'webhooks:read' }, quiet: true },
      schema: {
        tags: ['receiving'],
        summary: 'The last webhooks that were refused, and why, newest first',
        description: `Of each source and reason the last ${mostKept}, within a second or two of their coming; of a flood some are left out. The metric postern_webhooks_total counts them all.`,
        querystring: Type.Object({
          source: Type.Optional(Type.String({ description: 'Of this source alone' })),
          reason: Type.Optional(Type.String({ description: 'For this reason alone' })),
          limit: limitParameter(limits),
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
      // What no text of a database can be is no source and no reason.
      if (![source, reason].every((text) => text === undefined || isStorableText(text)))
        return { data: [], pageInfo: { hasNextPage: false, nextCursor: null } }
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

  app.get(
    '/rejected-webhooks/:id',
    {
      config: { access: { scope: 'webhooks:read' }, quiet: true },
      schema: {
        tags: ['receiving'],
        summary: 'One refused webhook',
        params: Type.Object({ id: Type.String() }),
        response: { 200: Item },
      },
    },
    async ({ params }) => {
      const row = await database.reader
        .selectFrom('rejected_webhooks')
        .selectAll()
        .where('id', '=', readEventNumber(params.id))
        .executeTakeFirst()
      if (!row) throw new Problem('not-found', { detail: 'It is not kept, or no longer.' })
      return present(row)
    },
  )

  app.get(
    '/rejected-webhooks/counts',
    {
      config: { access: { scope: 'webhooks:read' }, quiet: true },
      schema: {
        tags: ['receiving'],
        summary: 'How many webhooks were refused, by source and reason',
        description:
          'Of the days that REJECTED_RETENTION_DAYS keeps, of all processes, within a second or two. What a process had counted when it was killed is missing.',
        response: { 200: Counts },
      },
    },
    async () => describeCounts(database),
  )
}

async function describeCounts({ reader }: Database) {
  const rows = await reader
    .selectFrom('rejected_counts')
    .select((eb) => [
      'source',
      'reason',
      eb.fn.sum<number | string>('count').as('count'),
      eb.fn.max<number>('last_at').as('last_at'),
      eb.fn.min<number>('day').as('day'),
    ])
    .groupBy(['source', 'reason'])
    .execute()
  const data = rows
    .map(({ source, reason, count, last_at }) => ({
      source,
      reason,
      ...explain(reason),
      // PostgreSQL's sums are numerics, which come as texts.
      count: Number(count),
      lastAt: new Date(last_at).toISOString(),
    }))
    .toSorted((one, other) => other.count - one.count || (one.lastAt < other.lastAt ? 1 : -1))
  return {
    since: rows.length === 0 ? null : new Date(Math.min(...rows.map(({ day }) => day))).toISOString(),
    total: data.reduce((sum, { count }) => sum + count, 0),
    data,
  }
}

function explain(reason: string): { meaning: string; advice: string } {
  return Object.hasOwn(reasons, reason) ? reasons[reason as Reason] : { meaning: '', advice: '' }
}

function present(row: Selectable<RejectedWebhooksTable>) {
  return {
    id: row.id,
    source: row.source,
    at: new Date(row.at).toISOString(),
    reason: row.reason,
    ...explain(row.reason),
    detail: row.detail,
    address: row.address,
    headers: JSON.parse(row.headers) as Record<string, string>,
    size: row.size,
    ...(row.body && presentBody(row.body)),
  }
}
