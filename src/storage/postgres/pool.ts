import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { gatheringSocket } from './gathering-socket.ts'

/** Milliseconds that the server is waited for when connections are closed: it may be out of reach. */
const longestGoodbye = 2_000

/**
 * A database, a role or a server may say that times are written as `31/01/2026 14:00:00 IST` and numbers with six digits; what
 * is read so compares with nothing. The order of day and month in what others write, and the time zone, stay theirs. Before
 * PostgreSQL 12 only 3 digits more made numbers exact.
 */
const readableValues = 'set datestyle to iso; set extra_float_digits to 3'

export interface OpenPool {
  readonly pool: pg.Pool
  /**
   * Takes no more statements, and resolves when every connection is closed, after 2 s at the latest; pg itself
   * resolves when that has begun.
   */
  close(): Promise<void>
}

export interface PoolOptions {
  /** Connections at most. */
  max: number
  /** Told about errors on connections that nobody is waiting for. */
  onError: (error: Error) => void
  /** More statements that each connection begins with. */
  settings?: string
}

/** Opens a pool whose connections send what is asked for in one turn of the loop together. None is connected yet. */
export function openPool(url: string, { max, onError, settings }: PoolOptions): OpenPool {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    // Statements are sent without waiting for the answers to those before them.
    pipeline: true,
    connectionTimeoutMillis: 3_000,
    keepAlive: true,
    application_name: 'postern',
    types: { getTypeParser },
    stream: gatheringSocket,
  })
  let connected = 0
  let allClosed: (() => void) | undefined
  pool.on('error', onError)
  pool.on('connect', (client) => {
    connected += 1
    // Without a listener an error on a connection that is checked out would end the process.
    client.on('error', onError)
    // Goes out with the first statement, and before it.
    client.query(settings === undefined ? readableValues : `${readableValues}; ${settings}`).catch(onError)
  })
  pool.on('remove', () => {
    connected -= 1
    if (connected === 0) allClosed?.()
  })
  return {
    pool,
    async close() {
      await pool.end()
      if (connected === 0) return
      const closed = new Promise<void>((resolve) => (allClosed = resolve))
      await Promise.race([closed, sleep(longestGoodbye, undefined, { ref: false })])
    },
  }
}

/** bigint columns and count(*) come as text unless asked otherwise; ours fit a number (ids, times, counts). */
function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === pg.types.builtins.INT8 && format !== 'binary') return toSafeNumber
  return pg.types.getTypeParser(oid, format) as (value: string) => unknown
}

function toSafeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`bigint ${text} does not fit a number`)
  return value
}
