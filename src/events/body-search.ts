import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../storage/database.ts'
import { conditionsOf, type EventFilter, filterSchema, readEventFilter } from './filter.ts'
import { boundsOf, run } from './search.ts'
import { columns, type EventRow, readStoredHeaders } from './store.ts'
import { Type } from 'typebox'
import { Problem } from '../errors.ts'
import { type App, route } from '../http/app.ts'
import { invalidParameter, readLimit, limitParameter, readText } from '../paging/parameters.ts'
import { isoTimeOrNull } from '../runtime/iso-time.ts'
import { presentEvent, readEventCursor } from './present.ts'
import type { EventLog } from './log.ts'
import { isForm, readFormBody } from '../http/requests/parameters.ts'
import { redactPayload } from './redact-payload.ts'
import { optionalText } from '../http/schemas/schemas.ts'

/** Events that one search examines. */
const mostExamined = 10_000
/** Bytes of bodies that one search examines, unless the first one is larger: 10,000 of the largest would take minutes. */
const mostRead = 64_000_000
/** Bytes of bodies that one search parses, unless the first one is larger. */
const mostParsed = 2_000_000

interface BodySearch {
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

interface FoundBodies {
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
async function searchBodies(database: Database, search: BodySearch): Promise<FoundBodies> {
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

const mediaType = 'application/x-ndjson'
const limits = { default: 100, max: 1_000 }
/** Searches that one address may begin in a minute. */
const searchesPerMinute = 120

const description = `Reads the bodies of the newest 10,000 events, 64 MB at most, and parses at most 2 MB of those that may match. Each line is an object: \`{"type":"match","event":…,"excerpt":…}\`, the newest first, and at the end \`{"type":"end","reason":…,"scanned":…,"matches":…,"at":…,"cursor":…}\` with the number of events read, the time of the oldest one, and the reason \`complete\`, or \`limit\`: repeat the request with \`cursor\` for older events. Credentials in bodies are redacted and not found. Without \`path\` and \`text\` it is rejected.`

/** GET /events/search: finds events by what their bodies contain. */
export function bodySearchRoute(app: App, database: Database, log: EventLog): void {
  app.get(
    '/events/search',
    route(
      { scope: 'events:read' },
      ['events'],
      'Search the bodies of events, newest first',
      {
        description,
        querystring: Type.Object({
          ...bodyQuerySchema,
          ...filterSchema,
          limit: limitParameter(limits),
          cursor: Type.Optional(Type.String({ pattern: '^\\d+$', description: 'Only events below this id' })),
        }),
        response: {
          200: { description: 'Lines of JSON', content: { [mediaType]: { schema: Type.String() } } },
        },
      },
      { openInDemo: true, quiet: true, rateLimit: { max: searchesPerMinute } },
    ),
    async (request, reply) => {
      const query = readBodyQuery(request.query)
      if (query.path === undefined && query.text === undefined)
        throw new Problem('invalid-parameter', {
          parameter: 'text',
          detail: 'Name what to search for: `text`, or `path` with `value`.',
        })
      const { cursor } = request.query
      const found = await searchBodies(database, {
        query,
        filter: readEventFilter(request.query) ?? {},
        before: cursor === undefined ? Number.MAX_SAFE_INTEGER : readEventCursor(cursor),
        limit: readLimit(request.query.limit, limits),
        horizon: await log.horizon(),
      })
      return reply.header('content-type', `${mediaType}; charset=utf-8`).send(linesOf(found))
    },
  )
}

function linesOf({ matches, scanned, oldest, cursor }: FoundBodies): string {
  const reason = cursor === null ? 'complete' : 'limit'
  const lines: object[] = matches.map(({ excerpt, ...row }) => ({
    type: 'match',
    event: presentEvent(row),
    excerpt,
  }))
  lines.push({ type: 'end', reason, scanned, matches: matches.length, at: isoTimeOrNull(oldest), cursor })
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** What a body must contain. Both conditions must hold. */
interface BodyQuery {
  /** The names of a field and of those that it is in; undefined for no condition. */
  path?: readonly string[]
  /** The field's value; without it, the field must exist. */
  value?: string
  /** A text anywhere in the body. */
  text?: string
}

const bodyQuerySchema = {
  path: optionalText(
    'A field of the body, such as `data.customer`; an element of an array by its number, or all of them without one',
  ),
  value: optionalText('The value of that field; without it, the field must exist'),
  text: optionalText('A text in the body, case-sensitive'),
}

const mostNames = 20

/** @throws Problem `invalid-parameter` */
function readBodyQuery({ path, value, text }: Record<string, string | undefined>): BodyQuery {
  const query: BodyQuery = {}
  if (path) {
    const names = readText(path, 'path').split('.')
    if (names.length > mostNames || names.includes(''))
      throw invalidParameter('path', `has up to ${mostNames} names with dots between them`)
    query.path = names
    if (value !== undefined) query.value = readText(value, 'value')
  } else if (value) throw invalidParameter('value', 'needs `path`')
  if (text) query.text = readText(text, 'text')
  return query
}

/** Texts that JSON and forms spell in one way only: letters, digits and a few others. Forms write a space as `+` or `%20`. */
const plain = /[A-Za-z0-9_-]+/g
const plainText = /^[A-Za-z0-9_-]*$/
/** The longest are taken. */
const mostNeedles = 8

/**
 * Bytes that each matching body contains, whatever the spelling of its strings: of all parts of the query, because a name that is
 * asked for is often in every body. Empty if the query has no such characters; each body is then parsed.
 */
export function needlesOf({ path = [], value, text }: BodyQuery): Buffer[] {
  const runsOf = (part = ''): readonly string[] => part.match(plain) ?? []
  const runs = [
    ...runsOf(text),
    ...(value !== undefined && isSpelledOtherwise(value) ? [] : runsOf(value)),
    ...runsOf(path.findLast((name) => !/^\d+$/.test(name))),
  ]
  return [...new Set(runs)]
    .toSorted((a, b) => b.length - a.length)
    .slice(0, mostNeedles)
    .map((run) => Buffer.from(run))
}

/** Whether it is a number that bodies contain in another form: `1.0` and `1e0` are 1. */
function isSpelledOtherwise(value: string): boolean {
  return value.trim() !== '' && !Number.isNaN(Number(value)) && String(Number(value)) !== value
}

interface StoredBody {
  contentType: string
  /** The stored headers, as JSON. */
  headers: string | null
  payload: Uint8Array
}

/** Characters around a text, and of a value, that a match shows. */
const around = 60
const longestValue = 200

/**
 * Whether a body is what the query asks for. It sees the body as readers see it: credentials are redacted and do not match.
 * Returns an excerpt that shows why it matches; undefined if it does not.
 */
function matchBody(query: BodyQuery, { contentType, headers, payload }: StoredBody): string | undefined {
  const { verification } = readStoredHeaders(headers)
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)
  const shown = redactPayload(bytes, verification?.scheme)
    .toString('utf8')
    .replace(/^\ufeff/, '')
  let parsed: unknown
  const parse = (): unknown => (parsed ??= parseBody(shown, contentType))
  let excerpt = ''
  if (query.text !== undefined) {
    const found = findText(query.text, shown, parse)
    if (found === undefined) return undefined
    excerpt = found
  }
  if (query.path !== undefined) {
    const found = findField(parse(), query.path, query.value)
    if (found === undefined) return undefined
    excerpt = `${query.path.join('.')}: ${found.slice(0, longestValue)}`
  }
  return excerpt.toWellFormed()
}

function parseBody(text: string, contentType: string): unknown {
  return isForm(contentType) ? readFormBody(text) : parseJson(text)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function findText(text: string, shown: string, parse: () => unknown): string | undefined {
  const at = shown.indexOf(text)
  if (at !== -1) return cut(shown, at, text.length)
  // The body may spell other characters with escapes.
  return plainText.test(text) ? undefined : findInStrings(parse(), text)
}

function cut(text: string, at: number, length: number): string {
  const from = Math.max(0, at - around)
  const to = at + length + around
  return `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`
}

/** The first string or name of a value that contains the text. Uses no recursion, because the sender chooses the depth. */
function findInStrings(root: unknown, text: string): string | undefined {
  const open: unknown[] = [root]
  for (let value = open.pop(); value !== undefined || open.length > 0; value = open.pop()) {
    if (typeof value === 'string' && value.includes(text)) return cut(value, value.indexOf(text), text.length)
    if (typeof value !== 'object' || value === null) continue
    for (const [name, inner] of Object.entries(value)) open.push(inner, name)
  }
  return undefined
}

/** The text of a field's value, if one matches. Arrays without a number in the path match by any of their elements. */
function findField(root: unknown, path: readonly string[], value: string | undefined): string | undefined {
  let here: unknown[] = [root]
  for (const name of path) here = here.flatMap((one) => fieldsOf(one, name))
  const found = here.find((one) => value === undefined || isValue(one, value))
  if (found === undefined) return undefined
  return typeof found === 'string' ? found : JSON.stringify(found)
}

function fieldsOf(value: unknown, name: string): unknown[] {
  // A form may have a field that contains JSON.
  const outer = typeof value === 'string' && /^\s*[[{]/.test(value) ? parseJson(value) : value
  const own = ownField(outer, name)
  if (own.length > 0 || !Array.isArray(outer)) return own
  return outer.flatMap((element) => ownField(element, name))
}

function ownField(value: unknown, name: string): unknown[] {
  const has = typeof value === 'object' && value !== null && Object.hasOwn(value, name)
  return has ? [(value as Record<string, unknown>)[name]] : []
}

function isValue(found: unknown, value: string): boolean {
  if (typeof found === 'string') return found === value
  if (typeof found === 'number') return value.trim() !== '' && Number(value) === found
  if (found === null) return value === 'null'
  return typeof found === 'boolean' && String(found) === value
}
