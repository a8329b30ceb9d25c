import type { Database, Tx } from '../../storage/database.ts'
import type { PostsTable, ProductsTable } from '../../storage/tables.ts'

interface Rows {
  products: ProductsTable
  posts: PostsTable
}
/** The tables whose rows can be written over HTTP. Their key is `id`. */
export type WritableTable = keyof Rows
export type RowOf<T extends WritableTable> = Rows[T]

/** Runs in the transaction of a change, only if there is a change. */
type SideEffect = (tx: Tx) => Promise<void>

export interface ItemStore<T extends WritableTable> {
  /** @throws the engine's unique violation when the id exists. */
  insert(row: RowOf<T>, effect: SideEffect): Promise<void>
  /** Returns the row after the change; `undefined` when the id does not exist. */
  update(id: string, change: Partial<RowOf<T>>, effect: SideEffect): Promise<RowOf<T> | undefined>
  /** Returns false when the id does not exist. */
  delete(id: string, effect: SideEffect): Promise<boolean>
}

export function itemStore<T extends WritableTable>(database: Database, name: T): ItemStore<T> {
  // Kysely has no type for a table that is a type parameter. The statements only use what all of these tables have.
  const table = name as 'products'
  return {
    async insert(row, effect) {
      await database.transaction(async (tx) => {
        await tx
          .insertInto(table)
          .values(row as ProductsTable)
          .execute()
        await effect(tx)
      })
    },
    update: (id, change, effect) =>
      database.transaction(async (tx) => {
        const changes = Object.keys(change).length > 0
        if (changes)
          await tx
            .updateTable(table)
            .set(change as Partial<ProductsTable>)
            .where('id', '=', id)
            .execute()
        const row = await tx.selectFrom(table).selectAll().where('id', '=', id).executeTakeFirst()
        if (row && changes) await effect(tx)
        return row as RowOf<T> | undefined
      }),
    delete: (id, effect) =>
      database.transaction(async (tx) => {
        const { numDeletedRows } = await tx.deleteFrom(table).where('id', '=', id).executeTakeFirst()
        if (numDeletedRows > 0n) await effect(tx)
        return numDeletedRows > 0n
      }),
  }
}
