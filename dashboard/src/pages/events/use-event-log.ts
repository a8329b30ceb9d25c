import { useLayoutEffect, useRef, useState } from 'react'
import { api } from '../../api/client.ts'
import { refreshEvery } from '../../api/refresh.ts'
import { usePages } from '../../api/use-pages.ts'
import { notAbove } from './filter.ts'

/** Pages that are read one after the other while they have no rows: each looks through a part of the log. */
const mostEmptyPages = 40

/**
 * The log, newest first, page by page. Changes of its rows appear in place. New events appear at the top while `mayMove`, and wait
 * otherwise. Its state belongs to one filter, so the component is rendered with the filter as its key.
 */
export function useEventLog(
  { query, key }: { query: Record<string, string>; key: string },
  mayMove: () => boolean,
) {
  /** A filter that matches few events: reading it again by itself would look through the log each time. */
  const isRare = useRef(false)
  const [top, setTop] = useState<number>()
  const log = usePages({
    key: ['events', 'list', key],
    read: async (cursor, signal) => {
      for (let page = 1, from = cursor; ; page += 1) {
        const { data, nextCursor } = await api.get('/events', {
          query: { ...query, order: 'desc', limit: '100', ...(from !== undefined && { cursor: from }) },
          ...(signal && { signal }),
        })
        if (cursor === undefined) isRare.current = page > 1
        const next = nextCursor === null ? null : String(nextCursor)
        if (data.length > 0 || next === null || page === mostEmptyPages)
          return { data, pageInfo: { nextCursor: next } }
        from = next
      }
    },
    idOf: ({ id }) => id,
    refresh: () => (isRare.current ? false : refreshEvery),
  })
  const newest = log.rows[0]?.id
  useLayoutEffect(() => {
    if (mayMove()) setTop(newest)
    // It matters when there are newer events, and not when they might move.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [newest])
  const rows = notAbove(log.rows, top)
  return { ...log, rows, waiting: log.rows.length - rows.length, showWaiting: () => setTop(newest) }
}
