import type { Database } from '../../storage/database.ts'
import type { PostsTable, ProductsTable } from '../../storage/tables.ts'

interface Rows {
  products: ProductsTable
  posts: PostsTable
}
export type WritableTable = keyof Rows
export type RowOf<T extends WritableTable> = Rows[T]

/** What the calls that change products and posts do. Both tables are keyed by `id`. */
export interface WritableStore<T extends WritableTable> {
  /** @throws the engine's unique violation when the id is taken. */
  insert(row: RowOf<T>): Promise<void>
  /** The row as it is after the change; `undefined` when there is none with this id. */
  update(id: string, change: Partial<RowOf<T>>): Promise<RowOf<T> | undefined>
  /** False when there is none with this id. */
  remove(id: string): Promise<boolean>
}

export function productStore(database: Database): WritableStore<'products'> {
  return {
    async insert(row) {
      await database.transaction((tx) => tx.insertInto('products').values(row).execute())
    },
    update: (id, change) =>
      database.transaction(async (tx) => {
        if (Object.keys(change).length > 0)
          await tx.updateTable('products').set(change).where('id', '=', id).execute()
        return tx.selectFrom('products').selectAll().where('id', '=', id).executeTakeFirst()
      }),
    remove: (id) =>
      database.transaction(async (tx) => {
        const { numDeletedRows } = await tx.deleteFrom('products').where('id', '=', id).executeTakeFirst()
        return numDeletedRows > 0n
      }),
  }
}

export function postStore(database: Database): WritableStore<'posts'> {
  return {
    async insert(row) {
      await database.transaction((tx) => tx.insertInto('posts').values(row).execute())
    },
    update: (id, change) =>
      database.transaction(async (tx) => {
        if (Object.keys(change).length > 0)
          await tx.updateTable('posts').set(change).where('id', '=', id).execute()
        return tx.selectFrom('posts').selectAll().where('id', '=', id).executeTakeFirst()
      }),
    remove: (id) =>
      database.transaction(async (tx) => {
        const { numDeletedRows } = await tx.deleteFrom('posts').where('id', '=', id).executeTakeFirst()
        return numDeletedRows > 0n
      }),
  }
}
