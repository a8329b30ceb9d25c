import { defineConfig, list } from 'postern'

const text = { type: 'text' } as const

/** The same million users once more, as a declared list that can leave the total out, and posts as one that is exported. */
export default defineConfig({
  listing: {
    lists: [
      list({
        path: '/people',
        table: 'users',
        fields: { id: text, email: text, name: text, provider: text },
        key: 'id',
        pages: ['offset'],
        keep: true,
      }),
      list({
        path: '/entries',
        table: 'posts',
        fields: { id: text, title: text, body: text, createdAt: { type: 'time', column: 'created_at' } },
        key: 'id',
        exports: true,
      }),
    ],
  },
})
