import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { auditOrigin, createRecordAudit } from '../../accounts/audit/audit.ts'
import { newId } from '../../crypto/ids.ts'
import { invalidBody, Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { IdParams, closedObject, storablePattern } from '../../http/schemas/schemas.ts'
import { InvalidTime, timeOf, canonicalTime } from '../../paging/time.ts'
import type { Tx } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import { isStorableText } from '../../storage/sql-text.ts'
import { isUniqueViolation } from '../../storage/unavailable.ts'
import { columnsToRow, presenter, type Item } from '../items.ts'
import type { ListWrites } from '../catalogue.ts'
import { type ListDeclaration, fieldOf } from '../list.ts'
import { itemSchema } from '../schema.ts'
import type { ModuleParts } from '../../http/service-module.ts'
import { posts, products } from '../resources/products-and-posts.ts'

type Parts = Pick<ModuleParts, 'database' | 'clock'>

const config = { access: { scope: 'lists:write' } } as const
const tags = ['lists']
/** Kysely has no type for a table that is a variable. The statements use only what all writable tables have. */
const tableOf = ({ table }: ListDeclaration) => table as 'products'

/** Declares `POST`, `PATCH` and `DELETE` of products and posts. Returns the bodies of these calls by the path of the list. */
export function writeRoutes(app: App, parts: Parts): ReadonlyMap<string, ListWrites> {
  const writables = [writableProducts, writablePosts]
  const record = createRecordAudit(parts.clock)
  for (const writable of writables) {
    const audit: ItemAudit = (tx, request, action, id, detail) =>
      record(tx, { ...auditOrigin(request), action, target: `${writable.noun}:${id}`, detail })
    createRoute(app, parts, writable, audit)
    updateRoute(app, parts, writable, audit)
    deleteRoute(app, parts, writable, audit)
  }
  return new Map(writables.map(({ list, New, Change }) => [list.path, { create: New, change: Change }]))
}

function createRoute(app: App, { database, clock }: Parts, writable: WritableList, audit: ItemAudit): void {
  const { list, noun, New } = writable
  const schema = { tags, summary: `Create a ${noun}`, body: New, response: { 201: itemSchema(list) } }
  const show = itemOf(list)
  app.post(list.path, { config, schema }, async (request, reply) => {
    const now = clock.now()
    const given = readColumns(list, request.body)
    const row = { id: newId(now), created_at: timeOf(now), ...given } as Row<'products'>
    try {
      await database.transaction(async (tx) => {
        await tx.insertInto(tableOf(list)).values(row).execute()
        await audit(tx, request, 'item.created', row.id)
      })
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      throw new Problem('conflict', {
        detail: `There is a ${noun} with the id ${JSON.stringify(row.id)} already.`,
        cause: error,
      })
    }
    return reply.code(201).send(show(row))
  })
}

function updateRoute(app: App, { database }: Parts, writable: WritableList, audit: ItemAudit): void {
  const { list, noun, Change } = writable
  const response = { 200: itemSchema(list) }
  const schema = { tags, summary: `Change a ${noun}`, params: IdParams, body: Change, response }
  const show = itemOf(list)
  app.patch(`${list.path}/:id`, { config, schema }, async (request) => {
    const { id } = request.params
    const change = readColumns(list, request.body)
    if (!isStorableText(id)) throw notFound(noun, id)
    return database.transaction(async (tx) => {
      const changed = Object.keys(change).join(',')
      if (changed !== '') await tx.updateTable(tableOf(list)).set(change).where('id', '=', id).execute()
      const row = await tx.selectFrom(tableOf(list)).selectAll().where('id', '=', id).executeTakeFirst()
      if (!row) throw notFound(noun, id)
      if (changed !== '') await audit(tx, request, 'item.changed', id, { changed })
      return show(row)
    })
  })
}

function deleteRoute(app: App, { database }: Parts, { list, noun }: WritableList, audit: ItemAudit): void {
  const schema = { tags, summary: `Delete a ${noun}`, params: IdParams, response: { 204: Type.Null() } }
  app.delete(`${list.path}/:id`, { config, schema }, async (request, reply) => {
    const { id } = request.params
    if (!isStorableText(id)) throw notFound(noun, id)
    await database.transaction(async (tx) => {
      const { numDeletedRows } = await tx.deleteFrom(tableOf(list)).where('id', '=', id).executeTakeFirst()
      if (numDeletedRows === 0n) throw notFound(noun, id)
      await audit(tx, request, 'item.deleted', id)
    })
    return reply.code(204).send(null)
  })
}

/** The columns of a body. @throws Problem `invalid-body` with the reason. */
function readColumns(list: ListDeclaration, body: ItemBody): Record<string, unknown> {
  try {
    return columnsOf(list, body)
  } catch (error) {
    if (!(error instanceof InvalidTime)) throw error
    throw invalidBody('/createdAt', `/createdAt ${error.message}.`)
  }
}

/** Writes the audit entry of one change in its transaction. */
type ItemAudit = (
  tx: Tx,
  request: FastifyRequest,
  action: 'item.created' | 'item.changed' | 'item.deleted',
  id: string,
  detail?: { changed: string },
) => Promise<void>

function itemOf(list: ListDeclaration): (row: object) => Item {
  const present = presenter(list.fields)
  return (row) => present(columnsToRow(list, row))
}

function notFound(noun: string, id: string): Problem {
  return new Problem('not-found', { detail: `There is no ${noun} with the id ${JSON.stringify(id)}.` })
}

/** A list whose items can be written over HTTP and imported. */
export type WritableList = ReturnType<typeof writable>

/** What a body schema accepts. */
type ItemBody = Readonly<Record<string, unknown>> & { createdAt?: string }

/** A text of `min` to `max` UTF-16 code units. Cursors contain sort keys, so their length must have a bound. */
export function boundedText(min: number, max: number, description: string) {
  return Type.String({ minLength: min, maxLength: max, pattern: storablePattern, description })
}

export const idField = boundedText(1, 200, 'Unique id')
const time = Type.String({
  maxLength: 64,
  description: 'ISO 8601 with any offset and up to microseconds',
})

/**
 * @param list its table has the columns `id` and `created_at`
 * @param noun the name of one item in messages
 * @param lengths the most UTF-16 code units of each text
 */
function writable(list: ListDeclaration, noun: string, lengths: Readonly<Record<string, number>>) {
  const [key] = list.key as [string]
  const { [key]: _key, createdAt: _time, ...written } = list.fields
  const fields = Object.fromEntries(
    Object.entries(written).map(([name, { type, description }]) => [
      name,
      type === 'number' ? Type.Number({ description }) : boundedText(0, lengths[name]!, description),
    ]),
  )
  return {
    list,
    noun,
    /** The body of a creation. */
    New: closedObject({ [key]: Type.Optional(idField), ...fields, createdAt: Type.Optional(time) }),
    /** The body of a change. */
    Change: Type.Partial(Type.Object({ ...fields, createdAt: time }), { additionalProperties: false }),
  }
}

export const writableProducts = writable(products, 'product', { category: 200, name: 300 })
export const writablePosts = writable(posts, 'post', { title: 500, body: 100_000 })

/** The columns of a body, with its time in canonical form. @throws InvalidTime */
export function columnsOf(list: ListDeclaration, body: ItemBody): Record<string, unknown> {
  const { createdAt, ...others } = body
  const values = { ...others, ...(createdAt !== undefined && { createdAt: canonicalTime(createdAt) }) }
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [fieldOf(list, name).column, value]),
  )
}
