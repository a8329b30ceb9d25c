import { completeList } from '../declaration.ts'
import type { ListDeclaration } from '../list.ts'

export const posts: ListDeclaration = {
  ...completeList({
    name: 'posts',
    path: '/api/posts',
    table: 'posts',
    summary: 'Posts, newest first',
    fields: {
      _id: { column: 'id', type: 'text', description: 'Unique id' },
      title: { type: 'text', description: 'Title' },
      body: { type: 'text', description: 'Text' },
      createdAt: { column: 'created_at', type: 'time', description: 'Creation, in UTC, to the microsecond' },
    },
    key: '_id',
    order: ['-createdAt'],
    access: 'public',
  }),
  choices: false,
  openInDemo: true,
}
