import { runInNewContext } from 'node:vm'
import { stringifyExactly } from '../../json/exact.ts'
import {
  longestSchemas,
  mostSchemas,
  mostStoredTypes,
  newestSchema,
  type StoredEventType,
} from '../events/stored-event-types.ts'
import { invalidField, SvixError } from './call.ts'
import { taskId } from './ids.ts'

type Json = Readonly<Record<string, unknown>>

/** An event type of an OpenAPI document. */
type FoundEventType = Omit<StoredEventType, 'group' | 'featureFlags' | 'createdAt' | 'updatedAt'>

/** The background task of every export. The export is created when the task is read. */
export const exportTaskId = taskId('00000000-0000-0000-0000-000000000000')

/** Names that Svix's API allows. */
export const validName = /^[a-zA-Z0-9\-_.]{1,256}$/
const methods = ['post', 'put', 'patch', 'get', 'delete'] as const
const own = '#/definitions/'

/** A document as a call sends it: one of both. */
interface GivenSpec {
  spec?: object | null
  /** JSON or YAML. */
  specRaw?: string | null
}

/** Milliseconds of an import's reading, during which the process answers no other request. */
const longestReading = 2_000

/**
 * The event types of an import.
 * @throws SvixError 400 for none or two documents, 422 for text that is neither JSON nor YAML or takes more than two seconds
 */
export async function readEventTypes({ spec, specRaw }: GivenSpec): Promise<FoundEventType[]> {
  if (!spec === !specRaw)
    throw new SvixError(400, 'generic_error', 'Send the document either as `spec` or as `specRaw`.')
  const { parse } = await import('yaml')
  const read = (): FoundEventType[] => {
    // Removes values that only YAML can express. The parser prints its warnings, which quote the document.
    const given: unknown = specRaw ? JSON.parse(JSON.stringify(parse(specRaw, { logLevel: 'error' }))) : spec
    return readWebhooks(asObject(JSON.parse(stringifyExactly(given)!), 'The document'))
  }
  try {
    // A parser of YAML takes minutes for some texts of 1 MiB.
    return runInNewContext('read()', { read }, { timeout: longestReading }) as FoundEventType[]
  } catch (error) {
    if (error instanceof SvixError) throw error
    const { code, message } = error as NodeJS.ErrnoException
    const reason = code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? 'reading it takes too long.' : message
    throw invalidField([specRaw ? 'spec_raw' : 'spec'], `Not a document: ${reason}`)
  }
}

/** The event types of a document's webhooks. @throws SvixError 422 */
function readWebhooks(spec: Json): FoundEventType[] {
  const webhooks = asObject(spec['webhooks'] ?? spec['x-webhooks'] ?? {}, 'webhooks')
  const names = Object.keys(webhooks)
  if (names.length > mostStoredTypes) throw refuse(`The document has more than ${mostStoredTypes} webhooks.`)
  let size = 0
  return names.map((name) => {
    if (!validName.test(name))
      throw refuse(
        `${JSON.stringify(name)} is not a valid event type: use 1 to 256 letters, digits, \`-\`, \`_\` and \`.\`.`,
      )
    const item = resolved(webhooks[name], spec, name)
    const method = methods.find((one) => item[one] !== undefined)
    if (method === undefined) throw refuse(`The webhook ${name} has no operation.`)
    const found = readOperation(name, asObject(item[method], name), spec)
    size += JSON.stringify(found).length
    if (size > mostSchemas) throw refuse(`The schemas must have at most ${mostSchemas} characters in total.`)
    return found
  })
}

function readOperation(type: string, operation: Json, spec: Json): FoundEventType {
  const body = resolved(operation['requestBody'] ?? {}, spec, type)
  const content = asObject(body['content'] ?? {}, type)
  const media = asObject(content['application/json'] ?? Object.values(content)[0] ?? {}, type)
  const description = [operation['description'], operation['summary'], body['description']].find(
    (text) => typeof text === 'string',
  )
  return {
    type,
    description: description ?? '',
    deprecated: operation['deprecated'] === true,
    archived: false,
    schemas: media['schema'] === undefined ? null : { 1: bundle(media, spec, type) },
  }
}

/** A body's schema as a document of its own, with all referenced parts and the samples. */
function bundle(media: Json, spec: Json, type: string): Json {
  const definitions: Record<string, unknown> = {}
  const names = new Map<string, string>()
  let size = 0
  const rename = (pointer: string): string => {
    const known = names.get(pointer)
    if (known !== undefined) return own + known
    const last = pointer.split('/').at(-1)!
    const name = Object.hasOwn(definitions, last) ? `${last}-${names.size}` : last
    names.set(pointer, name)
    // Set before its references are read, because it may refer to itself.
    definitions[name] = {}
    const part = at(pointer, spec, type)
    // Parts may contain each other, so that all copies together are much longer than the document.
    size += JSON.stringify(part).length
    if (size > longestSchemas)
      throw refuse(`The schema of ${type} has more than ${longestSchemas} characters.`)
    definitions[name] = withReferences(part, rename)
    return own + name
  }
  const schema = withReferences(resolved(media['schema'], spec, type), rename) as Json
  const samples = Object.values(asObject(media['examples'] ?? {}, type)).map(
    (one) => resolved(one, spec, type)['value'],
  )
  const examples = [schema['example'], media['example'], ...samples].filter((one) => one !== undefined)
  return {
    ...schema,
    ...(examples.length > 0 && schema['examples'] === undefined && { examples }),
    ...(names.size > 0 && { definitions }),
  }
}

/** A copy with renamed references to parts of the document. */
function withReferences(value: unknown, rename: (reference: string) => string): unknown {
  return JSON.parse(JSON.stringify(value), (name, one: unknown) =>
    name === '$ref' && typeof one === 'string' && one.startsWith('#/') ? rename(one) : one,
  )
}

/** The part itself, or the part that it references. */
function resolved(part: unknown, spec: Json, type: string): Json {
  let found = asObject(part, type)
  for (let steps = 0; typeof found['$ref'] === 'string'; steps += 1) {
    if (steps > 20) throw refuse(`The webhook ${type} has a circular reference.`)
    found = asObject(at(found['$ref'], spec, type), type)
  }
  return found
}

/** @param pointer as in `$ref`: `#/components/schemas/Pet` */
function at(pointer: string, spec: Json, type: string): unknown {
  let found: unknown = spec
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    const isThere = typeof found === 'object' && found !== null && Object.hasOwn(found, name)
    found = isThere ? (found as Json)[name] : undefined
  }
  if (found === undefined || !pointer.startsWith('#/'))
    throw refuse(`The webhook ${type} refers to ${JSON.stringify(pointer)}, which is not in the document.`)
  return found
}

function asObject(value: unknown, name: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refuse(`${name} contains a value that must be an object.`)
  return value as Json
}

const refuse = (message: string): SvixError => invalidField(['spec'], message)

/** An OpenAPI document whose import creates the same types. */
export function writeSpec(types: readonly StoredEventType[]): object {
  const schemas: Record<string, unknown> = {}
  const webhooks = types.map((one) => {
    const { definitions = {}, ...schema } = (newestSchema(one).schema ?? {}) as { definitions?: object }
    // Definitions imported from an export already have the prefix.
    const nameOf = (name: string): string => (name.startsWith(`${one.type}.`) ? name : `${one.type}.${name}`)
    const rename = (reference: string): string =>
      reference.startsWith(own) ? `#/components/schemas/${nameOf(reference.slice(own.length))}` : reference
    for (const [name, part] of Object.entries(definitions))
      schemas[nameOf(name)] = withReferences(part, rename)
    const content = { 'application/json': { schema: withReferences(schema, rename) } }
    const responses = { '2XX': { description: 'Delivered' } }
    const { description, deprecated } = one
    return [one.type, { post: { description, deprecated, requestBody: { content }, responses } }]
  })
  const info = { title: 'Event types', version: '1' }
  return { openapi: '3.1.0', info, webhooks: Object.fromEntries(webhooks), components: { schemas } }
}
