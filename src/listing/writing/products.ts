import { Type, type Static } from 'typebox'
import type { ProductsTable } from '../../storage/tables.ts'
import { boundedText, changeOf, optionalId, optionalTime } from './fields.ts'
import { closedObject } from '../../http/schemas/schemas.ts'

const fields = {
  category: boundedText(0, 200, 'Category'),
  price: Type.Number({ description: 'Price' }),
  stock: Type.Number({ description: 'The number of items in stock' }),
  name: boundedText(0, 300, 'Name'),
}

export const NewProduct = closedObject({ id: optionalId, ...fields, createdAt: optionalTime })
export type NewProduct = Static<typeof NewProduct>

export const ProductChange = changeOf(fields)

export function productRow({ id, ...product }: NewProduct, newId: string, createdAt: string): ProductsTable {
  const { category, price, stock, name } = product
  return { id: id ?? newId, category, price, stock, name, created_at: createdAt }
}
