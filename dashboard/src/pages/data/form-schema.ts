import type { ListField, Row } from './lists.ts'

/** The control that a field gets. */
export type FormKind = 'text' | 'longText' | 'number' | 'boolean' | 'choice' | 'date' | 'time' | 'json'

/** A field of a form. */
export interface FormField {
  name: string
  kind: FormKind
  whole: boolean
  /** Whether a new row needs it. */
  required: boolean
  /** Whether it can be without a value. */
  nullable: boolean
  /** Of a choice. */
  options: readonly string[]
  description: string
  /** Characters at most. */
  longest: number | undefined
  /** Characters at least. */
  shortest: number
}

interface Property {
  type?: string | readonly string[]
  enum?: readonly (string | null)[]
  anyOf?: readonly Property[]
  description?: string
  maxLength?: number
  minLength?: number
}

/** From this number of characters on a text gets several lines. */
const longTextFrom = 1_000

const kinds: Partial<Record<ListField['type'], FormKind>> = {
  boolean: 'boolean',
  date: 'date',
  time: 'time',
  milliseconds: 'time',
  timestamp: 'time',
  json: 'json',
}

/** The fields of a body by its JSON Schema, and by what the list says of them. */
export function fieldsOf(schema: unknown, listed: readonly ListField[]): FormField[] {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, Property>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([name, property]) => {
    const { value, nullable } = withoutNull(property)
    const field = listed.find((one) => one.name === name)
    const options = field?.values ?? value.enum?.flatMap((one) => one ?? []) ?? []
    return {
      name,
      kind: kindOf(value, field, options),
      whole: value.type === 'integer',
      required: required.includes(name),
      nullable,
      options,
      description: property.description ?? value.description ?? '',
      longest: value.maxLength,
      shortest: value.minLength ?? 0,
    }
  })
}

/** The schema of a value that is there, and whether there may be none. */
function withoutNull(property: Property): { value: Property; nullable: boolean } {
  const types = typesOf(property)
  if (types.includes('null')) {
    const [type] = types.filter((one) => one !== 'null')
    const { type: _types, ...rest } = property
    return { value: { ...rest, ...(type !== undefined && { type }) }, nullable: true }
  }
  const others = property.anyOf?.filter((one) => !typesOf(one).includes('null'))
  if (!others || others.length === property.anyOf?.length) return { value: property, nullable: false }
  return { value: others[0] ?? {}, nullable: true }
}

const typesOf = ({ type }: Property): readonly string[] =>
  type === undefined ? [] : typeof type === 'string' ? [type] : type

function kindOf(
  { type, maxLength = 0 }: Property,
  field: ListField | undefined,
  options: readonly string[],
): FormKind {
  if (options.length > 0) return 'choice'
  if (type === 'number' || type === 'integer') return 'number'
  if (type === 'boolean') return 'boolean'
  const kind = field && kinds[field.type]
  if (kind) return kind
  if (type !== 'string') return 'json'
  return maxLength > longTextFrom ? 'longText' : 'text'
}

/** What a form holds of a value: `null`, a truth, or the text of its control. */
export type FormValue = string | boolean | null

/** What the form begins with. */
export function formValue({ kind, nullable }: FormField, value: unknown): FormValue {
  if (value === null || value === undefined) return nullable ? null : kind === 'boolean' ? false : ''
  if (kind === 'boolean') return value === true
  return kind === 'json' ? JSON.stringify(value, null, 2) : String(value)
}

/** What a person has to mend before the service is asked. */
export function faultsOf(
  fields: readonly FormField[],
  values: Readonly<Record<string, FormValue>>,
  changing: boolean,
): Record<string, string> {
  const faults: Record<string, string> = {}
  for (const field of fields) {
    const fault = faultOf(field, values[field.name] ?? null, changing)
    if (fault !== undefined) faults[field.name] = fault
  }
  return faults
}

const needText = new Set<FormKind>(['number', 'choice', 'date', 'time', 'json'])

function faultOf(
  { kind, whole, required, nullable, shortest }: FormField,
  value: FormValue,
  changing: boolean,
): string | undefined {
  if (typeof value === 'boolean' || (value === null && nullable)) return undefined
  const text = value?.trim() ?? ''
  if (text === '')
    return (required || changing) && (needText.has(kind) || shortest > 0) ? 'Enter a value.' : undefined
  if (kind === 'number') {
    if (!Number.isFinite(Number(text))) return 'Enter a number.'
    if (whole && !Number.isInteger(Number(text))) return 'Enter a whole number.'
  }
  if (kind === 'json' && parsed(text) === undefined) return 'Enter JSON, such as {"color": "red"}.'
  return undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The body: all fields of a new row but empty optional ones, and the changed fields of an existing one. */
export function bodyOf(
  fields: readonly FormField[],
  values: Readonly<Record<string, FormValue>>,
  row?: Row,
): Row {
  const body: Row = {}
  for (const field of fields) {
    const typed = values[field.name] ?? null
    const changed = typed !== formValue(field, row?.[field.name])
    if (row ? changed : field.required || (typed !== '' && changed)) body[field.name] = sent(field, typed)
  }
  return body
}

function sent({ kind }: FormField, typed: FormValue): unknown {
  if (typed === null || typeof typed === 'boolean') return typed
  return kind === 'number' ? Number(typed) : kind === 'json' ? parsed(typed) : typed
}
