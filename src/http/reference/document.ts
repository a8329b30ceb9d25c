/** The parts of an OpenAPI 3.1 document that the reference shows (https://spec.openapis.org/oas/v3.1.0). */
export interface ApiDocument {
  info: { title: string; version: string; description?: string }
  tags?: readonly { name: string; description?: string }[]
  paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  webhooks?: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  components?: { headers?: Readonly<Record<string, { description?: string }>> }
}

export interface Operation {
  tags?: readonly string[]
  summary?: string
  description?: string
  parameters?: readonly Parameter[]
  requestBody?: { required?: boolean; description?: string; content?: Content }
  responses?: Readonly<Record<string, Answer>>
  security?: readonly Readonly<Record<string, readonly string[]>>[]
}

export interface Parameter {
  name: string
  in: string
  required?: boolean
  description?: string
  schema?: Schema
}

export interface Answer {
  description?: string
  content?: Content
  headers?: Readonly<Record<string, object>>
}

export type Content = Readonly<
  Record<string, { schema?: Schema; examples?: Readonly<Record<string, { value?: unknown }>> }>
>

/** A JSON Schema, with the words that the routes use. */
export interface Schema {
  type?: string | readonly string[]
  description?: string
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  items?: Schema
  anyOf?: readonly Schema[]
  enum?: readonly unknown[]
  const?: unknown
  format?: string
  pattern?: string
  default?: unknown
  examples?: readonly unknown[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  additionalProperties?: boolean | Schema
}

/** One call of the API, or one request that the service sends. */
export interface Call {
  /** For anchors: letters, digits and hyphens. */
  id: string
  method: string
  /** The path, or the type of an event that is sent. */
  path: string
  isSent: boolean
  operation: Operation
}

/** The calls of one area: a page of the reference. */
export interface CallGroup {
  /** The last part of the page's path. */
  id: string
  name: string
  description: string
  calls: readonly Call[]
}

/** The words of pages and guides for tags whose names are those of the API. */
const names: Readonly<Record<string, string>> = {
  receiving: 'Webhooks in',
  emitting: 'Webhooks out',
  subscribers: 'Endpoints',
  owners: 'Customers',
  'events that are sent': 'Sent events',
}

const nameOf = (tag: string): string => names[tag] ?? `${tag.slice(0, 1).toUpperCase()}${tag.slice(1)}`

/** All calls by their tags, in the order of the document. */
export function groupsOf({ tags = [], paths = {}, webhooks = {} }: ApiDocument): CallGroup[] {
  const calls = [...callsOf(paths, false), ...callsOf(webhooks, true)]
  const byTag = Map.groupBy(calls, ({ operation }) => operation.tags?.[0] ?? 'other')
  const descriptions = new Map(tags.map(({ name, description }) => [name, description ?? '']))
  return [...new Set([...descriptions.keys(), ...byTag.keys()])].flatMap((tag) => {
    const found = byTag.get(tag)
    if (!found) return []
    const name = nameOf(tag)
    return { id: slug(name), name, description: descriptions.get(tag) ?? '', calls: found }
  })
}

function callsOf(items: NonNullable<ApiDocument['paths']>, isSent: boolean): Call[] {
  return Object.entries(items).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      id: slug(`${isSent ? 'sent' : method}-${path}`),
      method,
      path,
      isSent,
      operation,
    })),
  )
}

/** Distinct for distinct paths of a service: their parts differ in more than punctuation. */
function slug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
}
