import { Type, type Static, type TObject } from 'typebox'
import { canonicalTime, timeOf } from '../../paging/time.ts'
import type { Tx } from '../../storage/database.ts'
import type { ProductsTable } from '../../storage/tables.ts'
import type { ItemRow, WritableTable } from '../writing/store.ts'
import { createCheck, type ImportTarget } from './target.ts'
import { idField } from '../writing/fields.ts'
import { NewPost } from '../writing/posts.ts'
import { NewProduct } from '../writing/products.ts'

/** A row to import, and whether its record has a `createdAt`. Without one, an existing row keeps its own. */
interface ImportedItem {
  values: ItemRow
  hasTime: boolean
}

/** Imports into a table whose rows can also be written over HTTP, by the same rules. */
function itemTarget<S extends TObject>(
  table: WritableTable,
  schema: S,
  toRow: (fields: Omit<Static<S>, 'createdAt'>, createdAt: string) => ItemRow,
): ImportTarget<ImportedItem> {
  const check = createCheck(schema)
  return {
    read(fields, now) {
      const { createdAt, ...rest } = check(fields) as Static<S> & { createdAt?: string }
      const time = createdAt === undefined ? timeOf(now) : canonicalTime(createdAt)
      return { values: toRow(rest, time), hasTime: createdAt !== undefined }
    },
    keyOf: ({ values }) => values.id,
    async save(tx, rows) {
      for (const hasTime of [true, false]) {
        const values = rows.filter((row) => row.hasTime === hasTime).map((row) => row.values)
        if (values.length > 0) await upsert(tx, table, values, hasTime)
      }
    },
  }
}

async function upsert(
  tx: Tx,
  name: WritableTable,
  rows: readonly ItemRow[],
  hasTime: boolean,
): Promise<void> {
  // Kysely has no type for a table that is a variable. The columns are those of the rows.
  const table = name as 'products'
  const columns = Object.keys(rows[0]!) as (keyof ProductsTable)[]
  const changed = columns.filter((column) => column !== 'id' && (hasTime || column !== 'created_at'))
  await tx
    .insertInto(table)
    .values(rows as readonly ProductsTable[])
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet((eb) =>
          Object.fromEntries(changed.map((column) => [column, eb.ref(`excluded.${column}`)])),
        ),
    )
    .execute()
}

export const ImportedPost = Type.Object({ ...NewPost.properties, _id: idField })

export const postTarget = itemTarget('posts', ImportedPost, ({ _id: id, title, body }, created_at) => ({
  id,
  title,
  body,
  created_at,
}))

/** The body of `POST /products`, with a required id: without ids, a second run would import all rows again. */
export const ImportedProduct = Type.Object({ ...NewProduct.properties, id: idField })

export const productTarget = itemTarget('products', ImportedProduct, (product, created_at) => ({
  ...product,
  created_at,
}))
