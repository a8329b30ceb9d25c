import { Problem } from '../../errors.ts'
import { readValue, writeValue, type KeyValue } from '../../paging/cursor-values.ts'
import { fieldTypes, storedValue, type FieldType } from '../field-types.ts'
import type { Field } from '../list.ts'
import type { Query } from '../query.ts'
import type { ListReader } from '../reader.ts'
import { keyOf, type KeysetPage, type PagePlans } from './page.ts'

/** Types whose values have the same text in the database, in items and in query strings. */
export const keysetTypes: readonly FieldType[] = ['text', 'uuid', 'integer', 'bigint']

/** Pages whose cursor is the key of the last item as it is, without a signature. */
export class KeysetPager {
  readonly #reader: ListReader
  readonly #plans: PagePlans

  constructor(reader: ListReader, plans: PagePlans) {
    this.#reader = reader
    this.#plans = plans
  }

  /** @throws Problem `invalid-cursor` for a cursor that is not a value of the key. */
  async read(query: Query): Promise<KeysetPage> {
    const { limit, order, parameters } = query
    const { field } = order[0]!
    const cursor = parameters['cursor']
    const key = cursor === undefined ? undefined : [readKeysetCursor(field, cursor)]
    const page = { style: 'keyset', query, limit } as const
    if (query.empty) return { ...page, rows: [], nextCursor: null }
    const values = [...query.values, ...(key ?? [])]
    const found = await this.#reader.read(this.#plans.after(query, key, limit + 1), values)
    const rows = found.slice(0, limit)
    const nextCursor =
      found.length > limit ? showKeysetCursor(field, keyOf(query, order, rows.at(-1)!)[0]!) : null
    return { ...page, rows, nextCursor }
  }
}

/**
 * Begins the cursor of a key that is no plain text of a query string: nothing follows for `''`, since clients take an empty cursor
 * for none. For keys of another type than the field's, which SQLite may store, the JSON of a signed cursor's value follows.
 */
const escape = '\u0000'

/** Reads a key from an unsigned cursor. @throws Problem `invalid-cursor` for a text that is not a key. */
function readKeysetCursor(field: Field, cursor: string): KeyValue {
  const key = cursor.startsWith(escape) ? readEscaped(field, cursor.slice(1)) : readPlain(field, cursor)
  if (key !== undefined) return key
  throw new Problem('invalid-cursor', {
    parameter: 'cursor',
    detail: 'The parameter `cursor` is not the key of an item.',
  })
}

/** Only the text that showKeysetCursor writes is accepted: `1e3` is not the key 1000. */
function readPlain(field: Field, text: string): KeyValue | undefined {
  const position = text === '' ? undefined : fieldTypes[field.type].read(text, field)
  return position && 'at' in position && String(position.at) === text
    ? storedValue(field, position.at)
    : undefined
}

function readEscaped({ type, mixed }: Field, json: string): KeyValue | undefined {
  if (json === '') return type === 'text' ? '' : undefined
  if (!mixed) return undefined
  try {
    return readValue(JSON.parse(json), { name: 'key', type: fieldTypes[type].cursor, asStored: true })
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function showKeysetCursor(field: Field, key: KeyValue): string | number {
  const { type } = field
  if (type === 'text' && key === '') return escape
  const plain = type === 'integer' ? key : String(key)
  if (key !== null && typeof plain !== 'object' && readPlain(field, String(plain)) === key)
    return plain as string | number
  return `${escape}${JSON.stringify(writeValue(key, { name: 'key', type: fieldTypes[type].cursor }))}`
}
