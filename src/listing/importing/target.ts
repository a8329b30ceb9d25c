import type { Static, TObject } from 'typebox'
import { Compile } from 'typebox/compile'
import { isDecimal } from '../../paging/parameters.ts'
import { isRawNumber } from '../../json/exact.ts'
import type { Tx } from '../../storage/database.ts'
import type { CsvOptions } from '../csv.ts'

/** A table that files are imported into. */
export interface ImportTarget<Row> {
  csv?: CsvOptions
  /**
   * Turns a record into a row.
   * @param now milliseconds since 1970
   * @param isText whether all values are texts or null, because the file is CSV
   * @throws InvalidRecord, or InvalidTime for its `createdAt`
   */
  read(fields: Readonly<Record<string, unknown>>, now: number, isText?: boolean): Row
  /** Identifies the row. */
  keyOf(row: Row): string
  /** Saves rows whose keys differ. @param now milliseconds since 1970 */
  save(tx: Tx, rows: readonly Row[], now: number): Promise<SavedRows>
  /**
   * Why the database rejects a row; `undefined` for errors not caused by its values. With this function, the rejected rows of a batch are
   * reported, and the others are saved.
   */
  rejection?(error: unknown): string | undefined
  /** Called at the beginning of each transaction. */
  begin?(tx: Tx): Promise<unknown>
  /** Called once after the last batch. */
  finish?(tx: Tx): Promise<void>
}

/** Numbers of rows. */
export interface SavedRows {
  inserted: number
  updated: number
  /** Existing rows that were not changed. */
  existing: number
}

/** A record that cannot be imported. The message begins with the name of the field. */
export class InvalidRecord extends Error {
  override readonly name = 'InvalidRecord'
}

/**
 * Converts the texts of a CSV record to the types of the schema: decimal numbers for number fields, and no value for an empty
 * optional field, or null if the field may be null. A text that cannot be converted stays a text, which the schema then refuses.
 */
function readTexts(schema: TObject, fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
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

/** A number that may have been preserved as text. */
function plainNumber(value: unknown): unknown {
  return typeof value === 'object' && value !== null && isRawNumber(value) ? Number(value.rawJSON) : value
}

/** Returns the function that selects the schema's fields of a record, and throws InvalidRecord if they do not match the schema. @param isText see ImportTarget */
export function createCheck<S extends TObject>(
  schema: S,
): (fields: Readonly<Record<string, unknown>>, isText?: boolean) => Static<S> {
  const names = Object.keys(schema.properties)
  const validator = Compile(schema)
  return (given, isText = false) => {
    const fields = isText ? readTexts(schema, given) : given
    const own = Object.fromEntries(
      names.filter((name) => Object.hasOwn(fields, name)).map((name) => [name, plainNumber(fields[name])]),
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
