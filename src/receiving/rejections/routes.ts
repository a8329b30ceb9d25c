import { isUtf8 } from 'node:buffer'
import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import { readEventNumber } from '../../events/present.ts'
import { type App, route } from '../../http/app.ts'
import type { CursorScope } from '../../paging/cursor.ts'
import { pageSchema, viewPage, pageParameters, readPageRequest } from '../../paging/parameters.ts'
import type { Database } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import { isStorableText } from '../../storage/sql-text.ts'
import type { ReceivingRouteParts } from '../routes.ts'
import { longestLog } from './log.ts'
import { type Reason, reasons } from './reasons.ts'
import { DateTime, IdParams, nullable, optionalText } from '../../http/schemas/schemas.ts'
import { isoTime } from '../../runtime/iso-time.ts'

const tags = ['receiving']
const access = { scope: 'webhooks:read' } as const

const quiet = { quiet: true }

const Item = Type.Object({
  id: Type.Integer(),
  source: Type.String(),
  at: DateTime,
  reason: Type.String({ description: `${Object.keys(reasons).join(', ')}: as in postern_webhooks_total` }),
  meaning: Type.String({ description: 'The reason in a sentence' }),
  advice: Type.String({ description: 'What to do' }),
  detail: Type.String({ description: 'The exact cause; the sender does not see it' }),
  address: nullable(Type.String(), 'The address of the sender'),
  headers: Type.Record(Type.String(), Type.String(), {
    description: 'Credentials and signatures are replaced by their length',
  }),
  size: nullable(Type.Integer(), 'Bytes of the whole body'),
  body: optionalText('The first 4 KiB of the body, without the values of fields with names of credentials'),
  bodyBase64: optionalText('Instead of `body` if the bytes are not text'),
})

const Counts = Type.Object({
  since: nullable(DateTime, 'The first day that is counted; null if no webhook was rejected'),
  total: Type.Integer(),
  data: Type.Array(
    Type.Object({
      source: Type.String(),
      reason: Type.String(),
      meaning: Type.String({ description: 'The reason in a sentence' }),
      advice: Type.String({ description: 'What to do' }),
      count: Type.Integer(),
      lastAt: DateTime,
    }),
    { description: 'One for each source and reason, the most frequent first' },
  ),
})

/** Shows refused webhooks: the counts for each reason, and the latest ones. */
export function rejectedRoutes(app: App, parts: ReceivingRouteParts): void {
  const { database } = parts
  listRoute(app, parts)
  app.get(
    '/rejected-webhooks/:id',
    route(access, tags, 'One rejected webhook', { params: IdParams, response: { 200: Item } }, quiet),
    async ({ params }) => {
      const row = await database.slowReader
        .selectFrom('rejected_webhooks')
        .selectAll()
        .where('id', '=', readEventNumber(params.id))
        .executeTakeFirst()
      if (!row) throw new Problem('not-found', { detail: 'There is no such webhook, or it was deleted.' })
      return present(row)
    },
  )
  app.get(
    '/rejected-webhooks/counts',
    route(
      access,
      tags,
      'Rejected webhooks by source and reason',
      {
        description:
          'Counts of all processes over REJECTED_RETENTION_DAYS days, within two seconds. Counts that a killed process had not written are missing.',
        response: { 200: Counts },
      },
      quiet,
    ),
    async () => describeCounts(database),
  )
}

function listRoute(app: App, { database, cursors }: ReceivingRouteParts): void {
  app.get(
    '/rejected-webhooks',
    route(
      access,
      tags,
      'Rejected webhooks with their reasons, newest first',
      {
        description: `The latest ${longestLog} of each source and reason, within two seconds after they arrived; in a flood, some are left out. The metric postern_webhooks_total counts all.`,
        querystring: Type.Object({
          source: optionalText('Only this source'),
          reason: optionalText('Only this reason'),
          ...pageParameters(),
        }),
        response: { 200: pageSchema(Item) },
      },
      quiet,
    ),
    async ({ query: { source, reason, ...paging } }) => {
      const scope: CursorScope = {
        list: 'rejected-webhooks',
        keys: [{ name: 'id', type: 'integer' }],
        query: [source ?? null, reason ?? null],
      }
      let query = database.slowReader.selectFrom('rejected_webhooks').selectAll().orderBy('id', 'desc')
      if (source) query = query.where('source', '=', source)
      if (reason) query = query.where('reason', '=', reason)
      // PostgreSQL refuses such texts as parameters.
      const isStorable = [source, reason].every((text) => text === undefined || isStorableText(text))
      const read = async (before: number | undefined, count: number) => {
        if (!isStorable) return []
        return query
          .$if(before !== undefined, (all) => all.where('id', '<', before!))
          .limit(count)
          .execute()
      }
      return viewPage(await cursors.read(scope, readPageRequest(paging), read, ({ id }) => id), present)
    },
  )
}

async function describeCounts({ slowReader: reader }: Database) {
  const rows = await reader
    .selectFrom('receiving_activity')
    .select((eb) => [
      'name as source',
      'counter as reason',
      eb.fn.sum<number | string>('count').as('count'),
      eb.fn.max<number>('last_at').as('last_at'),
      eb.fn.min<number>('slot').as('day'),
    ])
    .where('kind', '=', 'rejected')
    .groupBy(['name', 'counter'])
    .execute()
  const data = rows
    .map(({ source, reason, count, last_at }) => ({
      source,
      reason,
      ...explain(reason),
      // PostgreSQL returns sums as text.
      count: Number(count),
      lastAt: isoTime(last_at),
    }))
    .toSorted((one, other) => other.count - one.count || (one.lastAt < other.lastAt ? 1 : -1))
  return {
    since: rows.length === 0 ? null : isoTime(Math.min(...rows.map(({ day }) => day))),
    total: data.reduce((sum, { count }) => sum + count, 0),
    data,
  }
}

function present({ body, ...row }: Row<'rejected_webhooks'>) {
  return {
    ...row,
    at: isoTime(row.at),
    ...explain(row.reason),
    headers: JSON.parse(row.headers) as Record<string, string>,
    ...(body && presentBody(body)),
  }
}

/** What a reason means; empty texts for one of another version of the service. */
function explain(reason: string) {
  return Object.hasOwn(reasons, reason) ? reasons[reason as Reason] : { meaning: '', advice: '' }
}

/** Returns the body as text if it is UTF-8, otherwise as base64. */
function presentBody(body: Uint8Array): { body: string } | { bodyBase64: string } {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  return isUtf8(bytes) ? { body: bytes.toString('utf8') } : { bodyBase64: bytes.toString('base64') }
}
