import { useEffect, useState } from 'react'
import { addressOf } from '../../api/client.ts'
import type { EventRow } from '../../api/answers.ts'
import { errorOfResponse, PosternError } from 'postern-client/api'

export type Found = EventRow & { excerpt: string }

type Line =
  | { type: 'match'; event: EventRow; excerpt: string }
  | { type: 'end'; scanned: number; at: string | null; cursor: number | null }

/** Matches of one search; then the person continues it. */
const most = 100

export interface BodySearchState {
  found: readonly Found[]
  scanned: number
  /** The time of the oldest event that was read so far. */
  at: string | null
  state: 'running' | 'stopped' | 'complete' | 'limit' | 'failed'
  error?: unknown
  /** Where to continue when the limit was reached. */
  cursor: number | null
}

const begun: BodySearchState = { found: [], scanned: 0, at: null, state: 'running', cursor: null }

/** Searches bodies, thousands of events in each request: matches appear as they are found. */
export function useBodySearch({ query, key }: { query: Record<string, string>; key: string }) {
  const [search, setSearch] = useState(begun)
  const [from, setFrom] = useState<{ key: string; cursor: number | null }>({ key, cursor: null })
  const [abort, setAbort] = useState<AbortController>()
  const cursor = from.key === key ? from.cursor : null
  useEffect(() => {
    const controller = new AbortController()
    setAbort(controller)
    setSearch((before) => (cursor === null ? begun : { ...before, state: 'running' }))
    void run({ ...query, ...(cursor !== null && { cursor: String(cursor) }) }, controller.signal, setSearch)
    return () => controller.abort()
    // `key` stands for `query`, whose times change with the clock.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [key, cursor])
  return {
    ...search,
    stop: () => {
      abort?.abort()
      setSearch((before) => (before.state === 'running' ? { ...before, state: 'stopped' } : before))
    },
    goOn: () => setFrom({ key, cursor: search.cursor }),
  }
}

type Change = (change: (before: BodySearchState) => BodySearchState) => void

async function run(query: Record<string, string>, signal: AbortSignal, change: Change): Promise<void> {
  try {
    let state: BodySearchState['state'] = 'running'
    for (let next = query, found = 0; state === 'running';) {
      const response = await fetch(addressOf(`/events/search?${new URLSearchParams(next).toString()}`), {
        signal,
      })
      if (!response.ok) throw await errorOfResponse(response)
      const lines = (await response.text())
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Line)
      const matches = lines.flatMap((line) =>
        line.type === 'match' ? [{ ...line.event, excerpt: line.excerpt }] : [],
      )
      const end = lines.find((line) => line.type === 'end')!
      found += matches.length
      if (end.cursor === null) state = 'complete'
      else if (found >= most) state = 'limit'
      next = { ...query, cursor: String(end.cursor) }
      if (signal.aborted) return
      const now = state
      change(({ found: before, scanned }) => ({
        found: [...before, ...matches],
        scanned: scanned + end.scanned,
        at: end.at,
        cursor: end.cursor,
        state: now,
      }))
    }
  } catch (error) {
    // Another search may have taken its place, whose state this one must not change.
    if (signal.aborted) return
    change((before) => ({
      ...before,
      state: 'failed',
      error: error instanceof PosternError ? error : undefined,
    }))
  }
}
