import type { TSchema } from 'typebox'
import type * as TypeboxCompile from 'typebox/compile'

export type Fault = ReturnType<ReturnType<typeof TypeboxCompile.Compile>['Errors']>[number]

/** TypeBox's message for an undeclared property. */
const undeclared = 'schema is false'

/** What the first of the faults of a value expects, in words that follow the name of the field. */
export function validationMessage(faults: readonly Fault[], schema: TSchema): string | undefined {
  const [first] = faults
  if (first?.message === undeclared) return 'is no field of this call'
  if (first?.keyword === 'pattern') return patternMessage(first, schema)
  const values = expectedValues(faults.filter(({ instancePath }) => instancePath === first?.instancePath))
  if (values.length === 0) return first?.message
  return `must be ${values.length > 1 ? 'one of ' : ''}${values.join(', ')}`
}

/** A pattern alone is hard to read, so the description of its schema comes first. */
function patternMessage({ schemaPath, params, message }: Fault, schema: TSchema): string {
  const { description } = schemaAt(schema, schemaPath) as { description?: string }
  if (description === undefined) return message
  return `must be: ${description.replace(/\.$/, '')} (pattern ${String((params as { pattern: unknown }).pattern)})`
}

/** The values that a field takes, which TypeBox's messages do not name; empty if it takes others, too. */
function expectedValues(faults: readonly Fault[]): (string | number)[] {
  // A union ends with an error of its own, unless the list of errors was cut.
  const isComplete = faults.length === 1 || faults.at(-1)?.keyword === 'anyOf'
  const parameters = faults.map(({ keyword, params }) => ({
    keyword,
    ...(params as Record<string, unknown>),
  }))
  const isFixed = parameters.every(
    (params) => /^(const|enum|anyOf)$/.test(params.keyword) || (params as { type?: unknown }).type === 'null',
  )
  if (!isComplete || !isFixed) return []
  return parameters.flatMap((params) => {
    const { allowedValues, allowedValue } = params as { allowedValues?: unknown; allowedValue?: unknown }
    return (allowedValues ?? allowedValue ?? []) as (string | number)[]
  })
}

/** The schema at a path such as `#/properties/to/items`, or an empty object. */
function schemaAt(schema: object, path: string): object {
  return path
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((found, name) => (found as Record<string, object>)[name] ?? {}, schema)
}
