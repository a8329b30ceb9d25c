import fastJsonStringify from 'fast-json-stringify'
import type { FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify'
import { createRequire } from 'node:module'
import type { TSchema } from 'typebox'
import type * as TypeboxCompile from 'typebox/compile'
import { BoundedCache } from '../../runtime/bounded-cache.ts'
import { validationMessage } from './validation-message.ts'

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
  let validator: ReturnType<Compile> | undefined
  return (value: unknown) => {
    compile ??= (require('typebox/compile') as { Compile: Compile }).Compile
    validator ??= compile(schema)
    if (validator.Check(value)) return { value }
    const faults = validator.Errors(value)
    // The answer names one fault (toProblem).
    return { error: [{ ...faults[0], message: validationMessage(faults, schema) }] as unknown as Error }
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
