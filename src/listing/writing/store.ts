import type { Database, Tx } from '../../storage/database.ts'
import type { PostsTable, ProductsTable } from '../../storage/tables.ts'

/** The tables whose rows can be written over HTTP. Their key is `id`. */
export type WritableTable = 'products' | 'posts'
export type ItemRow = ProductsTable | PostsTable

/** Runs in the transaction of a change, only if there is a change. */
type SideEffect = (tx: Tx) => Promise<void>

/** The rows of one table. The caller passes rows and changes of this table only. */
export class ItemStore {
  readonly #database: Database
  /** Kysely has no type for a table that is a variable. The statements use only what both tables have. */
  readonly #table: 'products'

  constructor(database: Database, table: WritableTable) {
    this.#database = database
    this.#table = table as 'products'
  }

  /** @throws the engine's unique violation when the id exists. */
  async insert(row: ItemRow, effect: SideEffect): Promise<void> {
    await this.#database.transaction(async (tx) => {
      await tx
        .insertInto(this.#table)
        .values(row as ProductsTable)
        .execute()
      await effect(tx)
    })
  }

  /** Returns the row after the change; `undefined` when the id does not exist. */
  async update(id: string, change: object, effect: SideEffect): Promise<ItemRow | undefined> {
    return this.#database.transaction(async (tx) => {
      const changes = Object.keys(change).length > 0
      if (changes) await tx.updateTable(this.#table).set(change).where('id', '=', id).execute()
      const row = await tx.selectFrom(this.#table).selectAll().where('id', '=', id).executeTakeFirst()
      if (row && changes) await effect(tx)
      return row
    })
  }

  /** Returns false when the id does not exist. */
  async delete(id: string, effect: SideEffect): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      const { numDeletedRows } = await tx.deleteFrom(this.#table).where('id', '=', id).executeTakeFirst()
      if (numDeletedRows > 0n) await effect(tx)
      return numDeletedRows > 0n
    })
  }
}
