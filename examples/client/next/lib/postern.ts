import { createPostern } from 'postern-client'

/** One client for the whole application: it keeps the keys and the verified tokens. */
export const postern = createPostern({
  url: process.env['POSTERN_URL'] ?? 'http://127.0.0.1:3000/gate',
  ...(process.env['POSTERN_API_KEY'] !== undefined && { token: process.env['POSTERN_API_KEY'] }),
})

/** The sign-in, for a path of this application: Postern is at the same origin, below `/gate/` (docs/guides/frameworks.md). */
export const signInUrl = (wanted: string): string => `/gate/login?return_to=${encodeURIComponent(wanted)}`
