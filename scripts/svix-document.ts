// Makes src/emitting/svix/document/openapi.json from Svix's two OpenAPI documents: the open-source server's and, for operations and
// fields that it lacks, the one that the client libraries are generated from.
//   node scripts/run.mjs --script scripts/svix-document.ts server/openapi.json codegen/lib-openapi.json
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

type Json = Record<string, unknown>
type Operation = Json & { operationId?: string; parameters?: Json[]; responses?: Record<string, Json> }
interface Document {
  openapi: string
  info: Json
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Json>; securitySchemes: Json }
}

const [server, libraries] = process.argv
  .slice(2)
  .map((file) => JSON.parse(readFileSync(file, 'utf8')) as Document)
if (!server || !libraries) throw new Error('name the document of the server, then the one of the libraries')

/** Groups of operations that Postern answers. */
const answered =
  /^v1\.(application|endpoint|event-type|environment|message|message-attempt|statistics|background-task|health)\.|^v1\.authentication\.(app-portal-access|whoami|logout|expire-all)$/
/** Operations of these groups that it does not. */
const others =
  /patch-alert-email|connector|auto-config|hubspot|\.poller|\.pollerv2|message\.(broadcast|events|expunge-all-contents|test-attempt)|v1\.stats|application\.(stats|count)|endpoint-count|endpoint\.(cancel-msgs|(get|set)-server-ca|.*-?(oauth|mtls)|get-throttling)|simulate/

/** Names of libraries 1.x, which were renamed. The server accepts both, and its document leaves them out. */
const formerNames: Record<string, string> = { throttleRate: 'rateLimit', eventTypes: 'filterTypes' }
const renamed = /^(Application(In|Patch|Out)|Endpoint(In|Update|Patch|Out)|EndpointUpsertIn)$/

/** What the libraries call schemas of the server. */
const libraryNames: Record<string, string> = { EventTypeUpdate: 'EventTypeUpsertIn' }

/** A part in the form of OpenAPI 3.1, without examples. The server takes sets with repeated values, too. */
function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert)
  if (typeof value !== 'object' || value === null) return value
  const { nullable, uniqueItems: _, example: _one, examples: _many, ...rest } = value as Json
  const entries = Object.entries(rest).filter(([name]) => !name.startsWith('x-'))
  const part = Object.fromEntries(entries.map(([name, one]) => [name, convert(one)]))
  if (nullable === true && part['$ref']) return { anyOf: [part, { type: 'null' }] }
  if (nullable === true && typeof part['type'] === 'string') part['type'] = [part['type'], 'null']
  if (part['format'] === 'uint16') part['maximum'] ??= 65_535
  // The server takes private keys as well, and checks the bytes.
  if (String(part['pattern']).startsWith('^(whsec_')) {
    delete part['pattern']
    part['maxLength'] = 256
  }
  return part
}

function schemaOf(name: string): Json {
  const own = convert(server!.components.schemas[name]) as Json | undefined
  const wider = convert(libraries!.components.schemas[libraryNames[name] ?? name]) as Json | undefined
  const schema: Json = own ? { ...own } : { ...wider }
  if (own?.['enum'] && wider?.['enum'])
    schema['enum'] = [...new Set([...(own['enum'] as unknown[]), ...(wider['enum'] as unknown[])])]
  if (schema['properties'] === undefined) return schema
  const properties: Json = {
    ...(wider?.['properties'] as Json | undefined),
    ...(own?.['properties'] as Json | undefined),
  }
  // The server takes null for no metadata.
  if (!name.endsWith('Out') && properties['metadata'])
    properties['metadata'] = { ...(properties['metadata'] as Json), type: ['object', 'null'] }
  if (renamed.test(name)) {
    for (const [now, before] of Object.entries(formerNames))
      if (properties[now]) properties[before] = properties[now]
    if (name.startsWith('Endpoint'))
      properties['version'] = { type: ['integer', 'null'], minimum: 0, maximum: 65_535 }
  }
  return { ...schema, properties }
}

/** An operation with the parameters of both documents, and without the errors, which all operations share. */
function operationOf(operation: Operation, wider: Operation | undefined, id: string): Operation {
  const known = new Set(operation.parameters?.map(({ name }) => name))
  const parameters = [
    ...(operation.parameters ?? []),
    ...(wider?.parameters ?? []).filter(({ name }) => !known.has(name)),
  ]
  const successes = Object.entries(operation.responses ?? {}).filter(([status]) => status.startsWith('2'))
  const responses = Object.fromEntries(
    successes.length > 0 ? successes : [['204', { description: 'no content' }]],
  )
  const { tags, summary, description, requestBody, deprecated } = operation
  for (const { name, schema } of parameters) if (name === 'limit') (schema as Json)['maximum'] ??= 250
  const kept = { tags, summary, description, operationId: id, deprecated, parameters, requestBody, responses }
  return convert(kept) as Operation
}

const paths: Document['paths'] = {}
for (const [path, operations] of Object.entries(libraries.paths))
  for (const [method, wider] of Object.entries(operations)) {
    const id = wider.operationId ?? ''
    if (!answered.test(id) || others.test(id)) continue
    ;(paths[path] ??= {})[method] = operationOf(server.paths[path]?.[method] ?? wider, wider, id)
  }
paths['/api/v1/health/ping'] = {
  get: operationOf({ tags: ['Health'], summary: 'Ping' }, undefined, 'v1.health.ping'),
}
const access = paths['/api/v1/auth/app-portal-access/{app_id}']!['post']!
paths['/api/v1/auth/dashboard-access/{app_id}'] = {
  post: operationOf(
    { ...access, deprecated: true, requestBody: undefined },
    undefined,
    'v1.authentication.dashboard-access',
  ),
}

const schemas: Record<string, Json> = {}
const reach = (part: unknown): void => {
  for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/g))
    if (!schemas[name]) reach((schemas[name] = schemaOf(name)))
}
reach(paths)
const info = {
  title: 'Svix API',
  version: server.info['version'],
  license: {
    name: 'MIT, Copyright (c) 2021 Svix (https://www.svix.com)',
    url: 'https://github.com/svix/svix-webhooks',
  },
}
const { securitySchemes } = server.components
const document = { openapi: '3.1.0', info, paths, components: { schemas, securitySchemes } }
writeFileSync(
  join(import.meta.dirname, '../src/emitting/svix/document/openapi.json'),
  `${JSON.stringify(document)}\n`,
)
