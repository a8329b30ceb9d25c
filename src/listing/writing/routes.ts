import type { FastifyRequest } from 'fastify'
import { Type, type TSchema } from 'typebox'
import { auditOrigin, createRecordAudit } from '../../accounts/audit/audit.ts'
import type { Clock } from '../../runtime/clock.ts'
import { newId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { timeOf } from '../../paging/time.ts'
import type { Database, Tx } from '../../storage/database.ts'
import { isStorableText } from '../../storage/text.ts'
import { isUniqueViolation } from '../../storage/unavailable.ts'
import { columnsToRow, presenter, type Item } from '../items.ts'
import type { ListWrites } from '../catalogue.ts'
import type { ListDeclaration } from '../list.ts'
import { posts } from '../resources/posts.ts'
import { products } from '../resources/products.ts'
import { itemSchema } from '../schema.ts'
import { NewPost, PostChange, postRow } from './posts.ts'
import { NewProduct, ProductChange, productRow } from './products.ts'
import { ItemStore, type ItemRow } from './store.ts'
import { readTime } from './fields.ts'
import { IdParams } from '../../http/schemas/schemas.ts'

/** A list whose items can be written. */
interface Writable {
  list: ListDeclaration
  /** The name of one item in messages. */
  noun: string
  store: ItemStore
  New: TSchema
  Change: TSchema
  /** @param body valid by `New`. @param id used when the body has none. */
  toRow: (body: never, id: string, createdAt: string) => ItemRow
}

const config = { access: { scope: 'lists:write' } } as const
const tags = ['lists']

/** Declares `POST`, `PATCH` and `DELETE` of products and posts. Returns the bodies of these calls by the path of the list. */
export function writeRoutes(
  app: App,
  { database, clock }: { database: Database; clock: Clock },
): ReadonlyMap<string, ListWrites> {
  const writables: Writable[] = [
    {
      list: products,
      noun: 'product',
      store: new ItemStore(database, 'products'),
      New: NewProduct,
      Change: ProductChange,
      toRow: productRow,
    },
    {
      list: posts,
      noun: 'post',
      store: new ItemStore(database, 'posts'),
      New: NewPost,
      Change: PostChange,
      toRow: postRow,
    },
  ]
  for (const writable of writables) {
    const audit = itemAudit(clock, writable.noun)
    createRoute(app, clock, writable, audit)
    updateRoute(app, writable, audit)
    deleteRoute(app, writable, audit)
  }
  return new Map(writables.map(({ list, New, Change }) => [list.path, { create: New, change: Change }]))
}

function createRoute(app: App, clock: Clock, writable: Writable, audit: ItemAudit): void {
  const { list, noun, store, New, toRow } = writable
  const response = { 201: itemSchema(list) }
  const schema = { tags, summary: `Create a ${noun}`, body: New, response }
  const show = itemOf(list)
  app.post(list.path, { config, schema }, async (request, reply) => {
    const now = clock.now()
    const { createdAt } = request.body as { createdAt?: string }
    const time = createdAt === undefined ? timeOf(now) : readTime(createdAt)
    const row = toRow(request.body as never, newId(now), time)
    await store.insert(row, audit(request, 'item.created', row.id)).catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error
      throw new Problem('conflict', {
        detail: `There is a ${noun} with the id ${JSON.stringify(row.id)} already.`,
        cause: error,
      })
    })
    return reply.code(201).send(show(row))
  })
}

function updateRoute(app: App, { list, noun, store, Change }: Writable, audit: ItemAudit): void {
  const response = { 200: itemSchema(list) }
  const schema = { tags, summary: `Change a ${noun}`, params: IdParams, body: Change, response }
  const show = itemOf(list)
  app.patch(`${list.path}/:id`, { config, schema }, async (request) => {
    const { id } = request.params
    const { createdAt, ...others } = request.body as { createdAt?: string }
    const change = { ...others, ...(createdAt !== undefined && { created_at: readTime(createdAt) }) }
    const effect = audit(request, 'item.changed', id, change)
    const row = isStorableText(id) ? await store.update(id, change, effect) : undefined
    if (!row) throw notFound(noun, id)
    return show(row)
  })
}

function deleteRoute(app: App, { list, noun, store }: Writable, audit: ItemAudit): void {
  const response = { 204: Type.Null() }
  const schema = { tags, summary: `Delete a ${noun}`, params: IdParams, response }
  app.delete(`${list.path}/:id`, { config, schema }, async (request, reply) => {
    const { id } = request.params
    const effect = audit(request, 'item.deleted', id)
    if (!isStorableText(id) || !(await store.delete(id, effect))) throw notFound(noun, id)
    return reply.code(204).send(null)
  })
}

/** Returns the function that writes the audit entry of one change in its transaction. */
type ItemAudit = (
  request: FastifyRequest,
  action: 'item.created' | 'item.changed' | 'item.deleted',
  id: string,
  change?: object,
) => (tx: Tx) => Promise<void>

function itemAudit(clock: Clock, noun: string): ItemAudit {
  const record = createRecordAudit(clock)
  return (request, action, id, change = {}) => {
    const fields = Object.keys(change).join(',')
    const detail = fields === '' ? undefined : { changed: fields }
    return (tx) => record(tx, { ...auditOrigin(request), action, target: `${noun}:${id}`, detail })
  }
}

function itemOf(list: ListDeclaration): (row: object) => Item {
  const present = presenter(list.fields)
  return (row) => present(columnsToRow(list, row))
}

function notFound(noun: string, id: string): Problem {
  return new Problem('not-found', { detail: `There is no ${noun} with the id ${JSON.stringify(id)}.` })
}
