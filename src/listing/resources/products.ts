import { completeList } from '../declaration.ts'
import type { ListDeclaration } from '../list.ts'

export const products: ListDeclaration = {
  ...completeList({
    name: 'products',
    path: '/products',
    table: 'products',
    summary: 'Products, filtered and sorted',
    fields: {
      id: { type: 'text', description: 'Unique id' },
      category: { type: 'text', description: 'Category' },
      price: { type: 'number', description: 'Price' },
      stock: { type: 'number', description: 'The number of items in stock' },
      name: { type: 'text', description: 'Name' },
      createdAt: { column: 'created_at', type: 'time', description: 'Creation, in UTC, to the microsecond' },
    },
    key: 'id',
    filters: {
      category: { kind: 'equals', description: 'Keeps products of exactly this category.' },
      minPrice: {
        kind: 'atLeast',
        field: 'price',
        description:
          'Keeps products of this price and above. A value that is not a decimal number has no effect.',
      },
      inStock: {
        kind: 'positiveWhenTrue',
        field: 'stock',
        description: '`true` keeps products whose stock is above 0. Any other value has no effect.',
      },
    },
    sort: ['price', 'name', 'createdAt'],
    order: ['createdAt'],
    limit: { default: 100 },
    access: 'public',
  }),
  choices: false,
  openInDemo: true,
}
