import swagger from '@fastify/swagger'
import type { Configuration } from '../../config/environment.ts'
import type { App } from '../app.ts'
import { version } from '../../runtime/version.ts'
import { scopesOf } from '../access/access.ts'
import { type Access, scopes } from '../access/principal.ts'
import {
  headerComponents,
  headersOfDeclared,
  headersOfProblem,
  type Sender,
} from '../responses/response-headers.ts'
import type { FastifyContextConfig, FastifySchema } from 'fastify'

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

const problem = {
  description: 'A problem (RFC 9457); GET /problems/{code} explains its code.',
  content: {
    'application/problem+json': {
      schema: {
        type: 'object',
        required: ['type', 'title', 'status', 'code', 'requestId'],
        properties: {
          type: { type: 'string' },
          title: { type: 'string' },
          status: { type: 'integer' },
          code: { type: 'string' },
          detail: { type: 'string' },
          advice: { type: 'string' },
          source: {
            type: 'object',
            properties: { parameter: { type: 'string' }, pointer: { type: 'string' } },
          },
          requestId: { type: 'string' },
        },
      },
    },
  },
}

type Requirement = Record<string, string[]>

const credentials: Record<Exclude<Access, object>, readonly Requirement[]> = {
  public: [],
  user: [{ bearer: [] }, { session: [] }],
  session: [{ session: [] }],
  portal: [{ portal: [] }],
}

/**
 * Security requirements: each scheme with the roles that it needs, which are the scope of a key, or the role of a session's user
 * (https://spec.openapis.org/oas/v3.1.0#security-requirement-object).
 */
function requirementsOf(access: Access): readonly Requirement[] {
  if (typeof access === 'string') return credentials[access]
  if (access.orUser) return credentials.user
  return [...scopesOf(access.scope).map((scope) => ({ bearer: [scope] })), { session: ['admin'] }]
}

/** Adds the needed scope to the description of an operation, because few viewers show the roles of a requirement. */
function describeWithScope(description: unknown, access: Access): string | undefined {
  const own = typeof description === 'string' ? description : undefined
  if (typeof access === 'string') return own
  const named = scopesOf(access.scope).map((scope) => `\`${scope}\``)
  const sentence = `An API key needs the scope ${named.join(' or ')}.`
  return own === undefined ? sentence : `${own} ${sentence}`
}

/** What the description of a route depends on beside its schema and config. */
interface DescriptionParts {
  /** Whether routes with `openInDemo` are open. Then their credentials are described as optional. */
  demo: boolean
  /** Whether rate limits are on. */
  limited: boolean
  /** Whether pages of other origins may read answers. */
  crossOrigin: boolean
}

/** Carries `config.optionalBody` through the plugin, which describes all bodies as required. */
const optionalBodyMark = 'x-optional-body'

/** Carries what decides on headers through the plugin, which cannot describe whether they are always present. */
const senderMark = 'x-sends'

interface DescribedSender extends Sender {
  access: Access
}

/** An operation of the document, as the plugin makes it. */
interface Operation {
  requestBody?: { required?: boolean }
  responses: Record<string, { content?: Record<string, object> }>
  [optionalBodyMark]?: true
  [senderMark]?: DescribedSender
}

/** The schema of a route with its credentials and problems, and with marks for `completeOperation`. */
function describeRoute(
  schema: FastifySchema,
  config: FastifyContextConfig = {},
  { demo, limited, crossOrigin }: DescriptionParts,
): FastifySchema {
  const { openInDemo, optionalBody, sends = {}, ownOrigins, forMachines, uncounted } = config
  // A route without it stops the start (access.ts).
  const access = config.access!
  const described = { ...schema } as Record<string, unknown>
  const isOpen = demo && access !== 'public' && openInDemo === true
  const requirements = requirementsOf(access)
  described['security'] = isOpen ? [{}, ...requirements] : requirements
  const description = describeWithScope(described['description'], access)
  if (description !== undefined) described['description'] = description
  if (optionalBody) described[optionalBodyMark] = true
  described['response'] = { ...(schema?.response as object | undefined), default: problem }
  described[senderMark] = {
    access,
    sends,
    limited: limited && uncounted !== true,
    crossOrigin: crossOrigin && ownOrigins !== true && forMachines !== true,
    ownOrigins: ownOrigins === true,
  } satisfies DescribedSender
  return described
}

/** Adds to an operation what the plugin cannot describe, and removes the marks. */
function completeOperation(operation: Operation): void {
  markOptionalBody(operation)
  addHeaders(operation)
}

function markOptionalBody(operation: Operation): void {
  if (operation[optionalBodyMark] && operation.requestBody) operation.requestBody.required = false
  delete operation[optionalBodyMark]
}

/** A declared answer with its headers. An error with a page may be a problem as well, for callers that do not ask for a page. */
function describeDeclared(
  status: string,
  response: { content?: Record<string, object> },
  sender: DescribedSender,
): object {
  const headers = headersOfDeclared(status, sender)
  const isPage = Number(status) >= 400 && response.content?.['text/html'] !== undefined
  if (!isPage) return { ...response, headers }
  return {
    ...response,
    content: { ...response.content, ...problem.content },
    headers: { ...headersOfProblem('default', sender), ...headers },
  }
}

/** Adds the headers of every answer, and an answer for each problem that always has headers of its own. */
function addHeaders(operation: Operation): void {
  const { [senderMark]: sender, responses } = operation
  delete operation[senderMark]
  if (!sender) return
  const { default: other, ...declared } = responses
  const answers: [string, object][] = Object.entries(declared).map(([status, response]) => [
    status,
    describeDeclared(status, response, sender),
  ])
  const add = (status: '401' | '429' | '503' | 'default'): void => {
    if (!(status in declared)) answers.push([status, { ...other, headers: headersOfProblem(status, sender) }])
  }
  if (sender.access !== 'public') add('401')
  if (sender.limited) add('429')
  add('503')
  add('default')
  operation.responses = Object.fromEntries(answers)
}
