import fastJsonStringify from 'fast-json-stringify'
import type * as TypeboxCompile from 'typebox/compile'
import type { FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify'
import { createRequire } from 'node:module'
import type { TSchema } from 'typebox'
import { BoundedCache } from '../../runtime/bounded-cache.ts'

type Compile = typeof TypeboxCompile.Compile

const require = createRequire(import.meta.url)
let compile: Compile | undefined

/**
 * Bodies and path parameters are checked as they are, without coercion. Query strings never fail a schema: their rules
 * are to coerce, clamp or name the parameter, which the handler does (docs/adr/0005).
 *
 * A check is compiled when a route is first called, and so is the compiler loaded: together with the serializers below
 * that is half of the time that a start would take.
 */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  if (httpPart === 'querystring' || httpPart === 'headers') return () => true
  const check = checkOf(schema)
  return (value: unknown) => {
    const faults = check(value)
    if (!faults) return { value }
    // The answer names one fault (toProblem).
    return { error: [{ ...faults[0], message: validationMessage(faults, schema) }] as unknown as Error }
  }
}

/** Returns a function that returns the faults of a value, or `undefined` for a valid one. The check is compiled on its first use. */
export function checkOf(schema: object): (value: unknown) => Fault[] | undefined {
  let validator: ReturnType<Compile> | undefined
  return (value) => {
    compile ??= (require('typebox/compile') as { Compile: Compile }).Compile
    validator ??= compile(schema as TSchema)
    return validator.Check(value) ? undefined : validator.Errors(value)
  }
}

type Serialize = (value: unknown) => string

/** By the text of the schema: routes share schemas, and so do services in one process, of which tests start hundreds. */
const serializers = new BoundedCache<string, Serialize>(500)

/** Writes answers by their schema, so that no undeclared field leaves. Compiled when a route first answers. */
export const compileSerializer: FastifySerializerCompiler<TSchema> = ({ schema }) => {
  let serialize: Serialize | undefined
  return (value: unknown) => (serialize ??= serializerOf(schema))(value)
}

function serializerOf(schema: TSchema): Serialize {
  const text = JSON.stringify(schema)
  let serialize = serializers.get(text)
  if (!serialize) serializers.set(text, (serialize = fastJsonStringify(schema as fastJsonStringify.Schema)))
  return serialize
}

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
