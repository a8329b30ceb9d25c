import { Type } from 'typebox'
import { idField } from '../writing/fields.ts'
import { NewProduct } from '../writing/products.ts'
import { itemTarget } from './item-target.ts'

/** The body of `POST /products`, with a required id: without ids, a second run would import all rows again. */
export const ImportedProduct = Type.Object({ ...NewProduct.properties, id: idField })

export const productTarget = itemTarget('products', ImportedProduct, (product, created_at) => ({
  ...product,
  created_at,
}))
