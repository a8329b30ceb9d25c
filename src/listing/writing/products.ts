import { Type, type Static } from 'typebox'
import type { ProductsTable } from '../../storage/tables.ts'
import { boundedText, idField, readTime, timeField } from './fields.ts'

const fields = {
  category: boundedText(0, 200, 'Category'),
  price: Type.Number({ description: 'Price' }),
  stock: Type.Number({ description: 'How much is in stock' }),
  name: boundedText(0, 300, 'Name'),
}

export const NewProduct = Type.Object(
  { id: Type.Optional(idField), ...fields, createdAt: Type.Optional(timeField) },
  { additionalProperties: false },
)
export type NewProduct = Static<typeof NewProduct>

export const ProductChange = Type.Partial(Type.Object({ ...fields, createdAt: timeField }), {
  additionalProperties: false,
})
export type ProductChange = Static<typeof ProductChange>

/** The row of a product. `id` and `createdAt` are used if the body has none. */
export function productRow(product: NewProduct, id: string, createdAt: string): ProductsTable {
  return {
    id: product.id ?? id,
    category: product.category,
    price: product.price,
    stock: product.stock,
    name: product.name,
    created_at: product.createdAt === undefined ? createdAt : readTime(product.createdAt),
  }
}

export function productUpdate({ createdAt, ...change }: ProductChange): Partial<ProductsTable> {
  return createdAt === undefined ? change : { ...change, created_at: readTime(createdAt) }
}
