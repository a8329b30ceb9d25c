import { randomInt } from 'node:crypto'
import type { Client, Pool } from 'pg'
import { lockSpaces } from '../../advisory-locks.ts'
import type { Connector } from './connector.ts'
import { poolTransaction } from '../transaction/transaction.ts'

/** A pooler does not work with the service. The message tells what to change. */
export class UnsuitablePooler extends Error {
  override readonly name = 'UnsuitablePooler'
}

/** Milliseconds for each statement. */
const answerWithin = 10_000

const advice =
  'Configure one session for each connection (PgBouncer: pool_mode = session), or set DATABASE_SESSION_URL to an address ' +
  'that bypasses the pooler: it is used for a few long-lived sessions only, and DATABASE_URL may lead to a pooler with pool_mode = transaction'
const sharesSessions = {
  DATABASE_URL: `DATABASE_URL leads to a connection pooler that changes the session of a connection between transactions. ${advice}`,
  DATABASE_SESSION_URL:
    'DATABASE_SESSION_URL leads to a connection pooler that changes the session of a connection between transactions: set it to ' +
    'the address of the database itself, or to one of the pooler with pool_mode = session',
}
const splitsTransactions =
  'DATABASE_URL leads to a connection pooler without transactions (PgBouncer: pool_mode = statement): ' +
  'set pool_mode = transaction or session'
const otherDatabase = 'DATABASE_SESSION_URL leads to another database or server than DATABASE_URL'

/** Identifies a session. Processes of different servers may have the same number. */
const askSession = `select pg_backend_pid() || ' ' || extract(epoch from pg_postmaster_start_time()) as session`

/**
 * The order in which two connections send statements. A pooler that reuses the latest returned session gives the session of one
 * connection to the other; a pooler with round robin changes both sessions, or exchanges them.
 */
const turns = [0, 1, 0, 1, 1, 0, 1, 0] as const

/**
 * Refuses a pooler that changes the session of a connection between transactions: locks and LISTEN would affect other clients.
 * @throws UnsuitablePooler
 */
export async function requireSessions(
  connector: Connector,
  setting: keyof typeof sharesSessions,
): Promise<void> {
  // Some proxies keep the session of a client that changes a setting.
  const settings = {
    answerWithin,
    name: 'postern-start',
    brief: true,
    firstStatements: 'set datestyle to iso',
  }
  await connector.withClient(settings, (one) =>
    connector.withClient(settings, async (other) => {
      const clients = [one, other] as const
      const seen = [new Set<string>(), new Set<string>()] as const
      for (const turn of turns) {
        const { rows } = await clients[turn].query<{ session: string }>(askSession)
        const { session } = rows[0]!
        if ((seen[turn].size > 0 && !seen[turn].has(session)) || seen[turn === 0 ? 1 : 0].has(session))
          throw new UnsuitablePooler(sharesSessions[setting])
        seen[turn].add(session)
      }
    }),
  )
}

/**
 * Checks that `pool` supports transactions, has readable formats, and leads to the same database as `sessions`.
 * @throws UnsuitablePooler
 */
export async function requireTransactions(pool: Pool, sessions: Connector): Promise<void> {
  await sessions.withClient({ answerWithin, name: 'postern-start', brief: true }, async (holder) => {
    const lock = [lockSpaces.poolerCheck, randomInt(2 ** 31 - 1)]
    await holder.query('select pg_advisory_lock($1, $2)', lock)
    // If the pooler cannot connect, PgBouncer returns the same code as for `begin`.
    await pool.query('select 1')
    await poolTransaction(pool, async (client) => {
      await requireLock(client, lock)
      await requireReadable(client)
    }).catch((error: unknown) => {
      const isSplit = (error as { code?: string }).code === protocolViolation
      throw isSplit ? new UnsuitablePooler(splitsTransactions) : error
    })
  })
}

/** PgBouncer's answer to `begin` with pool_mode = statement. */
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

/** The service cannot change the settings of pooled sessions, so their defaults must be right. */
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
      `through the pooler of DATABASE_URL, times or numbers have a format that the service cannot read: run ${missing.join('; ')}`,
    )
}
