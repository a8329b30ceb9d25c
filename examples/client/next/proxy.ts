// Sends browsers that are not signed in to /login. Before Next.js 16 the file is middleware.ts and exports `middleware`.
import { createMiddleware } from 'postern-client/next'
import { postern } from './lib/postern.ts'

export const proxy = createMiddleware(postern)

export const config = { matcher: ['/account/:path*'] }
