import { defineList } from '../list.ts'

export const posts = defineList({
  name: 'posts',
  path: '/api/posts',
  table: 'posts',
  summary: 'Posts, newest first',
  fields: {
    _id: { column: 'id', type: 'text', description: 'Unique id' },
    title: { column: 'title', type: 'text', description: 'Title' },
    body: { column: 'body', type: 'text', description: 'Text' },
    createdAt: { column: 'created_at', type: 'time', description: 'Creation, in UTC, to the microsecond' },
  },
  key: '_id',
  filters: [],
  sort: [],
  order: ['-createdAt'],
  paging: 'cursor',
  limit: { default: 20, max: 100 },
  access: 'public',
})
