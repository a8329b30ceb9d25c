import swagger from '@fastify/swagger'
import type { Configuration } from '../../config/environment.ts'
import type { App } from '../app.ts'
import { version } from '../../runtime/version.ts'
import type { Access } from '../access/principal.ts'
import { scopes } from '../access/scopes.ts'
import { headerComponents } from '../responses/response-headers.ts'
import {
  completeOperation,
  describeRoute,
  type DescriptionParts,
  type Operation,
} from './route-description.ts'

const bearerDescription = `An API key or an access token. An access token needs the role admin for routes with a scope. Scopes of API keys:

${Object.entries(scopes)
  .map(([scope, meaning]) => `- \`${scope}\`: ${meaning}`)
  .join('\n')}`

/** Who may read the API reference: the page and the document. */
export function docsAccess({ apiDocs }: Pick<Configuration, 'apiDocs'>): Access {
  return apiDocs === 'private' ? { scope: 'operate' } : 'public'
}

const info = {
  title: 'Postern',
  version,
  description:
    'Sign-in, webhooks in, webhooks out, lists. Besides the headers described here, responses have headers that restrict browsers: Content-Security-Policy, X-Content-Type-Options, Referrer-Policy and others.',
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
}

const tags = [
  { name: 'receiving', description: 'Webhooks in' },
  { name: 'emitting', description: 'Webhooks out' },
  { name: 'subscribers', description: 'Receivers of emitted events' },
  { name: 'owners', description: 'Your customers, the owners of endpoints' },
  { name: 'deliveries', description: 'Events that were sent to subscribers, and the results' },
  { name: 'portal', description: 'Pages where owners manage their own subscribers' },
  { name: 'events', description: 'The log of received and emitted events' },
  { name: 'lists', description: 'Bounded pages' },
  { name: 'sign-in', description: 'Identity providers, sessions, tokens, accounts' },
  { name: 'apps', description: 'Applications of the product, which sign in with this service' },
  { name: 'operations', description: 'Health, metrics, this document' },
  { name: 'alerts', description: 'Destinations of alerts' },
  { name: 'pages', description: 'For people, in a browser' },
  { name: 'events that are sent', description: 'The requests that subscribers get' },
]

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: bearerDescription },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'postern_session',
    description: 'The cookie that signing in sets.',
  },
  portal: {
    type: 'apiKey',
    in: 'cookie',
    name: 'postern_portal',
    description: 'The cookie that opening a link to the portal sets.',
  },
} as const

/**
 * Describes every route from its schema. What all routes share (credentials, problems, headers of answers) is added here, from
 * the same `config` that the guard and the limits read.
 */
export async function describeRoutes(
  app: App,
  parts: DescriptionParts & { basePath: string },
): Promise<void> {
  app.decorate('webhooks', {})
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info,
      tags,
      ...(parts.basePath !== '' && { servers: [{ url: parts.basePath }] }),
      components: { headers: headerComponents(), securitySchemes },
    },
    transform: ({ schema, url, route }) => ({ schema: describeRoute(schema, route.config, parts), url }),
    transformObject: (document) => {
      const described = 'openapiObject' in document ? document.openapiObject : {}
      const paths = Object.values((described.paths ?? {}) as Record<string, Record<string, Operation>>)
      for (const operation of paths.flatMap((operations) => Object.values(operations)))
        completeOperation(operation)
      return Object.keys(app.webhooks).length === 0 ? described : { ...described, webhooks: app.webhooks }
    },
  })
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The requests to subscribers by event type, as path items of OpenAPI; modules add them. */
    webhooks: Record<string, object>
  }
}
