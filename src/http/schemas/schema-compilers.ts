import fastJsonStringify from 'fast-json-stringify'
import type { FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify'
import { createRequire } from 'node:module'
import type { TSchema } from 'typebox'
import type * as TypeboxCompile from 'typebox/compile'

type Compile = typeof TypeboxCompile.Compile
type Fault = ReturnType<ReturnType<Compile>['Errors']>[number]

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
  let validator: ReturnType<Compile> | undefined
  return (value: unknown) => {
    compile ??= (require('typebox/compile') as { Compile: Compile }).Compile
    validator ??= compile(schema)
    if (validator.Check(value)) return { value }
    return { error: validator.Errors(value).map((fault) => inWords(fault, schema)) as unknown as Error }
  }
}

/** A pattern tells a person little, so the description of its schema is put before it. */
function inWords(fault: Fault, schema: TSchema): Fault {
  if (fault.keyword !== 'pattern') return fault
  const { description } = at(schema, fault.schemaPath) as { description?: string }
  if (description === undefined) return fault
  return {
    ...fault,
    message: `must be: ${description.replace(/\.$/, '')} (pattern ${String(fault.params.pattern)})`,
  }
}

/** The schema at a path such as `#/properties/to/items`, or an empty object. */
function at(schema: object, path: string): object {
  return path
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((found, name) => (found as Record<string, object>)[name] ?? {}, schema)
}

/** Writes answers by their schema, so that no undeclared field leaves. Compiled when a route first answers. */
export const compileSerializer: FastifySerializerCompiler<TSchema> = ({ schema }) => {
  let serialize: ((value: unknown) => string) | undefined
  return (value: unknown) => (serialize ??= fastJsonStringify(schema as fastJsonStringify.Schema))(value)
}
