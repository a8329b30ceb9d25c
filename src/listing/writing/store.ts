import type { Database, Tx } from '../../storage/database.ts'
import type { PostsTable, ProductsTable } from '../../storage/tables.ts'

interface Rows {
  products: ProductsTable
  posts: PostsTable
}
export type WritableTable = keyof Rows
export type RowOf<T extends WritableTable> = Rows[T]

/** What is written in the transaction of a change, when there is one. */
type Also = (tx: Tx) => Promise<void>

/** What the calls that change products and posts do. Both tables are keyed by `id`. */
export interface WritableStore<T extends WritableTable> {
  /** @throws the engine's unique violation when the id is taken. */
  insert(row: RowOf<T>, also: Also): Promise<void>
  /** The row as it is after the change; `undefined` when there is none with this id. */
  update(id: string, change: Partial<RowOf<T>>, also: Also): Promise<RowOf<T> | undefined>
  /** False when there is none with this id. */
  remove(id: string, also: Also): Promise<boolean>
}

export function productStore(database: Database): WritableStore<'products'> {
  return {
    async insert(row, also) {
      await database.transaction(async (tx) => {
        await tx.insertInto('products').values(row).execute()
        await also(tx)
      })
    },
    update: (id, change, also) =>
      database.transaction(async (tx) => {
        const changes = Object.keys(change).length > 0
        if (changes) await tx.updateTable('products').set(change).where('id', '=', id).execute()
        const row = await tx.selectFrom('products').selectAll().where('id', '=', id).executeTakeFirst()
        if (row && changes) await also(tx)
        return row
      }),
    remove: (id, also) =>
      database.transaction(async (tx) => {
        const { numDeletedRows } = await tx.deleteFrom('products').where('id', '=', id).executeTakeFirst()
        if (numDeletedRows > 0n) await also(tx)
        return numDeletedRows > 0n
      }),
  }
}

export function postStore(database: Database): WritableStore<'posts'> {
  return {
    async insert(row, also) {
      await database.transaction(async (tx) => {
        await tx.insertInto('posts').values(row).execute()
        await also(tx)
      })
    },
    update: (id, change, also) =>
      database.transaction(async (tx) => {
        const changes = Object.keys(change).length > 0
        if (changes) await tx.updateTable('posts').set(change).where('id', '=', id).execute()
        const row = await tx.selectFrom('posts').selectAll().where('id', '=', id).executeTakeFirst()
        if (row && changes) await also(tx)
        return row
      }),
    remove: (id, also) =>
      database.transaction(async (tx) => {
        const { numDeletedRows } = await tx.deleteFrom('posts').where('id', '=', id).executeTakeFirst()
        if (numDeletedRows > 0n) await also(tx)
        return numDeletedRows > 0n
      }),
  }
}
