import type { FastifyRequest } from 'fastify'
import { Type, type Static, type TSchema } from 'typebox'
import { auditOrigin, createRecordAudit } from '../../accounts/audit.ts'
import type { Clock } from '../../runtime/clock.ts'
import { newId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { timeOf } from '../../paging/time.ts'
import type { Database, Tx } from '../../storage/database.ts'
import { isStorableText } from '../../storage/text.ts'
import { isUniqueViolation } from '../../storage/unavailable.ts'
import { columnsToRow, presenter, type Item } from '../items.ts'
import type { ListDeclaration } from '../list.ts'
import { posts } from '../resources/posts.ts'
import { products } from '../resources/products.ts'
import { itemSchema } from '../schema.ts'
import { NewPost, PostChange, postRow, postUpdate } from './posts.ts'
import { NewProduct, ProductChange, productRow, productUpdate } from './products.ts'
import { postStore, productStore, type RowOf, type WritableStore, type WritableTable } from './store.ts'

interface Writable<T extends WritableTable, New extends TSchema, Change extends TSchema> {
  list: ListDeclaration
  /** How one of them is called in a sentence. */
  noun: string
  store: WritableStore<T>
  New: New
  Change: Change
  /** `id` and `createdAt` are for those that the body does not bring. */
  toRow: (body: Static<New>, id: string, createdAt: string) => RowOf<T>
  toUpdate: (body: Static<Change>) => Partial<RowOf<T>>
}

type ItemAction = 'item.created' | 'item.changed' | 'item.deleted'

/** Declares `POST`, `PATCH` and `DELETE` of products and posts. */
export function writeRoutes(app: App, { database, clock }: { database: Database; clock: Clock }): void {
  declare(app, clock, {
    list: products,
    noun: 'product',
    store: productStore(database),
    New: NewProduct,
    Change: ProductChange,
    toRow: productRow,
    toUpdate: productUpdate,
  })
  declare(app, clock, {
    list: posts,
    noun: 'post',
    store: postStore(database),
    New: NewPost,
    Change: PostChange,
    toRow: postRow,
    toUpdate: postUpdate,
  })
}

function declare<T extends WritableTable, New extends TSchema, Change extends TSchema>(
  app: App,
  clock: Clock,
  { list, noun, store, New, Change, toRow, toUpdate }: Writable<T, New, Change>,
): void {
  const config = { access: { scope: 'lists:write' } } as const
  const tags = ['lists']
  const item = itemSchema(list)
  const present = presenter(list.fields)
  const show = (row: RowOf<T>): Item => present(columnsToRow(list, row))
  const params = Type.Object({ id: Type.String() })
  const record = createRecordAudit(clock)
  const recorded =
    (request: FastifyRequest, action: ItemAction, id: string, change: object = {}) =>
    (tx: Tx): Promise<void> => {
      const fields = Object.keys(change).join(',')
      const detail = fields === '' ? undefined : { changed: fields }
      return record(tx, { ...auditOrigin(request), action, target: `${noun}:${id}`, detail })
    }
  const absent = (id: string): Problem =>
    new Problem('not-found', { detail: `There is no ${noun} with the id ${JSON.stringify(id)}.` })

  app.post(
    list.path,
    { config, schema: { tags, summary: `Create a ${noun}`, body: New, response: { 201: item } } },
    async (request, reply) => {
      const now = clock.now()
      const row = toRow(request.body as Static<New>, newId(now), timeOf(now))
      await store.insert(row, recorded(request, 'item.created', row.id)).catch((error: unknown) => {
        if (!isUniqueViolation(error)) throw error
        throw new Problem('conflict', {
          detail: `There is a ${noun} with the id ${JSON.stringify(row.id)} already.`,
          cause: error,
        })
      })
      return reply.code(201).send(show(row))
    },
  )

  app.patch(
    `${list.path}/:id`,
    { config, schema: { tags, summary: `Change a ${noun}`, params, body: Change, response: { 200: item } } },
    async (request) => {
      const { id } = request.params
      const change = toUpdate(request.body as Static<Change>)
      const also = recorded(request, 'item.changed', id, change)
      const row = isStorableText(id) ? await store.update(id, change, also) : undefined
      if (!row) throw absent(id)
      return show(row)
    },
  )

  app.delete(
    `${list.path}/:id`,
    { config, schema: { tags, summary: `Delete a ${noun}`, params, response: { 204: Type.Null() } } },
    async (request, reply) => {
      const { id } = request.params
      const also = recorded(request, 'item.deleted', id)
      if (!isStorableText(id) || !(await store.remove(id, also))) throw absent(id)
      return reply.code(204).send(null)
    },
  )
}
