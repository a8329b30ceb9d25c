import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../../storage/database.ts'
import { conditionsOf } from '../conditions.ts'
import type { EventFilter } from '../filter.ts'
import { boundsOf, run } from '../search.ts'
import { columns, type EventRow } from '../store.ts'
import { type BodyQuery, needlesOf } from './body-query.ts'
import { matchBody, type StoredBody } from './match-body.ts'

/** Events that one search examines. */
const mostExamined = 10_000
/** Bytes of bodies that one search examines, unless the first one is larger: 10,000 of the largest would take minutes. */
const mostRead = 64_000_000
/** Bytes of bodies that one search parses, unless the first one is larger. */
const mostParsed = 2_000_000

export interface BodySearch {
  query: BodyQuery
  filter: EventFilter
  /** Only events below this number. */
  before: number
  /** Matches at most. */
  limit: number
  /** See Search. */
  horizon: number
}

interface Examined {
  scanned: number
  /** Events that would have been examined if their bodies were small. */
  newest: number
  lowest: number | null
  /** The time of the oldest event. */
  oldest: number | null
  candidates: number
}

export interface FoundBodies {
  matches: (EventRow & { excerpt: string })[]
  scanned: number
  oldest: number | null
  /** Where to continue; null at the end of the log. */
  cursor: number | null
}

/**
 * Searches the bodies of the newest events below a number. The database finds those with the bytes that every match contains; they
 * are then compared as readers see them.
 */
export async function searchBodies(database: Database, search: BodySearch): Promise<FoundBodies> {
  const { query, filter, limit, horizon } = search
  const { lowest, highest } = await boundsOf(database, { filter, horizon })
  const before = Math.min(search.before, highest + 1)
  const contains = needlesOf(query).map((needle): RawBuilder<boolean> =>
    database.engine === 'sqlite'
      ? sql`instr(e.payload, ${needle}) > 0`
      : sql`position(${needle}::bytea in e.payload) > 0`,
  )
  const conditions = sql.join([...conditionsOf(filter), sql`1 = 1`, ...contains], sql` and `)
  const rows = await run<Examined & EventRow & StoredBody>(
    database,
    sql`
      with newest as (
        select id, created_at, length(payload) as size from events
        where id < ${before} and id >= ${lowest} order by id desc limit ${sql.lit(mostExamined)}
      ), sized as (select id, created_at, sum(size) over (order by id desc) - size as bytes from newest),
      examined as (select id, created_at from sized where bytes <= ${sql.lit(mostRead)}),
      extent as (select count(*) as scanned, (select count(*) from newest) as newest, min(id) as lowest, min(created_at) as oldest from examined),
      candidates as (
        select e.id, count(*) over () as candidates, sum(length(e.payload)) over (order by e.id desc) - length(e.payload) as bytes
        from events e where e.id < ${before} and e.id >= (select lowest from extent) and ${conditions}
      )
      select extent.*, e.* from extent left join (
        select ${sql.raw(columns)}, candidates, e.content_type as "contentType", e.headers, e.payload
        from candidates join events e on e.id = candidates.id where candidates.bytes <= ${sql.lit(mostParsed)}
      ) e on true order by e.id desc`,
  )
  const { scanned, newest, oldest, lowest: reached, candidates } = rows[0]!
  const matches: FoundBodies['matches'] = []
  let read = 0
  for (const { contentType, headers, payload, ...row } of rows) {
    if (candidates === null || matches.length === limit) break
    read += 1
    const excerpt = matchBody(query, { contentType, headers, payload })
    if (excerpt !== undefined) matches.push({ ...row, excerpt })
  }
  const more = read < (candidates ?? 0)
  const atEnd = scanned === newest && newest < mostExamined
  const cursor = more ? rows[read - 1]!.id : atEnd ? null : reached
  return { matches, scanned, oldest, cursor }
}
