import swagger from '@fastify/swagger'
import { readFileSync } from 'node:fs'
import type { App } from './app.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }

/** Collects every route's schema; GET /openapi.json and /docs (operations) show them. */
export async function describeRoutes(app: App): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Postern', version, description: 'Sign-in, webhooks in, webhooks out, lists.', license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'An API key or an access token.' },
          session: { type: 'apiKey', in: 'cookie', name: 'postern_session', description: 'The cookie that signing in sets.' },
        },
      },
    },
  })
}

export { version }
