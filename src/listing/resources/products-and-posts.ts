import { completeList } from '../declaration.ts'
import type { List } from '../config.ts'
import type { ListDeclaration } from '../list.ts'

/** Their answers and parameters are specified, so clients have no choices that other lists offer. */
export const specified = (list: List): ListDeclaration => ({
  ...completeList(list),
  choices: false,
  strict: false,
  openInDemo: true,
})

const createdAt = {
  column: 'created_at',
  type: 'time',
  description: 'Creation, in UTC, to the microsecond',
} as const

export const products = specified({
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
    createdAt,
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
})

export const posts = specified({
  name: 'posts',
  path: '/api/posts',
  table: 'posts',
  summary: 'Posts, newest first',
  fields: {
    _id: { column: 'id', type: 'text', description: 'Unique id' },
    title: { type: 'text', description: 'Title' },
    body: { type: 'text', description: 'Text' },
    createdAt,
  },
  key: '_id',
  order: ['-createdAt'],
  access: 'public',
})
