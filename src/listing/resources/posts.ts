import type { ListDeclaration } from '../list.ts'

export const posts: ListDeclaration = {
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
  pages: ['cursor'],
  limit: { default: 20, max: 100 },
  count: 'exact',
  maintainCounts: false,
  choices: false,
  expand: [],
  exports: false,
  access: 'public',
  openInDemo: true,
}
