import { STATUS_CODES } from 'node:http'
import { escapeHtml } from '../pages/html.ts'
import type { Answer, Call, Content, Operation, Parameter, Schema } from './document.ts'
import { highlighted } from '../guide/markdown.ts'

/** A field of a body, as a row of a table. */
interface Row {
  /** 0 for the fields of the body itself. */
  depth: number
  name: string
  type: string
  isRequired: boolean
  /** What the field means, and its limits. */
  meaning: string
}

/** Deeper fields are left out: the document has them. */
const deepest = 4

/** The fields of a schema, those of nested objects behind their parents. */
export function rowsOf(schema: Schema, depth = 0): Row[] {
  if (depth > deepest) return []
  const shapes = shapesOf(schema)
  if (shapes.length === 0) return []
  if (shapes.length === 1) return fieldsOf(shapes[0]!, depth)
  return shapes.flatMap((shape, index) => {
    const meaning = `Form ${index + 1} of ${shapes.length}`
    return [{ depth, name: '', type: '', isRequired: false, meaning }].concat(fieldsOf(shape, depth))
  })
}

/** The type in words: `string or null`, `array of objects`. */
export function typeOf(schema: Schema): string {
  const { type, anyOf, enum: values, const: constant, items } = schema
  if (constant !== undefined) return JSON.stringify(constant)
  if (values) return values.map((value) => JSON.stringify(value)).join(', ')
  if (anyOf) return [...new Set(anyOf.map(typeOf))].join(' or ')
  if (type === 'array') return items ? `array of ${typeOf(items)}` : 'array'
  if (type === undefined) return schema.properties ? 'object' : 'any value'
  return typeof type === 'string' ? type : type.join(' or ')
}

/** The limits of a value in words: `1 to 100; default 20`. */
export function limitsOf(schema: Schema): string {
  const { default: preset, format } = schema
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = merged(schema)
  return [
    format,
    range(minimum, maximum, ''),
    range(minLength, maxLength, ' characters'),
    range(minItems, maxItems, ' items'),
    preset === undefined ? undefined : `default ${JSON.stringify(preset)}`,
  ]
    .filter((part) => part !== undefined)
    .join('; ')
}

/** The limits of the alternative that has some, where a schema has alternatives. */
function merged(schema: Schema): Schema {
  return Object.assign({}, ...(schema.anyOf ?? []), schema) as Schema
}

function range(least: number | undefined, most: number | undefined, of: string): string | undefined {
  if (least === undefined) return most === undefined ? undefined : `at most ${most}${of}`
  if (most === undefined) return least === 0 ? undefined : `at least ${least}${of}`
  return `${least} to ${most}${of}`
}

/** The objects with fields that a schema allows: itself, its alternatives, or the elements of its arrays. */
function shapesOf(schema: Schema): Schema[] {
  if (schema.anyOf) {
    const shapes = schema.anyOf.flatMap(shapesOf)
    // One event and an array of events have the same fields.
    return [...new Map(shapes.map((shape) => [JSON.stringify(shape), shape])).values()]
  }
  if (schema.items) return shapesOf(schema.items)
  if (schema.properties && Object.keys(schema.properties).length > 0) return [schema]
  const { additionalProperties: values } = schema
  return typeof values === 'object' ? shapesOf(values) : []
}

function fieldsOf({ properties = {}, required = [] }: Schema, depth: number): Row[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const meaning = [describe(schema), limitsOf(schema)].filter((part) => part !== '').join(' · ')
    const own = { depth, name, type: typeOf(schema), isRequired: required.includes(name), meaning }
    return [own].concat(rowsOf(schema, depth + 1))
  })
}

function describe({ description, anyOf = [] }: Schema): string {
  return description ?? anyOf.find((one) => one.description !== undefined)?.description ?? ''
}

/** Headers that most answers have; the page describes all headers once. */
const usual = new Set([
  'Cache-Control',
  'Vary',
  'Allow',
  'WWW-Authenticate',
  'Retry-After',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Access-Control-Allow-Origin',
  'Access-Control-Allow-Credentials',
  'Access-Control-Expose-Headers',
])

/** A text with `code` in it, and lists of lines that begin with a hyphen. */
export function prose(text: string): string {
  return text
    .split('\n\n')
    .map((block) => {
      const lines = block.split('\n')
      if (!lines.every((line) => line.startsWith('- '))) return `<p>${inline(block)}`
      return `<ul>${lines.map((line) => `<li>${inline(line.slice(2))}`).join('')}</ul>`
    })
    .join('\n')
}

/** As `prose`, for a part of a line. */
export function inline(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}

/** @param origin the public address of the service, with its base path */
export function callHtml(call: Call, origin: string): string {
  const { id, method, path, isSent, operation } = call
  const name = isSent ? 'sent' : method
  // The page shows the scope itself.
  const description = operation.description?.replace(/ ?An API key needs the scope [^.]*\.$/, '') ?? ''
  const body = bodyExample(operation.requestBody?.content ?? {})
  const sample =
    body === undefined
      ? ''
      : ` data-type="${escapeHtml(body.type)}" data-body="${escapeHtml(indented(body.text))}"`
  const data = isSent ? '' : ` data-method="${method}" data-path="${escapeHtml(path)}"${sample}`
  return `<article id="${id}"${data}>
<h2><a href="#${id}">${inline(operation.summary ?? path)}</a></h2>
<p class="call"><b class="method ${name}">${name.toUpperCase()}</b> <code>${escapeHtml(path)}</code> ${accessHtml(operation)}
${description === '' ? '' : prose(description)}
${isSent ? '' : examplesHtml(call, origin)}${parametersHtml(operation.parameters ?? [])}${bodyHtml(operation)}${answersHtml(operation)}</article>`
}

/** Who may make a call: a role, or credentials with their scopes. */
function accessHtml({ security = [] }: Operation): string {
  if (security.length === 0) return '<span class="tag">public</span>'
  const scopes = security.flatMap(({ bearer = [] }) => bearer)
  const has = (scheme: string): boolean => security.some((one) => scheme in one)
  const admin = security.some(({ session }) => session?.includes('admin') === true)
  const tags = [
    ...scopes.map((scope) => `scope <code>${escapeHtml(scope)}</code>`),
    ...(has('bearer') && scopes.length === 0 ? ['API key or access token'] : []),
    ...(has('session') ? [admin ? 'administrator' : 'signed-in user'] : []),
    ...(has('portal') ? ['portal'] : []),
    ...(security.some((one) => Object.keys(one).length === 0) ? ['open in demo mode'] : []),
  ]
  return tags.map((tag) => `<span class="tag">${tag}</span>`).join(' ')
}

function parametersHtml(parameters: readonly Parameter[]): string {
  if (parameters.length === 0) return ''
  const rows = parameters.map(({ name, in: place, required, description = '', schema = {} }) => {
    const meaning = [description, limitsOf(schema)].filter((part) => part !== '').join(' · ')
    const data = ` data-name="${escapeHtml(name)}" data-in="${place}"`
    return `<tr${data}><th scope="row"><code>${escapeHtml(name)}</code>${required ? mustBe : ''}<td>${place}<td>${escapeHtml(typeOf(schema))}<td>${inline(meaning)}`
  })
  return `<h3>Parameters</h3>
<table class="parameters"><thead><tr><th scope="col">Name<th scope="col">In<th scope="col">Type<th scope="col">Meaning<tbody>
${rows.join('\n')}</table>
`
}

const mustBe = ' <span class="required">required</span>'

function bodyHtml({ requestBody }: Operation): string {
  if (!requestBody?.content) return ''
  const example = bodyExample(requestBody.content)
  const isSent = Object.values(requestBody.content).some(({ examples }) => examples)
  const shown = isSent && example ? codeHtml(indented(example.text), 'json') : ''
  return `<h3>Body${requestBody.required === false ? ', optional' : ''}</h3>
${contentHtml(requestBody.content)}${shown}`
}

function indented(text: string): string {
  return text === '' ? '' : JSON.stringify(JSON.parse(text), null, 2)
}

const codeHtml = (code: string, language: string): string =>
  `<pre><code>${highlighted(code, language)}</code></pre>\n`

function contentHtml(content: Content): string {
  return Object.entries(content)
    .map(([type, { schema = {} }]) => `<p class="type"><code>${escapeHtml(type)}</code> ${shapeHtml(schema)}`)
    .join('')
}

function shapeHtml(schema: Schema): string {
  const rows = rowsOf(schema)
  const text = [typeOf(schema), schema.description].filter((part) => part !== undefined).join(': ')
  return `${inline(text)}\n${rows.length === 0 ? '' : fieldsHtml(rows)}`
}

function fieldsHtml(rows: readonly Row[]): string {
  const lines = rows.map(({ depth, name, type, isRequired, meaning }) =>
    name === ''
      ? `<tr class="form"><th scope="rowgroup" colspan="3">${inline(meaning)}`
      : `<tr><th scope="row"${depth > 0 ? ` class="d${depth}"` : ''}><code>${escapeHtml(name)}</code>${isRequired ? '' : ' <span class="optional">optional</span>'}<td>${escapeHtml(type)}<td>${inline(meaning)}`,
  )
  return `<table><thead><tr><th scope="col">Field<th scope="col">Type<th scope="col">Meaning<tbody>
${lines.join('\n')}</table>
`
}

/** The start of the reference, from a page of an area. */
const reference = '../docs'

function answersHtml({ responses = {} }: Operation): string {
  const answers = Object.entries(responses)
  const isProblem = ([, { content = {} }]: [string, Answer]): boolean =>
    'application/problem+json' in content && Object.keys(content).length === 1
  const own = answers
    .filter((answer) => !isProblem(answer))
    .map(([status, answer]) => answerHtml(status, answer))
  const others = answers.filter(isProblem).map(([status]) => (status === 'default' ? 'others' : status))
  if (own.length + others.length === 0) return ''
  const problems =
    others.length === 0 ? '' : `<p>A <a href="${reference}#problems">problem</a>: ${others.join(', ')}\n`
  return `<h3>Responses</h3>
${own.join('')}${problems}`
}

function answerHtml(status: string, { description = '', content, headers = {} }: Answer): string {
  const text = description === 'Default Response' ? (STATUS_CODES[status] ?? '') : description
  const title = `<b>${escapeHtml(status)}</b> ${inline(text)}`
  const names = Object.keys(headers).filter((name) => !usual.has(name))
  const listed = names.map((name) => `<code>${escapeHtml(name)}</code>`).join(', ')
  const sent = names.length === 0 ? '' : `<p><a href="${reference}#headers">Headers</a>: ${listed}\n`
  if (!content && sent === '') return `<p>${title}\n`
  const example = answerExample(content)
  return `<p>${title}
${example === undefined ? '' : codeHtml(example, 'json')}<details><summary>${content ? 'Fields' : 'Headers'} of ${escapeHtml(status)}</summary>
${content ? contentHtml(content) : ''}${sent}</details>
`
}

function examplesHtml(call: Call, origin: string): string {
  const typeScript = typeScriptOf(call)
  return `<div class="examples"><div><h3>curl</h3>
${codeHtml(curlOf(call, origin), 'sh')}</div>${typeScript === undefined ? '' : `<div><h3>TypeScript</h3>\n${codeHtml(typeScript, 'ts')}</div>`}</div>
`
}

/** Levels of objects in an example. */
const deepestExample = 5

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
          .filter(
            ([field]) => depth < deepestExample && (fields === 'all' || schema.required?.includes(field)),
          )
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
function bodyExample(content: Content): { type: string; text: string } | undefined {
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
function literalOf(value: unknown, indent = ''): string {
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
function typeScriptOf({ method, path, operation }: Call): string | undefined {
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
function answerExample(content: Content = {}): string | undefined {
  const json = Object.entries(content).find(([type]) => /[/+]json$/.test(type))?.[1]
  if (!json) return undefined
  const [declared] = Object.values(json.examples ?? {})
  return JSON.stringify(declared?.value ?? exampleOf(json.schema ?? {}, '', 'all'), null, 2)
}
