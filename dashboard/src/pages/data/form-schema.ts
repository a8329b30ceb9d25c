import type { Row } from './lists.ts'

/** A field of a form. */
export interface FormField {
  name: string
  kind: 'text' | 'number' | 'boolean'
  whole: boolean
  required: boolean
  description: string
  /** Characters at most. */
  longest: number | undefined
  /** Characters at least. */
  shortest: number
}

interface Property {
  type?: string
  description?: string
  maxLength?: number
  minLength?: number
}

/** The fields of a body by its JSON Schema: an object of texts, numbers and booleans, as lists have them. */
export function fieldsOf(schema: unknown): FormField[] {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, Property>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([name, { type, description = '', maxLength, minLength = 0 }]) => ({
    name,
    kind: type === 'number' || type === 'integer' ? 'number' : type === 'boolean' ? 'boolean' : 'text',
    whole: type === 'integer',
    required: required.includes(name),
    description,
    longest: maxLength,
    shortest: minLength,
  }))
}

/** What a person has to mend before the service is asked. */
export function faultsOf(
  fields: readonly FormField[],
  values: Readonly<Record<string, unknown>>,
  changing: boolean,
): Record<string, string> {
  const faults: Record<string, string> = {}
  for (const { name, kind, whole, required, shortest } of fields) {
    const text = String(values[name] ?? '').trim()
    if (kind === 'boolean') continue
    if (text === '' && (required || changing) && (kind === 'number' || shortest > 0))
      faults[name] = 'Enter a value.'
    else if (kind === 'number' && text !== '' && !Number.isFinite(Number(text)))
      faults[name] = 'Enter a number.'
    else if (whole && text !== '' && !Number.isInteger(Number(text))) faults[name] = 'Enter a whole number.'
  }
  return faults
}

/** The body: all fields of a new row but empty optional ones, and the changed fields of an existing one. */
export function bodyOf(
  fields: readonly FormField[],
  values: Readonly<Record<string, unknown>>,
  row?: Row,
): Row {
  const body: Row = {}
  for (const { name, kind, required } of fields) {
    const typed = values[name]
    const value =
      kind === 'number' ? Number(typed) : kind === 'boolean' ? typed === true : String(typed ?? '')
    if (row ? value !== row[name] : required || (typed !== '' && typed !== undefined)) body[name] = value
  }
  return body
}
