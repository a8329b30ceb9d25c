// Writes the types of a service's calls from its OpenAPI document: those of this package, and those of a product's own lists.

interface Schema {
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
}

type Content = Record<string, { schema?: Schema }>

interface Operation {
  summary?: string
  parameters?: { name: string; in: string; required?: boolean; schema?: Schema }[]
  requestBody?: { required?: boolean; content?: Content }
  responses?: Record<string, { content?: Content }>
}

export interface OpenApiDocument {
  paths?: Record<string, Record<string, Operation>>
}

const methods = ['get', 'post', 'put', 'patch', 'delete']

/** A TypeScript module that exports the interface `Calls`: for each call its parameters, body and answer. */
export function typesOf({ paths = {} }: OpenApiDocument): string {
  const calls = Object.entries(paths).flatMap(([path, operations]) =>
    methods.flatMap((method) => {
      const operation = operations[method]
      return operation && isForPrograms(operation) ? [callOf(method, path, operation)] : []
    }),
  )
  return `/** The calls of the service by method and path. */\nexport interface Calls {\n${calls.join('\n')}\n}\n`
}

/** Pages, redirects and what senders of webhooks call have no answer that a program reads. */
function isForPrograms({ responses = {} }: Operation): boolean {
  return successes(responses).some(({ content }) => content === undefined || jsonOf(content) !== undefined)
}

function successes(responses: NonNullable<Operation['responses']>) {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([, response]) => response)
}

const jsonOf = (content: Content = {}): Schema | undefined => content['application/json']?.schema

function callOf(method: string, path: string, operation: Operation): string {
  const { summary, parameters = [], requestBody, responses = {} } = operation
  const fields = ['path', 'query'].flatMap((where) => {
    const own = parameters.filter((parameter) => parameter.in === where)
    if (own.length === 0) return []
    const list = own.map(({ name, required = false, schema = {} }) =>
      field(name, required, argument(schema) + (required ? '' : ' | undefined')),
    )
    const name = where === 'path' ? 'params' : 'query'
    return [`    ${name}${own.some(({ required }) => required) ? '' : '?'}: { ${list.join('; ')} }`]
  })
  const body = jsonOf(requestBody?.content)
  if (body) fields.push(`    body${requestBody?.required === true ? '' : '?'}: ${typeOf(body, true)}`)
  const answers = successes(responses).flatMap(({ content }) => {
    if (content === undefined) return ['undefined']
    const schema = jsonOf(content)
    return schema ? [typeOf(schema, false)] : []
  })
  fields.push(`    answer: ${[...new Set(answers)].join(' | ')}`)
  const comment = summary === undefined ? '' : `  /** ${summary.replaceAll('*/', '* /')} */\n`
  return `${comment}  '${method.toUpperCase()} ${path}': {\n${fields.join('\n')}\n  }`
}

/** A parameter that takes any text beside a number is a number for those who call. */
function argument(schema: Schema): string {
  const texts = schema.anyOf?.every(
    ({ type }) => type === 'string' || type === 'integer' || type === 'number',
  )
  if (texts === true) return [...new Set(schema.anyOf!.map((one) => typeOf(one, true)))].join(' | ')
  const type = typeOf(schema, true)
  return type === 'unknown' ? 'string | number | boolean' : type
}

function field(name: string, required: boolean, type: string): string {
  const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
  return `${key}${required ? '' : '?'}: ${type}`
}

/** @param sent whether callers send it: a field that may be left out may then be undefined. */
function typeOf(schema: Schema, sent: boolean): string {
  const { type, anyOf, oneOf, allOf, items } = schema
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)))
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  const any = anyOf ?? oneOf
  if (any) return union(any.map((one) => typeOf(one, sent)))
  if (allOf) return allOf.map((one) => `(${typeOf(one, sent)})`).join(' & ')
  if (Array.isArray(type)) return union(type.map((one) => typeOf({ ...schema, type: one }, sent)))
  if (type === 'array') return `(${typeOf(items ?? {}, sent)})[]`
  if (type === 'object' || schema.properties) return objectOf(schema, sent)
  return simple[type ?? ''] ?? 'unknown'
}

const simple: Record<string, string> = {
  integer: 'number',
  number: 'number',
  string: 'string',
  boolean: 'boolean',
  null: 'null',
}

function objectOf({ properties = {}, required = [], additionalProperties }: Schema, sent: boolean): string {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const given = required.includes(name)
    return field(name, given, typeOf(schema, sent) + (sent && !given ? ' | undefined' : ''))
  })
  const own = `{ ${fields.join('; ')} }`
  if (fields.length > 0) return own
  const values = typeof additionalProperties === 'object' ? typeOf(additionalProperties, sent) : 'unknown'
  return `Record<string, ${values}>`
}

function union(types: readonly string[]): string {
  const all = [...new Set(types)].filter((type) => !type.startsWith('"') || !types.includes('string'))
  return all.includes('unknown') ? 'unknown' : all.join(' | ')
}
