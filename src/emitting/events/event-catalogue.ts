import { createRequire } from 'node:module'
import type * as TypeboxSchema from 'typebox/schema'
import { invalidBody } from '../../errors.ts'
import { describeIssues, isStandardSchema, type StandardSchema } from '../../json/standard-schema.ts'
import type { EventTypeDeclaration } from '../config.ts'
import { eventTypePattern } from './event.ts'

const require = createRequire(import.meta.url)
const validType = new RegExp(eventTypePattern)
/** The most errors in one refusal. */
const mostTold = 3

/** An event type in the catalogue. */
export interface CatalogueEntry extends Omit<EventTypeDeclaration, 'schema'> {
  type: string
  /** JSON Schema. */
  schema: object | undefined
  /** Whether the service itself emits it. */
  builtIn: boolean
}

type Check = (data: unknown) => string[]

/** The declared event types. Validates data against their schemas. */
export class EventCatalogue {
  readonly entries: readonly CatalogueEntry[]
  /** The types that the configuration or the service itself declares. */
  readonly types: ReadonlySet<string>
  readonly #refuseOthers: boolean
  readonly #checks = new Map<string, Check>()
  readonly #known: ReadonlySet<string>

  /**
   * @param builtIn types that the service itself emits
   * @throws Error with a message for the operator if a declaration is invalid or a sample does not match its schema
   */
  constructor(
    declared: Readonly<Record<string, EventTypeDeclaration>>,
    refuseOthers: boolean,
    builtIn: Readonly<Record<string, EventTypeDeclaration>> = {},
  ) {
    this.#refuseOthers = refuseOthers
    this.entries = [...entriesOf(declared, false), ...entriesOf(builtIn, true)]
    this.types = new Set(this.entries.map(({ type }) => type))
    this.#known = new Set(Object.keys(declared))
    for (const [type, declaration] of Object.entries(declared)) {
      if (typeof declaration !== 'object')
        throw new Error(`emitting.eventTypes: the declaration of ${type} is not an object`)
      const { schema, samples } = declaration
      if (!validType.test(type))
        throw new Error(`emitting.eventTypes: ${JSON.stringify(type)} is not a valid event type`)
      if (Object.hasOwn(builtIn, type))
        throw new Error(`emitting.eventTypes: ${type} is an event of the service itself`)
      if (schema === undefined) continue
      const check = compile(type, schema)
      this.#checks.set(type, check)
      for (const [index, sample] of (samples ?? []).entries()) {
        const [fault] = check(sample)
        if (fault)
          throw new Error(
            `emitting.eventTypes: sample ${index + 1} of ${type} does not match its schema: ${fault}`,
          )
      }
    }
  }

  /** Those of the types that `check` rejects unless they are stored. */
  undeclared(types: readonly string[]): string[] {
    if (!this.#refuseOthers) return []
    return [...new Set(types)].filter((type) => validType.test(type) && !this.#known.has(type))
  }

  /**
   * @param data JSON
   * @param stored those of the `undeclared` types that are stored
   * @throws Problem `invalid-body` for data that does not match the schema, and for an undeclared type if those are refused
   */
  check(type: string, data: string, stored?: ReadonlySet<string>): void {
    if (this.#refuseOthers && !this.#known.has(type) && !stored?.has(type)) {
      throw invalidBody(
        '/type',
        `The type ${type} is not declared; GET /event-types lists the declared ones.`,
      )
    }
    const faults = this.#checks.get(type)?.(JSON.parse(data)) ?? []
    if (faults.length > 0) {
      throw invalidBody(
        '/data',
        `The data does not match the schema of ${type}: ${faults.slice(0, mostTold).join('; ')}.`,
      )
    }
  }
}

function entriesOf(
  declared: Readonly<Record<string, EventTypeDeclaration>>,
  builtIn: boolean,
): CatalogueEntry[] {
  return Object.entries(declared).map(([type, declaration]) => {
    const { schema } = declaration
    const shown = schema && isStandardSchema(schema) ? jsonSchemaOf(schema) : schema
    return Object.assign({}, declaration, { type, builtIn, schema: shown })
  })
}

/** The JSON Schema, if the library can make one. */
function jsonSchemaOf({ '~standard': standard }: StandardSchema): object | undefined {
  try {
    return standard.jsonSchema?.input({ target: 'draft-2020-12' })
  } catch {
    // It says more than a JSON Schema can.
    return undefined
  }
}

let compiler: typeof TypeboxSchema | undefined

/** Compiles a JSON Schema. The compiler is loaded on first use, because loading delays the start. */
export function compileSchema(schema: object): ReturnType<typeof TypeboxSchema.Compile> {
  compiler ??= require('typebox/schema') as typeof TypeboxSchema
  return compiler.Compile(schema)
}

function compile(type: string, schema: object): Check {
  if (isStandardSchema(schema)) return standardCheck(type, schema)
  try {
    const validator = compileSchema(schema)
    validator.Check(null)
    return (data) => {
      if (validator.Check(data)) return []
      const [, errors] = validator.Errors(data)
      return errors.length === 0
        ? ['it does not match']
        : errors.map(({ instancePath, message }) => `${instancePath || 'it'} ${message}`)
    }
  } catch (error) {
    throw new Error(`emitting.eventTypes: the schema of ${type} is invalid: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

function standardCheck(type: string, schema: StandardSchema): Check {
  return (data) => {
    const result = schema['~standard'].validate(data)
    if (result instanceof Promise)
      throw new Error(`emitting.eventTypes: the schema of ${type} does not validate synchronously`)
    return describeIssues(result.issues ?? [])
  }
}
