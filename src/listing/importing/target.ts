import type { Static, TObject } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Tx } from '../../storage/database.ts'

/** A table that files are imported into. */
export interface ImportTarget<Row> {
  /** Turns a record into a row. @throws InvalidRecord that says why it cannot be one. */
  read(fields: Readonly<Record<string, unknown>>, now: number): Row
  /** Two rows with the same key are the same thing: within a file, the last one counts. */
  keyOf(row: Row): string
  /** Inserts what is new and updates what is there. All keys differ. */
  save(tx: Tx, rows: readonly Row[], now: number): Promise<void>
}

/** Why a record cannot be imported; the message begins with the field's name. */
export class InvalidRecord extends Error {
  constructor(why: string) {
    super(why)
    this.name = 'InvalidRecord'
  }
}

const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?$/

/**
 * Reads CSV's texts as what the schema asks for: decimal numbers where it wants numbers, and nothing where a field is
 * empty and may be absent. What cannot be read stays a text, for the check to complain about.
 */
export function readTexts(
  schema: TObject,
  fields: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const required = new Set<string>(schema.required)
  const read = Object.entries(fields).map(([name, value]): [string, unknown] => {
    const { type }: { type?: string } = schema.properties[name] ?? {}
    if (value === '' && !required.has(name)) return [name, undefined]
    const isNumber =
      (type === 'number' || type === 'integer') && typeof value === 'string' && decimal.test(value)
    return [name, isNumber ? Number(value) : value]
  })
  return Object.fromEntries(read.filter(([, value]) => value !== undefined))
}

/** A function that takes the schema's own fields of a record, and throws InvalidRecord unless they are as it says. */
export function createCheck<S extends TObject>(
  schema: S,
): (fields: Readonly<Record<string, unknown>>) => Static<S> {
  const names = Object.keys(schema.properties)
  const validator = Compile(schema)
  return (fields) => {
    const own = Object.fromEntries(
      names.filter((name) => Object.hasOwn(fields, name)).map((name) => [name, fields[name]]),
    )
    if (validator.Check(own)) return own
    const [error] = validator.Errors(own)
    const name = error?.instancePath.slice(1) ?? ''
    const why =
      error?.keyword === 'pattern'
        ? 'holds a character that cannot be stored'
        : (error?.message ?? 'is wrong')
    throw new InvalidRecord(name === '' ? why : `${name} ${why}`)
  }
}
