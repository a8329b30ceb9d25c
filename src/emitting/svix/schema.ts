import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeFolder } from '../../code-folder.ts'
import { readFields } from '../../http/requests/parameters.ts'
import { checkOf, type Fault } from '../../http/schemas/schema-compilers.ts'
import { SvixError, snakeCase, invalid, type SvixCall, type SvixFault } from './call.ts'

interface Schema {
  $ref?: string
  type?: string | string[]
  format?: string
  pattern?: string
  default?: unknown
  items?: Schema
  enum?: unknown[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
}

interface Parameter {
  in: string
  name: string
  required?: boolean
  schema: Schema
}

interface Operation {
  operationId: string
  parameters?: Parameter[]
  requestBody?: { content: { 'application/json': { schema: Schema } } }
  responses: Record<string, unknown>
}

interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

/** Svix's OpenAPI document as text. Its license is in the same folder. */
export const documentText = readFileSync(join(codeFolder, 'emitting/svix/document/openapi.json'), 'utf8')
const { paths, components } = JSON.parse(documentText) as Document

/** An operation of the document. */
export interface DeclaredOperation {
  id: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** In the router's syntax. */
  url: string
  /** The status of a response with a body. */
  status: number
  /** @throws SvixError 422 */
  readBody: (body: unknown) => SvixCall['body']
  /** @param url of the request @throws SvixError 400 for a missing parameter or wrong type, 422 for other faults */
  readQuery: (query: Record<string, string>, url: string) => Record<string, unknown>
}

export function readOperations(): DeclaredOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): DeclaredOperation => {
      const schema = operation.requestBody?.content['application/json'].schema
      const [status] = Object.keys(operation.responses)
      return {
        id: operation.operationId,
        method: method.toUpperCase() as DeclaredOperation['method'],
        url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
        status: status === '204' ? 200 : Number(status),
        readBody: schema ? bodyReader(schema) : () => ({}),
        readQuery: queryReader((operation.parameters ?? []).filter((one) => one.in === 'query')),
      }
    }),
  )
}

function bodyReader(schema: Schema): DeclaredOperation['readBody'] {
  const check = checkOf({ ...schema, components })
  return (body = {}) => {
    const faults = check(body)
    if (faults) throw invalid(faultsOf('body', schema, faults))
    return body
  }
}

/** Keywords of faults in values of the right type. Svix reports all of these, but only the first fault of another kind. */
const limits = /^(min|max|pattern)/i

function faultsOf(part: 'body' | 'query', schema: Schema, faults: readonly Fault[]): SvixFault[] {
  const other = faults.find(({ keyword }) => !limits.test(keyword))
  if (other) {
    const path = other.instancePath.slice(1).replaceAll(/\/(\d+)(?=\/|$)/g, '[$1]')
    const loc = path === '' ? ['', ''] : path.split('/')
    return [{ loc: [part, ...loc], msg: other.message, type: 'value_error.jsondecode' }]
  }
  const found = faults.map((fault): SvixFault => {
    const names = fault.instancePath.split('/').slice(1)
    const index = names.findIndex((name) => /^\d+$/.test(name))
    const field = index < 0 ? names : names.slice(0, index)
    const isWhole = index >= 0 || isOwnType(schema, field)
    const loc = [part, ...field.map(snakeCase), ...(isWhole ? ['__all__'] : [])]
    if (part === 'query' && field[0] === 'limit') loc.push('limit')
    return { loc, msg: fault.message, type: 'value_error' }
  })
  return [...new Map(found.map((fault) => [fault.loc.join('/'), fault])).values()]
}

/** Whether Svix's server has a separate type for the field. It then reports faults of the whole value. */
function isOwnType(schema: Schema, field: readonly string[]): boolean {
  let at = resolve(schema)
  for (const name of field) at = resolve(at.properties?.[name] ?? {})
  return at.pattern !== undefined
}

/** Resolves a reference. In a schema that also allows `null`, the reference is the first of two alternatives. */
function resolve({ anyOf, ...schema }: Schema): Schema {
  const { $ref } = anyOf?.[0] ?? schema
  return $ref === undefined ? schema : components.schemas[$ref.split('/').at(-1)!]!
}

function queryReader(parameters: readonly Parameter[]): DeclaredOperation['readQuery'] {
  if (parameters.length === 0) return () => ({})
  const properties = Object.fromEntries(
    parameters.map(({ name, schema }) => [name, isTime(schema) ? {} : schema]),
  )
  const schema = { type: 'object', properties }
  const check = checkOf({ ...schema, components })
  return (query, url) => {
    const values: Record<string, unknown> = {}
    for (const parameter of parameters) {
      const { name, required } = parameter
      const value = valueOf(parameter, query, url)
      if (value !== undefined) values[name] = value
      else if (required) throw badParameter(`missing field \`${name}\``)
    }
    const faults = check(values)
    if (!faults) return values
    const other = faults.find(({ keyword }) => !limits.test(keyword))
    if (other) throw badParameter(`${other.instancePath.slice(1)}: ${other.message}`)
    throw invalid(faultsOf('query', schema, faults))
  }
}

function badParameter(detail: string): SvixError {
  return new SvixError(400, 'generic_error', `Failed to deserialize query string: ${detail}`)
}

function isTime(schema: Schema): boolean {
  return resolve(schema).format === 'date-time'
}

/** The value, converted to the parameter's type. Text that cannot be converted stays text, and fails the check. */
function valueOf({ name, schema }: Parameter, query: Record<string, string>, url: string): unknown {
  const types = new Set([resolve(schema).type ?? []].flat())
  if (types.has('array')) {
    // `name`, `name[]` and `name[0]` are the same parameter.
    const given = readFields(url.slice(url.indexOf('?') + 1)).filter(
      ([one]) => one.replace(/\[\d*\]$/, '') === name,
    )
    return given.length === 0 ? undefined : given.flatMap(([, text]) => text.split(','))
  }
  const text = query[name]
  if (text === undefined) return undefined
  if (isTime(schema)) {
    const time = Date.parse(text)
    if (Number.isNaN(time)) throw badParameter(`${name}: invalid time`)
    return time
  }
  if (types.has('integer') && /^\d{1,15}$/.test(text)) return Number(text)
  if (types.has('boolean') && /^(true|false)$/.test(text)) return text === 'true'
  return text
}
