import type { Call, Content, Schema } from './document.ts'

/** Levels of objects in an example. */
const deepest = 5

/**
 * A value that a schema allows.
 * @param fields `all`, or the required ones only
 */
export function exampleOf(
  schema: Schema,
  name = '',
  fields: 'required' | 'all' = 'required',
  depth = 0,
): unknown {
  const { examples, default: preset, const: constant, enum: values, anyOf, type } = schema
  const given = [examples?.[0], constant, preset, values?.[0]].find((value) => value !== undefined)
  if (given !== undefined) return given
  if (anyOf) return exampleOf(anyOf.find((one) => one.type !== 'null') ?? {}, name, fields, depth)
  const kind = typeof type === 'object' ? type.find((one) => one !== 'null') : type
  switch (kind) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([field]) => depth < deepest && (fields === 'all' || schema.required?.includes(field)))
          .map(([field, value]) => [field, exampleOf(value, field, fields, depth + 1)]),
      )
    case 'array':
      return schema.items && (fields === 'all' || (schema.minItems ?? 0) > 0)
        ? [exampleOf(schema.items, name, fields, depth + 1)]
        : []
    case 'string':
      return textFor(schema, name)
    case 'integer':
    case 'number':
      return schema.minimum ?? 1
    case 'boolean':
      return true
    default:
      return {}
  }
}

/** The first example of a body, or one made of its schema. */
export function bodyExample(content: Content): { type: string; text: string } | undefined {
  const [type, body] = Object.entries(content)[0] ?? []
  if (type === undefined || body === undefined) return undefined
  const [declared] = Object.values(body.examples ?? {})
  if (!type.includes('json')) return { type, text: '' }
  return { type, text: JSON.stringify(declared?.value ?? exampleOf(body.schema ?? {})) }
}

/**
 * A call as a command. Parts of the path are variables of the shell.
 * @param origin the public address of the service, with its base path
 */
export function curlOf({ method, path, operation }: Call, origin: string): string {
  const { parameters = [], requestBody, security = [] } = operation
  const query = parameters
    .filter((each) => each.in === 'query' && each.required)
    .map((each) => `${each.name}=${String(exampleOf(each.schema ?? {}, each.name))}`)
  const target = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`)
  const verb = method === 'get' ? '' : ` -X ${method.toUpperCase()}`
  const lines = [`curl${verb} "${origin}${target}${query.length > 0 ? `?${query.join('&')}` : ''}"`]
  if (security.some((scheme) => 'bearer' in scheme)) lines.push('-H "Authorization: Bearer $POSTERN_KEY"')
  else if (security.some((scheme) => 'session' in scheme)) lines.push('-b "postern_session=$SESSION"')
  const body = bodyExample(requestBody?.content ?? {})
  if (body) {
    lines.push(`-H 'Content-Type: ${body.type}'`)
    lines.push(
      body.text === '' ? '--data-binary @FILE' : `-d '${body.text.replaceAll("'", String.raw`'\''`)}'`,
    )
  }
  return lines.join(' \\\n  ')
}

function textFor({ format, minLength = 0, maxLength = 100 }: Schema, name: string): string {
  if (format === 'date-time' || /(?:At|since|until)$/i.test(name)) return '2026-01-31T08:30:00.000Z'
  if (/email/i.test(name)) return 'ada@example.com'
  if (/(?:^i|I)d$/.test(name) && maxLength >= 36) return '01a22300-dc31-7000-b406-80118a234200'
  if (/url|uri/i.test(name)) return 'https://example.com/hooks'
  if (/type/i.test(name)) return 'order.paid'
  return (name === '' ? 'text' : name).padEnd(minLength, 'x')
}

/** A value as a literal of TypeScript. */
export function literalOf(value: unknown, indent = ''): string {
  const inner = `${indent}  `
  if (typeof value === 'string')
    return `'${JSON.stringify(value)
      .slice(1, -1)
      .replaceAll(String.raw`\"`, '"')
      .replaceAll("'", String.raw`\'`)}'`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const isList = Array.isArray(value)
  const parts = Object.entries(value).map(([name, one]) => {
    const text = literalOf(one, inner)
    return isList ? text : `${/^[a-z_$][\w$]*$/i.test(name) ? name : literalOf(name)}: ${text}`
  })
  const [open, close] = isList ? ['[', ']'] : ['{ ', ' }']
  if (parts.length === 0) return isList ? '[]' : '{}'
  const line = open + parts.join(', ') + close
  if (line.length + indent.length < 70 && !line.includes('\n')) return line
  return `${open.trim()}\n${parts.map((part) => `${inner}${part},`).join('\n')}\n${indent}${close.trim()}`
}

/** A call with the client library; undefined for what it does not read: pages, files and streams. */
export function typeScriptOf({ method, path, operation }: Call): string | undefined {
  const { parameters = [], requestBody, responses = {} } = operation
  const body = bodyExample(requestBody?.content ?? {})
  const isJson = (content: Content = {}): boolean =>
    Object.keys(content).every((type) => /[/+]json$/.test(type))
  const answer = Object.entries(responses).find(
    ([status, { content }]) => status.startsWith('2') && isJson(content),
  )?.[1]
  if (!answer || (body && !/[/+]json$/.test(body.type))) return undefined
  const values = (place: string): object =>
    Object.fromEntries(
      parameters
        .filter((each) => each.in === place && each.required)
        .map((each) => [each.name, exampleOf(each.schema ?? {}, each.name)]),
    )
  const parts = Object.entries({ params: values('path'), query: values('query') }).filter(
    ([, value]) => Object.keys(value).length > 0,
  )
  const options = Object.fromEntries([
    ...parts,
    ...(body === undefined ? [] : [['body', JSON.parse(body.text) as unknown]]),
  ]) as object
  const given = Object.keys(options).length === 0 ? '' : `, ${literalOf(options)}`
  const target = answer.content ? 'const answer = ' : ''
  return `${target}await postern.${method}(${literalOf(path)}${given})`
}

/** The example of a JSON answer, with all fields. */
export function answerExample(content: Content = {}): string | undefined {
  const json = Object.entries(content).find(([type]) => /[/+]json$/.test(type))?.[1]
  if (!json) return undefined
  const [declared] = Object.values(json.examples ?? {})
  return JSON.stringify(declared?.value ?? exampleOf(json.schema ?? {}, '', 'all'), null, 2)
}
