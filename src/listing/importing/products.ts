import { Type } from 'typebox'
import { canonicalTime, timeOf } from '../../paging/time.ts'
import type { ProductsTable } from '../../storage/tables.ts'
import { idField } from '../writing/fields.ts'
import { NewProduct } from '../writing/products.ts'
import { createCheck, type ImportTarget } from './target.ts'

/** As the API takes them, but never without an id: without one, a second run would import everything again. */
export const ImportedProduct = Type.Object({ ...NewProduct.properties, id: idField })

/** `keepsTime`: the record brings no createdAt, so one that is in the table stays. */
interface Row {
  values: ProductsTable
  keepsTime: boolean
}

const check = createCheck(ImportedProduct)

export const productTarget: ImportTarget<Row> = {
  read(fields, now) {
    const { createdAt, ...product } = check(fields)
    const time = createdAt === undefined ? timeOf(now) : canonicalTime(createdAt)
    return { values: { ...product, created_at: time }, keepsTime: createdAt === undefined }
  },
  keyOf: ({ values }) => values.id,
  async save(tx, rows) {
    for (const keepsTime of [false, true]) {
      const values = rows.filter((row) => row.keepsTime === keepsTime).map((row) => row.values)
      if (values.length === 0) continue
      await tx
        .insertInto('products')
        .values(values)
        .onConflict((conflict) =>
          conflict.column('id').doUpdateSet((eb) => ({
            category: eb.ref('excluded.category'),
            price: eb.ref('excluded.price'),
            stock: eb.ref('excluded.stock'),
            name: eb.ref('excluded.name'),
            created_at: eb.ref(keepsTime ? 'products.created_at' : 'excluded.created_at'),
          })),
        )
        .execute()
    }
  },
}
