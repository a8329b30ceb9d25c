import type { ListDeclaration } from '../list.ts'

export const products: ListDeclaration = {
  name: 'products',
  path: '/products',
  table: 'products',
  summary: 'Products, filtered and sorted',
  fields: {
    id: { column: 'id', type: 'text', description: 'Unique id' },
    category: { column: 'category', type: 'text', description: 'Category' },
    price: { column: 'price', type: 'number', description: 'Price' },
    stock: { column: 'stock', type: 'number', description: 'How much is in stock' },
    name: { column: 'name', type: 'text', description: 'Name' },
    createdAt: { column: 'created_at', type: 'time', description: 'Creation, in UTC, to the microsecond' },
  },
  key: 'id',
  filters: [
    {
      parameter: 'category',
      kind: 'equals',
      field: 'category',
      description: 'Keeps products of exactly this category.',
    },
    {
      parameter: 'minPrice',
      kind: 'atLeast',
      field: 'price',
      description:
        'Keeps products of this price and above. A value that is not a decimal number has no effect.',
    },
    {
      parameter: 'inStock',
      kind: 'positiveWhenTrue',
      field: 'stock',
      description: '`true` keeps products whose stock is above 0. Any other value has no effect.',
    },
  ],
  sort: ['price', 'name', 'createdAt'],
  order: ['createdAt'],
  pages: ['cursor'],
  limit: { default: 100, max: 100 },
  count: 'exact',
  maintainCounts: false,
  choices: false,
  expand: [],
  exports: false,
  access: 'public',
  openInDemo: true,
}
