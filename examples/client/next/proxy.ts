// Sends browsers that are not signed in to the sign-in. Before Next.js 16 the file is middleware.ts and exports `middleware`.
import { createMiddleware } from 'postern-client/next'
import { postern, signInUrl } from './lib/postern.ts'

export const proxy = createMiddleware(postern, { signInUrl })

export const config = { matcher: ['/account/:path*'] }
