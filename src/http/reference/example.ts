import type { Call, Content, Schema } from './document.ts'

/** A value that a schema allows, with the required fields only. */
export function exampleOf(schema: Schema, name = ''): unknown {
  const { examples, default: preset, const: constant, enum: values, anyOf, type } = schema
  const given = [examples?.[0], constant, preset, values?.[0]].find((value) => value !== undefined)
  if (given !== undefined) return given
  if (anyOf) return exampleOf(anyOf.find((one) => one.type !== 'null') ?? {}, name)
  const kind = typeof type === 'object' ? type.find((one) => one !== 'null') : type
  switch (kind) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([field]) => schema.required?.includes(field))
          .map(([field, value]) => [field, exampleOf(value, field)]),
      )
    case 'array':
      return schema.items && (schema.minItems ?? 0) > 0 ? [exampleOf(schema.items, name)] : []
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

function textFor({ format, minLength = 0 }: Schema, name: string): string {
  if (format === 'date-time') return '2026-01-31T08:30:00.000Z'
  if (/url|uri/i.test(name)) return 'https://example.com/hooks'
  if (/type/i.test(name)) return 'order.paid'
  return (name === '' ? 'text' : name).padEnd(minLength, 'x')
}
