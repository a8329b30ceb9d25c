import type { App } from '../app.ts'
import { preflightRoute } from './preflight-route.ts'

/** The config of the route of a document that caches may keep, and pages of any origin may read. */
export const publicDocument = {
  access: 'public',
  ownOrigins: true,
  sends: { always: ['Cache-Control', 'Access-Control-Allow-Origin'] },
} as const

/** The headers of such a document, beside `Cache-Control`. */
export const publicDocumentHeaders = {
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
}

/** Answers the preflights of its path. MCP clients send `MCP-Protocol-Version` with such a call. */
export function publicDocumentPreflights(routes: App, path: string): void {
  preflightRoute(routes, path, { methods: 'GET', headers: '*, authorization', origin: '*' })
}
