import { useInfiniteQuery, useQueryClient, type InfiniteData } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { AnswerOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { useLiveEvents, type LiveEvent } from '../../api/live.ts'
import { matchesFilter, type Chosen } from './filter.ts'

type LogPage = AnswerOf<'GET /events'>
type Pages = InfiniteData<LogPage>

/** Pages that are read one after the other while they have no rows: each looks through a part of the log. */
const mostEmptyPages = 40
/** New events that wait for the person to ask for them. Of more, the list is read again. */
const mostWaiting = 500

/**
 * The log, newest first, page by page. Changes of its rows appear in place. New events are added at the top while `mayMove`, and wait
 * otherwise. Its state belongs to one filter, so the component is rendered with the filter as its key.
 */
export function useEventLog(
  { query, key }: { query: Record<string, string>; key: string },
  chosen: Chosen,
  mayMove: () => boolean,
) {
  const client = useQueryClient()
  const queryKey = useMemo(() => ['events', 'list', key], [key])
  const [waiting, setWaiting] = useState<readonly LiveEvent[]>([])
  const [missed, setMissed] = useState(false)
  const log = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) =>
      api.get('/events', {
        query: { ...query, order: 'desc', limit: '100', ...(pageParam && { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => (nextCursor === null ? undefined : String(nextCursor)),
    staleTime: Infinity,
    // Comparing all rows with those before costs more than showing them.
    structuralSharing: false,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
  const { data, hasNextPage, isFetching, fetchNextPage } = log
  const rows = useMemo(() => uniqueRows(data), [data])
  const known = useRef(new Set<number>())
  const latest = useRef({ chosen, mayMove })
  useEffect(() => {
    known.current = new Set(rows.map(({ id }) => id))
    latest.current = { chosen, mayMove }
  }, [rows, chosen, mayMove])

  // A rare filter: goes on through the log until there is something to show.
  const emptyPages = data?.pages.findLastIndex((page) => page.data.length > 0) ?? -1
  const looked = data ? data.pages.length - 1 - emptyPages : 0
  const isLooking = looked > 0 && looked < mostEmptyPages && hasNextPage
  useEffect(() => {
    if (isLooking && !isFetching) void fetchNextPage()
  }, [isLooking, isFetching, fetchNextPage])

  const add = useCallback(
    (events: readonly LiveEvent[]) => {
      client.setQueryData<Pages>(queryKey, (before) => before && withEvents(before, events))
    },
    [client, queryKey],
  )
  const onEvent = useCallback(
    (event: LiveEvent) => {
      const { chosen, mayMove } = latest.current
      if (known.current.has(event.id)) return add([event])
      if (!matchesFilter(event, chosen)) return
      if (mayMove()) return add([event])
      setWaiting((before) => [event, ...before.filter(({ id }) => id !== event.id)].slice(0, mostWaiting))
    },
    [add],
  )
  const onGap = useCallback(() => setMissed(true), [])
  useLiveEvents(onEvent, onGap)

  const showWaiting = (): void => {
    if (missed || waiting.length >= mostWaiting) void client.resetQueries({ queryKey })
    else add(waiting.toReversed())
    setWaiting([])
    setMissed(false)
  }
  return { ...log, rows, isLooking, waiting: waiting.length, missed, showWaiting }
}

function uniqueRows(data: Pages | undefined): LiveEvent[] {
  return [...new Map(data?.pages.flatMap((page) => page.data).map((row) => [row.id, row])).values()]
}

/** Rows that are there already change in place; others come to the top, the newest first. */
function withEvents(before: Pages, events: readonly LiveEvent[]): Pages {
  const byId = new Map(events.map((event) => [event.id, event]))
  const pages = before.pages.map((page) =>
    page.data.some(({ id }) => byId.has(id))
      ? {
          ...page,
          data: page.data.map((row) => {
            const changed = byId.get(row.id)
            if (changed) byId.delete(row.id)
            return changed ?? row
          }),
        }
      : page,
  )
  const added = [...byId.values()].toSorted((a, b) => b.id - a.id)
  const [first, ...others] = pages
  if (!first || added.length === 0) return { ...before, pages }
  return { ...before, pages: [{ ...first, data: [...added, ...first.data] }, ...others] }
}
