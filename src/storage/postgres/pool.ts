import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Connector } from './connector.ts'
import { SessionClient } from './session-client.ts'

/** Milliseconds that the server is waited for when connections are closed: it may be out of reach. */
const longestGoodbye = 2_000

/**
 * A database, a role or a server may say that times are written as `31/01/2026 14:00:00 IST` and numbers with six digits; what
 * is read so compares with nothing. The order of day and month in what others write, and the time zone, stay theirs. Before
 * PostgreSQL 12 only 3 digits more made numbers exact.
 */
const readableValues = 'set datestyle to iso; set extra_float_digits to 3'

export interface OpenPool {
  readonly pool: Pool
  /**
   * Takes no more statements, and resolves when every connection is closed, after 2 s at the latest; pg itself
   * resolves when that has begun.
   */
  close(): Promise<void>
  /** Closes all connections that are there now, at once, also those that somebody uses. New ones are made when they are needed. */
  abandonAll(): void
}

export interface PoolOptions {
  /** Connections at most. */
  max: number
  /** Told about errors on connections that nobody is waiting for. */
  onError: (error: Error) => void
  /**
   * Milliseconds that a statement may take. Then it fails, and its connection is closed: a path that went silent answers
   * nothing, and tells nobody.
   */
  answerWithin: number
  /** Whether the server gives up such a statement too. Not where a statement may ask for more time itself. */
  cancelled?: boolean
  /** More statements that each connection begins with. */
  settings?: string
}

/** Opens a pool whose connections send what is asked for in one turn of the loop together. None is connected yet. */
export function openPool(connector: Connector, options: PoolOptions): OpenPool {
  const { max, onError, answerWithin } = options
  const pool = connector.newPool({ max, onError, answerWithin, firstStatements: firstStatementsOf(options) })
  const connected = new Set<object>()
  let allClosed: (() => void) | undefined
  pool.on('error', onError)
  pool.on('no-room' as 'error', onError)
  pool.on('connect', (client) => {
    connected.add(client)
    // Without a listener an error on a connection that is checked out would end the process.
    client.on('error', onError)
  })
  pool.on('remove', (client) => {
    connected.delete(client)
    if (connected.size === 0) allClosed?.()
  })
  return {
    pool,
    async close() {
      await pool.end()
      if (connected.size === 0) return
      const closed = new Promise<void>((resolve) => (allClosed = resolve))
      await Promise.race([closed, sleep(longestGoodbye, undefined, { ref: false })])
    },
    abandonAll() {
      for (const client of connected) if (client instanceof SessionClient) client.abandon()
    },
  }
}

function firstStatementsOf({ answerWithin, cancelled = false, settings }: PoolOptions): string {
  const bound = cancelled ? `set statement_timeout = ${answerWithin}` : undefined
  return [readableValues, bound, settings].filter((statement) => statement !== undefined).join('; ')
}
