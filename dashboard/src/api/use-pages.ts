import {
  hashKey,
  keepPreviousData,
  useMutation,
  useQuery,
  useQueryClient,
  type QueryClient,
} from '@tanstack/react-query'
import { refreshEvery } from './refresh.ts'

interface Page<Row> {
  data: Row[]
  pageInfo: { nextCursor: string | null }
}

/** The rows that were read, from the first to the last that the person asked for. */
export interface Rows<Row> {
  rows: Row[]
  next: string | null
  pages: number
}

type Read<Row> = (cursor: string | undefined) => Promise<Page<Row>>
type IdOf<Row> = (row: Row) => unknown

/**
 * Reads a list again. As a rule the first page is enough: it is put before the rows that were below it. If it shares no row with
 * them, or `whole` is set, as many pages are read as were shown.
 */
export async function readAgain<Row>(
  read: Read<Row>,
  idOf: IdOf<Row>,
  latest: () => Rows<Row> | undefined,
  whole: boolean,
): Promise<Rows<Row>> {
  const fresh: Row[] = []
  let cursor: string | undefined
  for (let pages = 1; ; pages += 1) {
    const page = await read(cursor)
    fresh.push(...page.data)
    const next = page.pageInfo.nextCursor
    // It may have grown during the read.
    const before = latest()
    const shown = before?.pages ?? 1
    if (next === null || pages >= shown) return { rows: fresh, next, pages }
    const rows = whole ? undefined : joined(fresh, before!.rows, idOf)
    // New rows come on top and none leaves at the bottom: at twice the size the list is cut to its pages.
    if (rows && rows.length * pages <= 2 * fresh.length * shown) return { ...before!, rows }
    cursor = next
  }
}

/** The fresh rows, and below them those of before that follow the last row which both have. Undefined if they share none. */
function joined<Row>(fresh: readonly Row[], before: readonly Row[], idOf: IdOf<Row>): Row[] | undefined {
  const places = new Map(before.map((row, place) => [idOf(row), place]))
  const last = fresh.findLast((row) => places.has(idOf(row)))
  if (last === undefined) return undefined
  const ids = new Set(fresh.map(idOf))
  return [...fresh, ...before.slice(places.get(idOf(last))! + 1).filter((row) => !ids.has(idOf(row)))]
}

/** Reads the next page. If the rows were refreshed meanwhile, it reads the page after their new last row. */
async function readMore<Row>(client: QueryClient, key: readonly unknown[], read: Read<Row>): Promise<void> {
  for (;;) {
    const next = client.getQueryData<Rows<Row>>(key)?.next
    if (next === null || next === undefined) return
    const page = await read(next)
    const before = client.getQueryData<Rows<Row>>(key)
    if (before?.next !== next) continue
    const rows = [...before.rows, ...page.data]
    client.setQueryData<Rows<Row>>(key, { rows, next: page.pageInfo.nextCursor, pages: before.pages + 1 })
    return
  }
}

interface Options<Row> {
  key: readonly unknown[]
  read: (cursor: string | undefined, signal: AbortSignal | undefined) => Promise<Page<Row>>
  idOf: IdOf<Row>
  /** Milliseconds until it is read again, if not after the time that holds for all. */
  refresh?: false | ((rows: readonly Row[]) => number | false)
  /** Rows change their places in this list, so that a refresh reads all pages that are shown. With several, it does not do so by itself. */
  moves?: boolean
}

/**
 * The rows of a list with cursors, page after page. While the filters change, the former rows stay. A refresh reads the first page;
 * what this page changes itself (`invalidateQueries`) reads all that is shown.
 */
export function usePages<Row>({ key, read, idOf, refresh, moves = false }: Options<Row>) {
  const client = useQueryClient()
  const query = useQuery({
    queryKey: key,
    queryFn: ({ signal }) =>
      readAgain(
        (cursor) => read(cursor, signal),
        idOf,
        () => client.getQueryData<Rows<Row>>(key),
        moves || client.getQueryState(key)?.isInvalidated === true,
      ),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) => {
      if (moves && (data?.pages ?? 1) > 1) return false
      return typeof refresh === 'function' ? refresh(data?.rows ?? []) : (refresh ?? refreshEvery)
    },
  })
  const list = hashKey(key)
  const more = useMutation({
    mutationFn: (_list: string) => readMore<Row>(client, key, (cursor) => read(cursor, undefined)),
  })
  const isOfList = more.variables === list
  const hasMore = (query.data?.next ?? null) !== null && !query.isPlaceholderData
  return {
    rows: query.data?.rows ?? [],
    data: query.data,
    error: query.error ?? (isOfList ? more.error : null),
    loading: query.isPending,
    retry: () => (isOfList && more.isError ? more.mutate(list) : void query.refetch()),
    onMore: hasMore ? () => more.mutate(list) : undefined,
    loadingMore: more.isPending && isOfList,
  }
}
