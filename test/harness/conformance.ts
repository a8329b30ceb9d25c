import assert from 'node:assert/strict'
import Schema from 'typebox/schema'

type JsonSchema = Record<string, unknown>

interface Declared {
  content?: Record<string, { schema?: JsonSchema }>
  headers?: Record<string, { $ref: string }>
}

interface Operation {
  responses?: Record<string, Declared>
}

/** The OpenAPI document, as far as answers are held against it. */
export interface ApiDocument {
  paths: Record<string, Record<string, Operation>>
  components?: { headers?: Record<string, { required?: boolean; schema: JsonSchema }> }
}

/** Those that no call is described with: of the connection, of the body, and what tells browsers what they may do. */
const ofAll =
  /^(date|connection|keep-alive|transfer-encoding|content-type|content-length|content-security-policy|cross-origin-\w+-policy|referrer-policy|x-content-type-options|strict-transport-security)$/

/**
 * Holds a JSON answer against the service's own OpenAPI document: its status is declared (problems are, for every
 * call), and so is every field. Throws an AssertionError that names what is not.
 */
export async function checkAnswer(
  document: ApiDocument,
  method: string,
  path: string,
  response: Response,
): Promise<void> {
  const type = response.headers.get('content-type') ?? ''
  const problem = type.startsWith('application/problem+json')
  checkHeaders(document, method, path, response)
  if (!/^application\/(problem\+)?json/.test(type) || method === 'HEAD') return
  const found = findOperation(document, method, path)
  if (!found) return
  const [name, { responses = {} }] = found
  const declared = responses[response.status] ?? (problem ? responses['default'] : undefined)
  assert.ok(declared, `${name} answered ${response.status}, which the OpenAPI document does not declare`)
  const schema =
    declared.content?.[type.split(';')[0]!]?.schema ??
    responses['default']?.content?.[type.split(';')[0]!]?.schema
  assert.ok(
    schema,
    `${name} answered ${response.status} with ${type}, which the OpenAPI document does not declare`,
  )
  const text = await response.clone().text()
  const answer = JSON.parse(text) as unknown
  const validator = validatorOf(schema)
  if (validator.Check(answer)) return
  const [, errors] = validator.Errors(answer)
  assert.fail(
    `${name} answered ${response.status} with what its schema does not declare: ${JSON.stringify(errors)}\n${text.slice(0, 500)}`,
  )
}

/** Holds the headers of any answer against it: each that is always sent is there, and each that is there is described. */
function checkHeaders(document: ApiDocument, method: string, path: string, response: Response): void {
  const { headers, status } = response
  if (status === 405) assert.ok(headers.get('allow'), `${method} ${path} answered 405 without Allow`)
  const found = findOperation(document, method === 'HEAD' ? 'GET' : method, path)
  if (!found) return
  const [name, { responses = {} }] = found
  const own = responses[status]
  // A problem with the status of an answer of the route's own is one like any other.
  const problem = headers.get('content-type')?.startsWith('application/problem+json') === true
  const declared = own && (!problem || own.content?.['application/problem+json']) ? own : responses['default']
  const described = Object.entries(declared?.headers ?? {}).map(([header, { $ref }]) => {
    const component = document.components?.headers?.[$ref.split('/').at(-1)!]
    assert.ok(component, `${name} refers to ${$ref}, which is not there`)
    return [header.toLowerCase(), component] as const
  })
  const about = `${name} answered ${status}`
  for (const [header, { required = false, schema }] of described) {
    const value = headers.get(header)
    assert.ok(value !== null || !required, `${about} without ${header}, which it always has`)
    if (value === null) continue
    const read = schema['type'] === 'integer' ? Number(value) : value
    assert.ok(
      Schema.Check(schema, read),
      `${about} with ${header}: ${value}, which its schema does not allow`,
    )
  }
  const names = new Set(described.map(([header]) => header))
  for (const header of headers.keys())
    assert.ok(ofAll.test(header) || names.has(header), `${about} with ${header}, which is not described`)
}

/** The templates of addresses by their number of parts. */
type Templates = Map<number, [template: string, parts: string[]][]>

const templates = new WeakMap<ApiDocument, Templates>()

function templatesOf(document: ApiDocument): Templates {
  let known = templates.get(document)
  if (known) return known
  templates.set(document, (known = new Map()))
  for (const template of Object.keys(document.paths)) {
    const parts = template.split('/')
    const alike = known.get(parts.length) ?? []
    known.set(parts.length, [...alike, [template, parts]])
  }
  return known
}

function findOperation(document: ApiDocument, method: string, path: string): [string, Operation] | undefined {
  const address = path.split('?')[0]!
  const parts = address.split('/')
  const matches = (wanted: string[]): boolean =>
    wanted.every((part, index) => part.startsWith('{') || part === parts[index])
  // An address that is written out goes before one with a parameter, as in the router.
  const template = document.paths[address]
    ? address
    : templatesOf(document)
        .get(parts.length)
        ?.find(([, wanted]) => matches(wanted))?.[0]
  const operation = template === undefined ? undefined : document.paths[template]?.[method.toLowerCase()]
  return operation && [`${method} ${template}`, operation]
}

type Validator = ReturnType<typeof Schema.Compile>

/** To compile a schema takes as long as a hundred checks; tests ask for some answers hundreds of times. */
const validators = new WeakMap<JsonSchema, Validator>()

function validatorOf(schema: JsonSchema): Validator {
  let validator = validators.get(schema)
  if (!validator) validators.set(schema, (validator = Schema.Compile(closed(schema))))
  return validator
}

/** The same schema with every object that lists its properties closed: a field beside them is an error. */
function closed(schema: unknown): JsonSchema {
  return close(schema) as JsonSchema
}

function close(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(close)
  if (typeof node !== 'object' || node === null) return node
  const copy: JsonSchema = {}
  for (const [key, value] of Object.entries(node)) copy[key] = close(value)
  if (copy['type'] === 'object' && copy['properties'] && !('additionalProperties' in copy))
    copy['additionalProperties'] = false
  return copy
}
