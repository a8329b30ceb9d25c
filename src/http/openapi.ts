import swagger from '@fastify/swagger'
import { readFileSync } from 'node:fs'
import type { Configuration } from '../config/environment.ts'
import type { App } from './app.ts'
import type { Access } from './principal.ts'
import { scopes, scopesOf } from './scopes.ts'
import { headerComponents, headersOfDeclared, headersOfProblem, type Sender } from './response-headers.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}
export { version }

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
 * Security requirements. Beside a scheme stand the roles that it needs: of a key its scope, of a session the role of its user
 * (https://spec.openapis.org/oas/v3.1.0#security-requirement-object).
 */
function requirementsOf(access: Access): readonly Requirement[] {
  if (typeof access === 'string') return credentials[access]
  return [...scopesOf(access.scope).map((scope) => ({ bearer: [scope] })), { session: ['admin'] }]
}

/** The description of an operation with the scope that it needs, since few viewers show the roles of a requirement. */
function describeWithScope(description: unknown, access: Access): string | undefined {
  const own = typeof description === 'string' ? description : undefined
  if (typeof access === 'string') return own
  const named = scopesOf(access.scope).map((scope) => `\`${scope}\``)
  const sentence = `An API key needs the scope ${named.join(' or ')}.`
  return own === undefined ? sentence : `${own} ${sentence}`
}

const bearerDescription = `An API key or an access token. An access token needs the role admin where a scope is asked for. Scopes of API keys:

${Object.entries(scopes)
  .map(([scope, meaning]) => `- \`${scope}\`: ${meaning}`)
  .join('\n')}`

/** Who may read the API reference: the page and the document. */
export function docsAccess({ apiDocs }: Pick<Configuration, 'apiDocs'>): Access {
  return apiDocs === 'private' ? { scope: 'operate' } : 'public'
}

export interface DescriptionParts {
  /** Whether routes that are `openInDemo` are open now: their credentials are then told as optional. */
  demo: boolean
  /** Whether calls are counted. */
  limited: boolean
  /** Whether pages of other origins are let read answers. */
  crossOrigin: boolean
}

/**
 * Collects the description of every route from its schema; what holds for all of them (who may call, what problems look
 * like, which headers answers have) is added here, from the same `config` that the guard and the limits read.
 */
export async function describeRoutes(
  app: App,
  { demo, limited, crossOrigin }: DescriptionParts,
): Promise<void> {
  app.decorate('webhooks', {})
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Postern',
        version,
        description:
          'Sign-in, webhooks in, webhooks out, lists. Beside the headers that are described here, answers have those that tell browsers what they may do: Content-Security-Policy, X-Content-Type-Options, Referrer-Policy and their like.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      tags: [
        { name: 'receiving', description: 'Webhooks in' },
        { name: 'emitting', description: 'Webhooks out' },
        { name: 'subscribers', description: 'Who gets what is emitted' },
        { name: 'deliveries', description: 'What was sent to whom, and what became of it' },
        { name: 'portal', description: 'Pages where owners manage their own subscribers' },
        { name: 'events', description: 'The log of received and emitted events' },
        { name: 'lists', description: 'Bounded pages' },
        { name: 'sign-in', description: 'Identity providers, sessions, tokens, accounts' },
        { name: 'operations', description: 'Health, metrics, this document' },
        { name: 'pages', description: 'For people, in a browser' },
        { name: 'events that are sent', description: 'What subscribers get' },
      ],
      components: {
        headers: headerComponents(),
        securitySchemes: {
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
        },
      },
    },
    transform: ({ schema, url, route }) => {
      const access = route.config?.access ?? { scope: 'admin' }
      const described = { ...schema } as Record<string, unknown>
      const open = demo && access !== 'public' && route.config?.openInDemo === true
      const requirements = requirementsOf(access)
      described['security'] = open ? [{}, ...requirements] : requirements
      const description = describeWithScope(described['description'], access)
      if (description !== undefined) described['description'] = description
      if (route.config?.optionalBody) described[optionalBody] = true
      described['response'] = { ...(schema?.response as object | undefined), default: problem }
      const { sends = {}, ownOrigins, forMachines } = route.config ?? {}
      described[carried] = {
        access,
        sends,
        limited,
        crossOrigin: crossOrigin && ownOrigins !== true && forMachines !== true,
      } satisfies Carried
      return { schema: described, url }
    },
    transformObject: (document) => {
      const described = 'openapiObject' in document ? document.openapiObject : {}
      const paths = Object.values((described.paths ?? {}) as Record<string, Record<string, Operation>>)
      for (const operations of paths)
        for (const operation of Object.values(operations)) {
          markOptionalBody(operation)
          addHeaders(operation)
        }
      return Object.keys(app.webhooks).length === 0 ? described : { ...described, webhooks: app.webhooks }
    },
  })
}

declare module 'fastify' {
  interface FastifyInstance {
    /** What is sent to subscribers, by event type, as path items of OpenAPI; rooms fill it with their routes. */
    webhooks: Record<string, object>
  }
}

/** Carries `config.optionalBody` through the plugin, which knows bodies only as required. */
const optionalBody = 'x-optional-body'

/** Carries what decides about headers through the plugin, which loses whether they are always there. */
const carried = 'x-sends'

interface Carried extends Sender {
  access: Access
}

interface Operation {
  requestBody?: { required?: boolean }
  responses: Record<string, object>
  [optionalBody]?: true
  [carried]?: Carried
}

function markOptionalBody(operation: Operation): void {
  if (operation[optionalBody] && operation.requestBody) operation.requestBody.required = false
  delete operation[optionalBody]
}

/** The headers of every answer; and the problems that always have some of their own, as answers of their own. */
function addHeaders(operation: Operation): void {
  const { [carried]: sender, responses } = operation
  delete operation[carried]
  if (!sender) return
  const { default: other, ...declared } = responses
  const answers: [string, object][] = Object.entries(declared).map(([status, response]) => [
    status,
    { ...response, headers: headersOfDeclared(status, sender) },
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
