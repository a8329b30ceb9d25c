import type { FastifyRequest } from 'fastify'
import type { AuditOrigin } from '../../accounts/audit/audit.ts'
import { SvixError } from './errors.ts'

/** A validated call of one operation. */
export interface SvixCall {
  /** The owner that `{app_id}` names; empty for operations without it, and where an unknown one is created. */
  owner: string
  /** The parameters of the path. */
  params: Readonly<Record<string, string>>
  /** Declared parameters only: numbers, booleans, arrays, and times in milliseconds since 1970. */
  // The document declares the types. TypeScript cannot read them from it.
  // oxlint-disable-next-line typescript/no-explicit-any
  query: Readonly<Record<string, any>>
  /** As the document declares it. Numbers that a double does not represent are raw JSON; an absent body is an empty object. */
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any
  request: FastifyRequest
  origin: AuditOrigin
  /** Whether the caller is the owner, with a token of app-portal-access. */
  isPortal: boolean
}

/** Returns the body of the answer, whose status is the one that the document declares, or an `SvixAnswer`; `undefined`: 204. */
export type SvixHandler = (call: SvixCall) => Promise<unknown>

/** Handlers by the operation's id in the document. */
export type SvixOperations = Readonly<Record<string, SvixHandler>>

/** An answer with another status than the first that the document declares. */
export class SvixAnswer {
  readonly status: number
  readonly body: unknown

  constructor(status: number, body: unknown) {
    this.status = status
    this.body = body
  }
}

/** The answer to a call that created something, where another call of the operation finds it. */
export const created = (body: unknown): SvixAnswer => new SvixAnswer(201, body)

/** How the rows of a page are read. */
export interface SvixPage {
  /** Read one row more, so that the answer can say whether it is the last page. */
  limit: number
  /** Rows behind this one in the order of the statement; not included. */
  behind: string | undefined
  /** The order of the statement. */
  order: 'ascending' | 'descending'
  /** Whether the statement reads against the order of the list. */
  isBackward: boolean
}

/** @param standard the order of the list, if the call names none */
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
 * The answer with a page.
 * @param rows in the order of the statement, with one more than the limit if there are more
 * @param iteratorOf what `behind` of a later page gets for a row
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

/** For calls without a counterpart. Not 501, because the libraries repeat a call that fails with 5xx. */
export const notImplemented = (detail: string): SvixError => new SvixError(404, 'not_implemented', detail)
