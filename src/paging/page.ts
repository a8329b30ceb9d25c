import { Type, type TSchema } from 'typebox'
import { closedObject, NullableText } from '../http/schemas/schemas.ts'

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
