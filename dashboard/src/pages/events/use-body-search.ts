import { useEffect, useState } from 'react'
import { addressOf } from '../../api/client.ts'
import type { EventRow } from '../../api/answers.ts'
import { errorOfResponse, PosternError } from 'postern-client/api'

export type Found = EventRow & { excerpt: string }

type Line =
  | { type: 'match'; event: EventRow; excerpt: string }
  | { type: 'progress'; scanned: number; at: string | null }
  | { type: 'end'; reason: string; scanned: number; at: string | null; cursor: number | null }

export interface BodySearchState {
  found: readonly Found[]
  scanned: number
  /** The time of the oldest event that was read so far. */
  at: string | null
  state: 'running' | 'stopped' | 'complete' | 'limit' | 'unavailable' | 'failed'
  error?: unknown
  /** Where to continue when the limit was reached. */
  cursor: number | null
}

const begun: BodySearchState = { found: [], scanned: 0, at: null, state: 'running', cursor: null }

/** Searches bodies as a stream: matches appear as they are found. */
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
    const response = await fetch(addressOf(`/events/search?${new URLSearchParams(query).toString()}`), {
      signal,
    })
    if (!response.ok || !response.body) throw await errorOfResponse(response)
    for await (const lines of linesOf(response.body)) {
      if (signal.aborted) return
      change((before) => lines.reduce(withLine, before))
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

async function* linesOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Line[]> {
  let rest = ''
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + part.value).split('\n')
    rest = lines.pop()!
    if (lines.length > 0) yield lines.map((line) => JSON.parse(line) as Line)
  }
}

function withLine(before: BodySearchState, line: Line): BodySearchState {
  if (line.type === 'match')
    return { ...before, found: [...before.found, { ...line.event, excerpt: line.excerpt }] }
  if (line.type === 'progress') return { ...before, scanned: line.scanned, at: line.at }
  const { reason, scanned, at, cursor } = line
  return { ...before, scanned, at, cursor, state: reason as BodySearchState['state'] }
}
