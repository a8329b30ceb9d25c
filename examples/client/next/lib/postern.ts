import { createPostern } from 'postern-client'

/** One client for the whole application: it keeps the keys and the verified tokens. */
export const postern = createPostern({
  url: process.env['POSTERN_URL'] ?? 'http://127.0.0.1:3000',
  ...(process.env['POSTERN_API_KEY'] !== undefined && { token: process.env['POSTERN_API_KEY'] }),
})
