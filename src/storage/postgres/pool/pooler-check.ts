import { randomInt } from 'node:crypto'
import type { Client, Pool } from 'pg'
import type { Connector } from './connector.ts'
import { endClient } from '../driver/session-client.ts'

/** The connections of a setting cannot be used as the service needs them. The message says what to change. */
export class UnsuitablePooler extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UnsuitablePooler'
  }
}

/** Milliseconds that each question may take. */
const answerWithin = 10_000

const advice =
  'Let it give each connection a session of its own (PgBouncer: pool_mode = session), or set DATABASE_SESSION_URL to an address ' +
  'that leads past it: then only the sessions that the service keeps go there, and DATABASE_URL may lead to a pooler with pool_mode = transaction'
const sharesSessions = {
  DATABASE_URL: `DATABASE_URL leads to a connection pooler that changes the session of a connection between transactions. ${advice}`,
  DATABASE_SESSION_URL:
    'DATABASE_SESSION_URL leads to a connection pooler that changes the session of a connection between transactions: set it to ' +
    'the address of the database itself, or to one of the pooler with pool_mode = session',
}
const splitsTransactions =
  'DATABASE_URL leads to a connection pooler that takes no transactions (PgBouncer: pool_mode = statement): ' +
  'set pool_mode = transaction or session there'
const otherDatabase =
  'DATABASE_SESSION_URL leads to another database, or to another server, than DATABASE_URL does'

/** Behind a pooler the server's process is another one, and on another server it may have the same number. */
const askSession = `select pg_backend_pid() || ' ' || extract(epoch from pg_postmaster_start_time()) as session`

/**
 * In which order two connections ask. A pooler that hands out what was given back last gives one's session to the other; one
 * that takes turns changes those of each, or exchanges the two.
 */
const turns = [0, 1, 0, 1, 1, 0, 1, 0] as const

/**
 * Refuses a pooler whose connections do not keep their session from one transaction to the next: locks and what is
 * listened to would be another client's.
 * @throws UnsuitablePooler
 */
export async function requireSessions(
  connector: Connector,
  setting: keyof typeof sharesSessions,
): Promise<void> {
  // Proxies that tell sessions from transactions by what is done on them keep a session for who sets something.
  const settings = {
    answerWithin,
    name: 'postern-start',
    brief: true,
    firstStatements: 'set datestyle to iso',
  }
  const clients = [connector.newClient(settings), connector.newClient(settings)] as const
  for (const client of clients) client.on('error', () => undefined)
  try {
    await Promise.all(clients.map((client) => client.connect()))
    const seen = [new Set<string>(), new Set<string>()] as const
    for (const turn of turns) {
      const { rows } = await clients[turn].query<{ session: string }>(askSession)
      const { session } = rows[0]!
      if ((seen[turn].size > 0 && !seen[turn].has(session)) || seen[turn === 0 ? 1 : 0].has(session))
        throw new UnsuitablePooler(sharesSessions[setting])
      seen[turn].add(session)
    }
  } finally {
    await Promise.all(clients.map((client) => endClient(client)))
  }
}

/**
 * Whether transactions may go through `pool`, and sessions through `sessions`.
 * @throws UnsuitablePooler
 */
export async function requireTransactions(pool: Pool, sessions: Connector): Promise<void> {
  const holder = sessions.newClient({ answerWithin, name: 'postern-start', brief: true })
  holder.on('error', () => undefined)
  try {
    await holder.connect()
    const lock = [lockSpace, randomInt(2 ** 31 - 1)]
    await holder.query('select pg_advisory_lock($1, $2)', lock)
    await inTransaction(pool, async (client) => {
      await requireLock(client, lock)
      await requireReadable(client)
    })
  } finally {
    await endClient(holder)
  }
}

/** The first key of the locks by which the two addresses are compared; no other locks have it. */
const lockSpace = 7_226_031

async function inTransaction(pool: Pool, work: (client: Client) => Promise<void>): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin').catch((error: unknown) => {
      if ((error as { code?: string }).code === protocolViolation)
        throw new UnsuitablePooler(splitsTransactions)
      throw error
    })
    await work(client)
    await client.query('commit')
    client.release()
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** What PgBouncer answers a `begin` with, where each statement may get another session. */
const protocolViolation = '08P01'

async function requireLock(client: Client, lock: readonly number[]): Promise<void> {
  const { rows } = await client.query<{ found: number }>(
    `select count(*)::int as found from pg_locks where locktype = 'advisory' and granted and objsubid = 2
       and classid = $1::bigint and objid = $2::bigint
       and database = (select oid from pg_database where datname = current_database())`,
    [...lock],
  )
  if (rows[0]!.found === 0) throw new UnsuitablePooler(otherDatabase)
}

/** No session can be set up, so what a session begins with has to be right. */
async function requireReadable(client: Client): Promise<void> {
  const { rows } = await client.query<{ style: string; digits: number; version: number; role: string }>(
    `select current_setting('datestyle') as style, current_setting('extra_float_digits')::int as digits,
       current_setting('server_version_num')::int as version, quote_ident(current_user) as role`,
  )
  const { style, digits, version, role } = rows[0]!
  const missing = [
    style.startsWith('ISO') ? '' : `alter role ${role} set datestyle = 'ISO, MDY'`,
    digits >= (version >= 120_000 ? 1 : 3) ? '' : `alter role ${role} set extra_float_digits = 3`,
  ].filter((statement) => statement !== '')
  if (missing.length > 0)
    throw new UnsuitablePooler(
      `through the pooler of DATABASE_URL times or numbers are not written as the service reads them: run ${missing.join('; ')}`,
    )
}
