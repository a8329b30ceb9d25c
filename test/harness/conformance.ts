import assert from 'node:assert/strict'
import Schema from 'typebox/schema'

type JsonSchema = Record<string, unknown>

interface Operation {
  responses?: Record<string, { content?: Record<string, { schema?: JsonSchema }> }>
}

/** The OpenAPI document, as far as answers are held against it. */
export interface ApiDocument {
  paths: Record<string, Record<string, Operation>>
}

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
  if (!/^application\/(problem\+)?json/.test(type) || method === 'HEAD') return
  const found = findOperation(document, method, path)
  if (!found) return
  const [name, operation] = found
  const { responses = {} } = operation
  const problem = type.startsWith('application/problem+json')
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
  const [valid, errors] = Schema.Errors(closed(schema), JSON.parse(text) as unknown)
  assert.ok(
    valid,
    `${name} answered ${response.status} with what its schema does not declare: ${JSON.stringify(errors)}\n${text.slice(0, 500)}`,
  )
}

function findOperation(document: ApiDocument, method: string, path: string): [string, Operation] | undefined {
  const parts = path.split('?')[0]!.split('/')
  const matches = (template: string): boolean => {
    const wanted = template.split('/')
    return (
      wanted.length === parts.length &&
      wanted.every((part, index) => part.startsWith('{') || part === parts[index])
    )
  }
  // An address that is written out goes before one with a parameter, as in the router.
  const template = document.paths[parts.join('/')]
    ? parts.join('/')
    : Object.keys(document.paths).find(matches)
  const operation = template === undefined ? undefined : document.paths[template]?.[method.toLowerCase()]
  return operation && [`${method} ${template}`, operation]
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
