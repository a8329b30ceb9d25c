import { Type, type TObject } from 'typebox'
import { closedObject, storablePattern } from '../../http/schemas/schemas.ts'
import { canonicalTime } from '../../paging/time.ts'
import type { PostsTable, ProductsTable } from '../../storage/tables.ts'
import { fieldOf, type ListDeclaration } from '../list.ts'
import { posts, products } from '../resources/products-and-posts.ts'

/** A list whose items can be written over HTTP and imported. Its table has the columns `id` and `created_at`. */
export interface WritableList {
  list: ListDeclaration
  /** The name of one item in messages. */
  noun: string
  /** The body of a creation. */
  New: TObject
  /** The body of a change. */
  Change: TObject
}

/** A row of a table whose rows can be written. */
export type ItemRow = ProductsTable | PostsTable
/** What a body schema accepts. */
export type ItemBody = Readonly<Record<string, unknown>> & { createdAt?: string }

/** A text of `min` to `max` UTF-16 code units. Cursors contain sort keys, so their length must have a bound. */
export function boundedText(min: number, max: number, description: string) {
  return Type.String({ minLength: min, maxLength: max, pattern: storablePattern, description })
}

export const idField = boundedText(1, 200, 'Unique id')
const time = Type.String({
  maxLength: 64,
  description: 'ISO 8601 with any offset and up to microseconds',
})

/** @param lengths the most UTF-16 code units of each text */
function writable(
  list: ListDeclaration,
  noun: string,
  lengths: Readonly<Record<string, number>>,
): WritableList {
  const { [list.key]: _key, createdAt: _time, ...written } = list.fields
  const fields = Object.fromEntries(
    Object.entries(written).map(([name, { type, description }]) => [
      name,
      type === 'number' ? Type.Number({ description }) : boundedText(0, lengths[name]!, description),
    ]),
  )
  return {
    list,
    noun,
    New: closedObject({ [list.key]: Type.Optional(idField), ...fields, createdAt: Type.Optional(time) }),
    Change: Type.Partial(Type.Object({ ...fields, createdAt: time }), { additionalProperties: false }),
  }
}

export const writableProducts = writable(products, 'product', { category: 200, name: 300 })
export const writablePosts = writable(posts, 'post', { title: 500, body: 100_000 })

/** The columns of a body, with its time in canonical form. @throws InvalidTime */
export function columnsOf(list: ListDeclaration, body: ItemBody): Record<string, unknown> {
  const { createdAt, ...others } = body
  const values = { ...others, ...(createdAt !== undefined && { createdAt: canonicalTime(createdAt) }) }
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [fieldOf(list, name).column, value]),
  )
}
