import { Type, type TSchema } from 'typebox'
import { Problem } from '../errors.ts'
import { canonicalTime, InvalidTime, restorePlus } from './time.ts'
import { closedObject, NullableText } from '../http/schemas/schemas.ts'

/**
 * A parameter in the OpenAPI document that is described by a schema and accepts any text: an invalid value gets the default, not
 * an error.
 */
export function coerced(schema: TSchema & { description?: string; default?: unknown }) {
  const { description, default: fallback, ...rest } = schema
  const either = Type.Union([rest, Type.String()], {
    description: description!,
    ...(fallback !== undefined && { default: fallback }),
  })
  return Type.Unsafe<string>(either)
}

/** The items per page of most lists. */
const usualLimits = { default: 20, max: 100 }

/** The parameter that readLimit reads. @param strict whether the list rejects invalid numbers */
export function limitParameter({ default: fallback, max } = usualLimits, strict = false) {
  const others = strict
    ? `A number above ${max} becomes ${max}.`
    : `A fraction is cut off, and the number is clamped to 1 to ${max}. 0, or a text that is not a number, becomes ${fallback}.`
  return Type.Optional(
    coerced(
      Type.Integer({
        minimum: 1,
        maximum: max,
        default: fallback,
        description: `Items per page. ${others}`,
      }),
    ),
  )
}

/** The parameters of a list with cursors, which `readPageRequest` reads. */
export function pageParameters(limits = usualLimits) {
  const cursor = Type.String({ minLength: 1, description: 'The nextCursor of the previous page' })
  return { limit: limitParameter(limits), cursor: Type.Optional(cursor) }
}

/** Never throws: the list checks the cursor. */
export function readPageRequest(
  { limit, cursor }: { limit?: string | undefined; cursor?: string | undefined },
  limits = usualLimits,
): PageRequest {
  return { limit: readLimit(limit, limits), cursor }
}

/** The parameter that readPage reads. @param strict whether the list rejects invalid numbers */
export function pageParameter(strict = false) {
  const others = 'A fraction is cut off. A number below 1, or a text that is not a number, becomes 1.'
  return Type.Optional(
    coerced(
      Type.Integer({
        minimum: 1,
        default: 1,
        description: `The number of the page.${strict ? '' : ` ${others}`}`,
      }),
    ),
  )
}

/** The highest page for which `page * limit` is exact with the largest `limit`, 100. */
const highestPage = Math.floor(Number.MAX_SAFE_INTEGER / 100)

/**
 * Reads the parameter `limit` and cuts off its fraction. Returns the default for 0 and for a text that is not a number (absent,
 * empty, `abc`, `5;drop`, `0x10`). Any other number is clamped to 1..max. Never throws.
 */
export function readLimit(
  text: string | undefined,
  { default: fallback, max }: { default: number; max: number },
): number {
  const number = Math.trunc(readDecimal(text) ?? 0)
  return number === 0 ? fallback : Math.min(Math.max(number, 1), max)
}

/**
 * Reads the parameter `page` and cuts off its fraction. Returns 1 for a number below 1 and for a text that is not a number. The
 * result is at most the highest page whose offset is exact. Never throws.
 */
export function readPage(text: string | undefined): number {
  return Math.min(Math.max(Math.trunc(readDecimal(text) ?? 1), 1), highestPage)
}

/** Reads a whole number from 1 on, for strict parameters; `undefined` for any other text. */
export function readWholeNumber(text: string): number | undefined {
  const number = readDecimal(text)
  return Number.isInteger(number) && number! >= 1 ? number : undefined
}

const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/

/** Characters. Longer texts are not numbers. */
const longest = 400

/** Whether a text is one decimal number: `5`, `-2.7`, `.5`, `1e9`. */
export function isDecimal(text: string): boolean {
  return text.length <= longest && decimal.test(text)
}

/**
 * Reads a decimal number of a query string. Spaces around it are allowed: a `+` is decoded to a space. Returns `undefined` for any other text, including those that
 * Number() or parseInt() accept: the empty text, `5;drop`, `0x10`, `Infinity`. A number beyond the range of a double is ±Infinity,
 * so that callers can clamp it.
 */
function readDecimal(text: string | undefined): number | undefined {
  if (text === undefined || text.length > longest) return undefined
  const spaceless = text.replaceAll(' ', '')
  return isDecimal(spaceless) && text.includes(spaceless) ? Number(text) : undefined
}

/** @param rule continues the sentence that begins with the parameter, without the full stop */
export function invalidParameter(parameter: string, rule: string): Problem {
  return new Problem('invalid-parameter', { parameter, detail: `The parameter \`${parameter}\` ${rule}.` })
}

/** Reads a parameter with a fixed set of values. @throws Problem `invalid-parameter` with the parameter's name */
export function readChoice<T extends string>(text: string, parameter: string, values: readonly T[]): T {
  const value = values.find((one) => one === text)
  if (value !== undefined) return value
  throw invalidParameter(parameter, `must be one of ${values.join(', ')}`)
}

/**
 * Reads a text that is compared with a column. PostgreSQL cannot store NUL or lone surrogates, so no row could match such a text.
 * @param longest characters
 * @throws Problem `invalid-parameter` with the parameter's name
 */
export function readText(text: string, parameter: string, longest = 1_000): string {
  if (text.length <= longest && !text.includes('\0') && text.isWellFormed()) return text
  throw invalidParameter(parameter, `must be a text of up to ${longest} characters`)
}

/**
 * Reads a time of a query string. Returns milliseconds since 1970; microseconds are rounded up.
 * @throws Problem `invalid-parameter` that names the parameter.
 */
export function readTimeParameter(text: string, parameter: string): number {
  try {
    return Math.ceil(Date.parse(canonicalTime(restorePlus(text))))
  } catch (error) {
    if (!(error instanceof InvalidTime)) throw error
    throw invalidParameter(parameter, error.message)
  }
}

/** Rows of a page, and the cursor of the next one; null on the last page. */
export interface PageOfRows<Row> {
  rows: Row[]
  nextCursor: string | null
}

/** A page that a caller asks for: at most `limit` rows behind those of a cursor, or the first ones. */
export interface PageRequest {
  limit: number
  cursor: string | undefined
}

/** The schema of a page with cursors. */
export function pageSchema<T extends TSchema>(Item: T) {
  const pageInfo = closedObject({ hasNextPage: Type.Boolean(), nextCursor: NullableText })
  return closedObject({ data: Type.Array(Item), pageInfo })
}

export function viewPage<Row, Item>({ rows, nextCursor }: PageOfRows<Row>, view: (row: Row) => Item) {
  return {
    data: rows.map((row) => view(row)),
    pageInfo: { hasNextPage: nextCursor !== null, nextCursor },
  }
}
