import { defineConfig, list } from 'postern'

const text = { type: 'text' } as const

/** The same million users once more, as a declared list that can leave the total out, and posts by a declared keyset. */
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
    ],
  },
})
