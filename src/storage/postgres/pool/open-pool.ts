import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { SessionClient } from '../driver/session-client.ts'
import type { Connector, PoolSettings } from './connector.ts'

/** Milliseconds that closing waits for the server, which may be unreachable. */
const closeWithin = 2_000

/**
 * The formats of times and numbers that the service can read; a database, role or server may have other defaults. The order of
 * day and month in input, and the time zone, are not changed. Before PostgreSQL 12, exact numbers need 3 more digits.
 */
const readableFormats = 'set datestyle to iso; set extra_float_digits to 3'

export interface OpenPool {
  readonly pool: Pool
  /** Takes no more statements. Resolves when all connections are closed, after 2 s at the latest. */
  close(): Promise<void>
  /** Closes all present connections at once, even those in use. */
  abandonAll(): void
}

/** After `answerWithin`, the server cancels a statement as well. */
interface PoolOptions extends Pick<PoolSettings, 'max' | 'onError' | 'answerWithin'> {
  /** More statements at the start of each session. */
  settings?: string | undefined
}

/** Opens a pool with pipelined connections. Nothing is connected yet. */
export function openPool(connector: Connector, options: PoolOptions): OpenPool {
  const { max, onError, answerWithin, settings } = options
  const limit = `set statement_timeout = ${answerWithin}`
  const firstStatements = [readableFormats, limit, settings ?? []].flat().join('; ')
  const pool = connector.newPool({ max, onError, answerWithin, firstStatements })
  const connected = new Set<object>()
  let allClosed: (() => void) | undefined
  pool.on('error', onError)
  pool.on('no-room' as 'error', onError)
  pool.on('connect', (client) => {
    connected.add(client)
    // Without a listener, an error on a connection that is checked out would end the process.
    client.on('error', onError)
  })
  pool.on('remove', (client) => {
    connected.delete(client)
    if (connected.size === 0) allClosed?.()
  })
  return {
    pool,
    async close() {
      // pg resolves when closing has begun.
      await pool.end()
      if (connected.size === 0) return
      const closed = new Promise<void>((resolve) => (allClosed = resolve))
      await Promise.race([closed, sleep(closeWithin, undefined, { ref: false })])
    },
    abandonAll() {
      for (const client of connected) if (client instanceof SessionClient) client.abandon()
    },
  }
}
