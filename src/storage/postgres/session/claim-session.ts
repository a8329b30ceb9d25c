import type { Connector } from '../pool/connector.ts'
import { SharedSession } from './shared-session.ts'

/** A list of those that claim, and what becomes of the claims of dead ones. */
export interface ClaimerList {
  /** With a serial `id`. */
  table: string
  /** The first key of the advisory lock that each claimer's session holds; the second is the claimer's number. */
  lockSpace: number
  /** A statement behind `with dead as (… returning id)`, whose row count is that of the claims. */
  takeOver: string
}

/** A session of the database that holds the lock of a claimer's number for as long as it lives. Each call may reject. */
export interface ClaimSession {
  /**
   * Connects, and takes the lock.
   * @param id the number that we have already; a new one is made without it
   * @returns `undefined` when the number is off the list: others have taken over, and it is not to be used again
   */
  enlist(id: number | undefined): Promise<{ id: number; held: boolean } | undefined>
  /** Claimers whose locks nobody holds. An answer says that this session lived when it was asked. */
  findMissing(): Promise<number[]>
  /** Strikes those off whose locks nobody holds now. Frees their claims, and those of numbers that were struck off before. Returns how many. */
  takeOver(ids: readonly number[]): Promise<number>
  leave(id: number): Promise<void>
  /** Gives up the lock of a number that is off the list for this process; others take over what it has. */
  unlock(id: number): Promise<void>
  end(): Promise<void>
}

/** @param onBroken told when an open session breaks; it may come more than once, and behind `end` */
export type OpenClaimSession = (onBroken: (error?: unknown) => void) => ClaimSession

/** Milliseconds that a connection, and an answer, may take. */
const connectWithin = 2_000
const answerWithin = 4_000

/**
 * A server notices that a machine is gone by unanswered probes, or by what is not acknowledged, after eight seconds: later
 * than the machine gives up by itself, where it lives and cannot be reached.
 */
const settings = `set tcp_keepalives_idle = 4; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 2;
  set tcp_user_timeout = 8000`

/** The session that holds the locks of all claimers of a process. */
export function claimingSession(connector: Connector): SharedSession {
  return new SharedSession(() =>
    connector.newClient({ connectWithin, answerWithin, firstStatements: settings, name: 'postern-claims' }),
  )
}

export function claimSessions(
  { table, lockSpace, takeOver }: ClaimerList,
  shared: SharedSession,
): OpenClaimSession {
  const isHeld = `exists (
    select from pg_locks where locktype = 'advisory' and classid = ${lockSpace} and objid = claimer.id and objsubid = 2
      and granted and database = (select oid from pg_database where datname = current_database())
  )`
  const enlist = `
    with enlisted as (insert into ${table} default values returning id)
    select id, pg_try_advisory_lock(${lockSpace}, id) as held from enlisted`
  const enlistAgain = `select id, pg_try_advisory_lock(${lockSpace}, id) as held from ${table} where id = $1`
  const findMissing = `select id from ${table} claimer where not ${isHeld}`
  const strike = `
    with struck as (delete from ${table} claimer where id = any($1) and not ${isHeld} returning id),
    dead as (
      select id from struck union
      select number from unnest($1::int[]) as number where not exists (select from ${table} where id = number)
    ) ${takeOver}`
  const leave = `
    with left_behind as (delete from ${table} where id = $1 returning id)
    select pg_advisory_unlock(${lockSpace}, id) from left_behind`

  return (onBroken) => {
    const session = shared.join(onBroken)
    return {
      async enlist(id) {
        const { rows } = await session.query<{ id: number; held: boolean }>(
          id === undefined ? enlist : enlistAgain,
          id === undefined ? [] : [id],
        )
        return rows[0]
      },
      async findMissing() {
        const { rows } = await session.query<{ id: number }>(findMissing, [], `missing_${table}`)
        return rows.map(({ id }) => id)
      },
      async takeOver(ids) {
        return (await session.query(strike, [ids])).rowCount ?? 0
      },
      async unlock(id) {
        await session.query(`select pg_advisory_unlock(${lockSpace}, $1)`, [id])
      },
      async leave(id) {
        await session.query(leave, [id])
      },
      end: () => session.leave(),
    }
  }
}
