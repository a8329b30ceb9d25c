import { createClient, type ClientOptions } from './client.ts'

/** The types of one declared list, as `postern types` writes them. */
export interface ListType {
  row: object
  expansions: object
  filters: object
  sorts: string
  pages: 'cursor' | 'offset' | 'keyset'
  /** A row's key; for a key of several fields, their values in order. */
  key: KeyPart | readonly KeyPart[]
  one: boolean
}

type KeyPart = string | number | bigint | boolean | Date

/** The types of lists by path. */
export type ListTypes<L> = { [Path in keyof L]: ListType }

export type PathIn<L> = keyof L & string
export type FieldIn<L extends ListType> = keyof L['row'] & string
export type ExpansionIn<L extends ListType> = keyof L['expansions'] & string
type OnePathIn<L extends ListTypes<L>> = {
  [Path in PathIn<L>]: L[Path]['one'] extends true ? Path : never
}[PathIn<L>]

/** What a row contains: `fields` (default: all), and the expansions in `expand`. */
interface Shown<F, E> {
  fields?: readonly F[] | undefined
  expand?: readonly E[] | undefined
}

type Sort<S extends string> = S | `-${S}`

/** Filters, order and fields. A filter with an array keeps rows with one of the values; an empty array is an error. */
export type ListParameters<L extends ListType, F = FieldIn<L>, E = ExpansionIn<L>> = L['filters'] &
  Shown<F, E> & {
    /** Descending with a leading `-`. */
    sort?: Sort<L['sorts']> | readonly Sort<L['sorts']>[] | undefined
    /** Rows of a page. */
    limit?: number | undefined
  }

type PageParameters<L extends ListType> = ('offset' extends L['pages']
  ? { page?: number | undefined; count?: 'exact' | 'estimate' | 'none' | undefined }
  : unknown) &
  ('cursor' extends L['pages'] ? { cursor?: string | undefined } : unknown) &
  ('keyset' extends L['pages'] ? { cursor?: string | number | undefined } : unknown)

/** A row with the fields `F` and the expansions `E`. */
export type ListRow<L extends ListType, F = FieldIn<L>, E = never> = Pick<L['row'], F & keyof L['row']> &
  Pick<L['expansions'], E & keyof L['expansions']>

interface Pages {
  cursor: {
    pageInfo: {
      hasNextPage: boolean
      nextCursor: string | null
      hasPreviousPage: boolean
      previousCursor: string | null
    }
  }
  offset: {
    pagination: {
      page: number
      limit: number
      total?: number
      totalPages?: number
      hasNext: boolean
      estimated?: boolean
    }
  }
  keyset: { nextCursor: string | number | null }
}

/** A page. Of a list with several kinds of pages, it is any of them. */
export type ListPage<L extends ListType, Row> = { data: Row[] } & Pages[L['pages']]

interface Options {
  signal?: AbortSignal | undefined
}

/** Reads declared lists, typed by the interface that `postern types` writes. */
export interface ListClient<L extends ListTypes<L>> {
  /** All rows. Pages are fetched as you read. */
  list: <P extends PathIn<L>, F extends FieldIn<L[P]> = FieldIn<L[P]>, E extends ExpansionIn<L[P]> = never>(
    path: P,
    parameters?: ListParameters<L[P], F, E>,
    options?: Options,
  ) => AsyncGenerator<ListRow<L[P], F, E>, void>
  /** One page. */
  page: <P extends PathIn<L>, F extends FieldIn<L[P]> = FieldIn<L[P]>, E extends ExpansionIn<L[P]> = never>(
    path: P,
    parameters?: ListParameters<L[P], F, E> & PageParameters<L[P]>,
    options?: Options,
  ) => Promise<ListPage<L[P], ListRow<L[P], F, E>>>
  /** One row by its key, of a list with `one: true`. @throws NotFoundError */
  one: <P extends OnePathIn<L>, F extends FieldIn<L[P]> = FieldIn<L[P]>, E extends ExpansionIn<L[P]> = never>(
    path: P,
    key: L[P]['key'],
    parameters?: Shown<F, E>,
    options?: Options,
  ) => Promise<ListRow<L[P], F, E>>
}

/** Reads declared lists. Errors are those of `createClient`. `L` is the interface `Lists` that `postern types` writes. */
export function createListClient<L extends ListTypes<L>>(options: ClientOptions): ListClient<L> {
  const { list, request } = createClient<{
    [path: `GET ${string}`]: { query?: object; answer: { data: object[] } }
  }>(options)
  const call = (parameters: object | undefined, { signal }: Options = {}) => ({
    query: queryOf(parameters),
    ...(signal && { signal }),
  })
  const client = {
    list: (path: string, parameters?: object, more?: Options) => list(path, call(parameters, more)),
    page: (path: string, parameters?: object, more?: Options) => request('GET', path, call(parameters, more)),
    one: (path: string, key: ListType['key'], parameters?: object, more?: Options) =>
      request('GET', `${path}/{key}`, { params: { key: keyText(key) }, ...call(parameters, more) }),
  }
  return client as unknown as ListClient<L>
}

/** A row's key as one text, as in its path. */
export function keyText(key: unknown): string {
  if (!Array.isArray(key)) return String(textOf(key))
  return key.map((part) => String(textOf(part)).replaceAll(/[\\,]/g, String.raw`\$&`)).join(',')
}

const names = new Set(['sort', 'fields', 'expand'])

/** The query of the parameters, as texts. @throws TypeError for an empty array: without the filter, the request would return all rows. */
export function queryOf(parameters: object = {}): Record<string, unknown> {
  const entries = Object.entries(parameters).flatMap(([name, value]: [string, unknown]) => {
    if (!Array.isArray(value)) return [[name, textOf(value)]]
    if (names.has(name)) return value.length === 0 ? [] : [[name, value.join(',')]]
    if (value.length === 0) throw new TypeError(`the filter ${name} has no values`)
    // With brackets, a comma is a part of the value.
    return [[`${name}[]`, value.map(textOf)]]
  })
  return Object.fromEntries(entries)
}

const textOf = (value: unknown): unknown => {
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'bigint' ? String(value) : value
}
