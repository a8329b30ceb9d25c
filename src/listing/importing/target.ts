import type { Static, TObject } from 'typebox'
import { Compile } from 'typebox/compile'
import { isDecimal } from '../../paging/parameters.ts'
import type { Tx } from '../../storage/database.ts'

/** A table that files are imported into. */
export interface ImportTarget<Row> {
  /** Turns a record into a row. @throws InvalidRecord, or InvalidTime for its `createdAt`. */
  read(fields: Readonly<Record<string, unknown>>, now: number): Row
  /** Identifies the row. Of several records with one key in a batch, the last one is imported. */
  keyOf(row: Row): string
  /** Inserts new rows and updates existing ones. The keys of `rows` differ. */
  save(tx: Tx, rows: readonly Row[], now: number): Promise<void>
}

/** A record that cannot be imported. The message begins with the name of the field. */
export class InvalidRecord extends Error {
  override readonly name = 'InvalidRecord'
}

/**
 * Converts the texts of a CSV record to the types of the schema: decimal numbers for number fields, and no value for an empty
 * optional field, or null if the field may be null. A text that cannot be converted stays a text, which the schema then refuses.
 */
export function readTexts(
  schema: TObject,
  fields: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const required = new Set<string>(schema.required)
  const read = Object.entries(fields).map(([name, value]): [string, unknown] => {
    const { type, anyOf }: { type?: string; anyOf?: readonly { type?: string }[] } =
      schema.properties[name] ?? {}
    if (value === '' && !required.has(name))
      return [name, anyOf?.some((one) => one.type === 'null') ? null : undefined]
    const isNumber =
      (type === 'number' || type === 'integer') && typeof value === 'string' && isDecimal(value)
    return [name, isNumber ? Number(value) : value]
  })
  return Object.fromEntries(read.filter(([, value]) => value !== undefined))
}

/** Returns the function that selects the schema's fields of a record, and throws InvalidRecord if they do not match the schema. */
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
        ? 'contains a character that cannot be stored'
        : (error?.message ?? 'is invalid')
    throw new InvalidRecord(name === '' ? why : `${name} ${why}`)
  }
}
