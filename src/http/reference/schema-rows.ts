import type { Schema } from './document.ts'

/** A field of a body, as a row of a table. */
export interface Row {
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
