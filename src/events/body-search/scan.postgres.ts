import type { PostgresDatabase } from '../../storage/database.ts'
import { poolRows } from '../../storage/postgres/pool/pool-rows.ts'
import { columns, type EventRow } from '../store.ts'
import { needlesOf } from './body-query.ts'
import { matchBody, type StoredBody } from './match-body.ts'
import type { BodyScanner, Match, Scanned, Step } from './scan.ts'

/** Bytes of bodies that are fetched at once, unless one body is larger. */
const perFetch = 2_000_000

const boundary = 'select id from events where id < $1 order by id desc limit 1 offset $2'
const extent =
  'select count(*) as scanned, max(created_at) as newest, min(created_at) as oldest from events where id < $1 and id >= $2'
const bodies = `select ${columns}, e.content_type as "contentType", e.headers, e.payload from events e
  where e.id = any($1::bigint[]) order by e.id desc`

interface Candidate {
  id: number
  bytes: number
}

/** The numbers of the candidates, in groups whose bodies are not too large together. */
function fetchesOf(candidates: readonly Candidate[]): number[][] {
  const fetches: number[][] = []
  let room = 0
  for (const { id, bytes } of candidates) {
    if (bytes > room || fetches.length === 0) {
      fetches.push([])
      room = perFetch
    }
    fetches.at(-1)!.push(id)
    room -= bytes
  }
  return fetches
}

/** Searches in short statements, on the connections for slow reads. */
export function postgresBodies({ pool, lists }: PostgresDatabase): BodyScanner {
  const run = <Row>(text: string, values: unknown[]): Promise<Row[]> =>
    lists(() => poolRows<Row>(pool, { text, values }))

  async function matchesOf(step: Step, candidates: readonly Candidate[]): Promise<Match[]> {
    const matches: Match[] = []
    for (const ids of fetchesOf(candidates)) {
      const found = await run<EventRow & StoredBody>(bodies, [ids])
      for (const { contentType, headers, payload, ...row } of found) {
        const excerpt = matchBody(step.query, { contentType, headers, payload })
        if (excerpt !== undefined) matches.push({ ...row, excerpt })
      }
    }
    return matches
  }

  return {
    async scan(step) {
      const { query, conditions, before, rows } = step
      const [last] = await run<{ id: number }>(boundary, [before, rows - 1])
      const through = last?.id
      const parameters: unknown[] = [...conditions.parameters, before, through ?? 0]
      const count = parameters.length
      const needles = needlesOf(query)
      const contains = needles.map(
        (_, index) => ` and position($${count + 1 + index}::bytea in e.payload) > 0`,
      )
      parameters.push(...needles)
      const found = await run<Candidate>(
        `select e.id, octet_length(e.payload) as bytes from events e where ${conditions.text} and e.id < $${count - 1} and e.id >= $${count}${contains.join('')} order by e.id desc`,
        parameters,
      )
      const matches = await matchesOf(step, found)
      const [read] = await run<Omit<Scanned, 'matches' | 'through'>>(extent, [before, through ?? 0])
      return { ...read!, matches, through }
    },
    close: () => Promise.resolve(),
  }
}
