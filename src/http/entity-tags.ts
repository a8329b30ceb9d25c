import { hash, randomUUID } from 'node:crypto'
import type { Database, PostgresDatabase, SqliteDatabase } from '../storage/database.ts'
import { translateError } from '../storage/unavailable.ts'

/**
 * Names what an answer shows, so that a client that has it already is told so (RFC 9110, section 8.8.3): by the state of the
 * database that it shows, which is known before anything is read, and by what it says. Weak: compressed and plain forms of an
 * answer share a name.
 */
export interface EntityTags {
  /** Asked before anything is read. */
  before(question: string, ifNoneMatch: string | undefined): Before | Promise<Before>
  of(before: Before, body: string): string
}

interface Before {
  /** What the answer is known by that would be given now. */
  state?: string
  /** The tag of the client's, when it is of that answer. */
  known?: string | undefined
}

/** Characters of a hash: 120 bits. */
const length = 20
const short = (text: string): string => hash('sha256', text, 'base64url').slice(0, length)
const tag = (state: string, content: string): string => `W/"${state}.${content}"`

/**
 * @param besides SQL of a text that decides about answers on PostgreSQL beside what is visible, such as a lock that is held; read
 * after what is visible.
 */
export function entityTags(database: Database, besides?: string): EntityTags {
  return database.engine === 'sqlite' ? sqliteTags(database) : postgresTags(database, besides)
}

/**
 * SQLite counts the commits of other connections, and the connection that reads never writes: the same number means the same
 * data, whatever was asked.
 */
function sqliteTags(database: SqliteDatabase): EntityTags {
  // The count is of this connection's life.
  const life = randomUUID()
  return {
    before(question, ifNoneMatch) {
      const state = short(`${life} ${database.dataVersion()} ${question}`)
      return { state, known: ofState(state, ifNoneMatch) }
    },
    of: ({ state }, body) => (state === undefined ? tag('', short(body)) : tag(state, '')),
  }
}

/** Of an answer that is named by what it says alone: another one may be given without a write to the database. */
export const unasked: Before = {}

/**
 * What of PostgreSQL's transactions is visible: until another one ends, the same text means the same data, in whatever table.
 * The time of the server's start is there for a server that was taken back to an earlier moment.
 */
const stateSql = `pg_current_snapshot()::text || ' ' || pg_postmaster_start_time()`

/**
 * PostgreSQL is asked for its state by those who have an answer already: it costs less than a page, but those who have none
 * would pay for nothing. So a first answer is named by its content. The second time that content tells that it is known, and the
 * 304 names the state too (a client keeps the tag of a 304: RFC 9111, section 3.2); from the third time on the state does.
 */
function postgresTags({ pool }: PostgresDatabase, besides: string | undefined): EntityTags {
  const text = `select ${stateSql}${besides === undefined ? '' : ` || ' ' || ${besides}`} as state`
  const name = besides === undefined ? 'state' : `state_${short(besides)}`
  async function stateOf(): Promise<string> {
    try {
      return (await pool.query<{ state: string }>({ name, text })).rows[0]!.state
    } catch (error) {
      throw translateError(error)
    }
  }
  return {
    async before(question, ifNoneMatch) {
      if (ifNoneMatch === undefined) return unasked
      const state = short(`${await stateOf()} ${question}`)
      return { state, known: ofState(state, ifNoneMatch) }
    },
    of: ({ state = '' }, body) => tag(state, short(body)),
  }
}

function tagsIn(ifNoneMatch: string): string[] {
  return ifNoneMatch.split(',').map((one) => one.trim())
}

function ofState(state: string, ifNoneMatch: string | undefined): string | undefined {
  if (ifNoneMatch === undefined) return undefined
  return tagsIn(ifNoneMatch).find((one) => one.replace(/^W\//, '').startsWith(`"${state}.`))
}

/** Whether an If-None-Match (RFC 9110, section 13.1.2) names an answer that was read, by what it says. */
export function isKnown(made: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false
  const [state, content] = made.slice(3, -1).split('.') as [string, string]
  return tagsIn(ifNoneMatch).some(
    (one) =>
      one === '*' ||
      one.includes(`"${state}.${content}"`) ||
      (content !== '' && one.endsWith(`.${content}"`)),
  )
}
