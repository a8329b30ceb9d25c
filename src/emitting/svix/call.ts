import type { FastifyRequest } from 'fastify'
import type { AuditOrigin } from '../../accounts/audit/audit.ts'
import { SvixError } from './errors.ts'

/** A validated call of one operation. */
export interface SvixCall {
  /** The owner of `{app_id}`. Empty for operations without it, and if the operation creates the application. */
  owner: string
  /** The parameters of the path. */
  params: Readonly<Record<string, string>>
  /** Declared parameters only: numbers, booleans, arrays, and times in milliseconds since 1970. */
  // The document declares the types. TypeScript cannot read them from it.
  // oxlint-disable-next-line typescript/no-explicit-any
  query: Readonly<Record<string, any>>
  /** As the document declares it. Numbers that a double cannot represent are raw JSON. An absent body is an empty object. */
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any
  request: FastifyRequest
  origin: AuditOrigin
  /** Whether the caller is the owner, with a token of app-portal-access. */
  isPortal: boolean
}

/** Returns the response's body, an `SvixAnswer`, or `undefined` for 204. The status of a body is the first that the document declares. */
export type SvixHandler = (call: SvixCall) => Promise<unknown>

/** Handlers by operation id. */
export type SvixOperations = Readonly<Record<string, SvixHandler>>

/** A response with a status other than the first that the document declares. */
export class SvixAnswer {
  readonly status: number
  readonly body: unknown

  constructor(status: number, body: unknown) {
    this.status = status
    this.body = body
  }
}

/** The response of an operation that creates something, and returns 200 if it existed already. */
export const created = (body: unknown): SvixAnswer => new SvixAnswer(201, body)

/** How the rows of a page are read. */
export interface SvixPage {
  /** Read one more row, which shows whether this is the last page. */
  limit: number
  /** The page begins after this row, in the statement's order. */
  behind: string | undefined
  /** The statement's order. */
  order: 'ascending' | 'descending'
  /** Whether the statement reads against the order of the list. */
  isBackward: boolean
}

/** @param standard the default order of the list */
export function readPage({ query }: Pick<SvixCall, 'query'>, standard: SvixPage['order']): SvixPage {
  const {
    iterator,
    limit = 50,
    order = standard,
  } = query as {
    iterator?: string
    limit?: number
    order?: SvixPage['order']
  }
  const isBackward = iterator?.startsWith('-') ?? false
  const other = order === 'ascending' ? 'descending' : 'ascending'
  const behind = isBackward ? iterator!.slice(1) : iterator
  return { limit, behind, isBackward, order: isBackward ? other : order }
}

/**
 * A page as a response.
 * @param rows in the statement's order; one more than the limit if there are more
 * @param iteratorOf returns the `behind` of the page that begins after a row
 */
export async function listOf<Row>(
  rows: readonly Row[],
  { limit, isBackward }: Pick<SvixPage, 'limit' | 'isBackward'>,
  iteratorOf: (row: Row) => string,
  view: (row: Row) => unknown,
): Promise<object> {
  const shown = rows.slice(0, limit)
  if (isBackward) shown.reverse()
  const [first, last] = [shown[0], shown.at(-1)]
  return {
    data: await Promise.all(shown.map(view)),
    iterator: last === undefined ? null : iteratorOf(last),
    ...(first !== undefined && { prevIterator: `-${iteratorOf(first)}` }),
    done: rows.length <= limit,
  }
}

export const notFound = (): SvixError => new SvixError(404, 'not_found', 'Entity not found')

/** For requests without a counterpart. Not 501, because the libraries retry requests that fail with 5xx. */
export const notImplemented = (detail: string): SvixError => new SvixError(404, 'not_implemented', detail)
