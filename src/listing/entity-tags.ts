import { hash, randomUUID } from 'node:crypto'
import type { Database } from '../storage/database.ts'

/**
 * Names what an answer shows, so that a client that has it already is told so (RFC 9110, section 8.8.3). Weak: compressed
 * and plain forms of an answer share a name.
 */
export interface EntityTags {
  /** Of the answer to `query` at this moment, without reading it; `undefined` where that cannot be known. */
  before(query: string): string | undefined
  /** Of an answer that was read. */
  of(body: string): string
}

/**
 * SQLite counts the commits of other connections, and the connection that reads never writes: the same number means the same
 * data, whatever was asked. On PostgreSQL asking what has changed would cost as much as a page: there the tag is the
 * answer's, and spares only its way.
 */
export function entityTags(database: Database): EntityTags {
  // The count is of this connection's life.
  const life = randomUUID()
  const tag = (text: string): string => `W/"${hash('sha256', text, 'base64url').slice(0, 27)}"`
  return {
    before(query) {
      if (database.engine !== 'sqlite') return undefined
      const row = database.readConnection.get<{ data_version: number }>('pragma data_version')
      return tag(`${life} ${row!.data_version} ${query}`)
    },
    of: tag,
  }
}

/** Whether an If-None-Match (RFC 9110, section 13.1.2) names the tag. */
export function isKnown(tag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false
  const bare = tag.replace(/^W\//, '')
  return ifNoneMatch.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === bare)
}
