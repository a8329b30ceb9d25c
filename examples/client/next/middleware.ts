// Sends browsers that are not signed in to /login. From Next.js 16 on the file is proxy.ts and exports `proxy`.
import { createMiddleware } from 'postern-client/next'
import { postern } from './lib/postern.ts'

export const middleware = createMiddleware(postern)

export const config = { matcher: ['/account/:path*'] }
