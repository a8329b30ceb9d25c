import type { Pool, Client, QueryConfig, QueryResult, QueryResultRow } from 'pg'
import { bounded } from '../driver/statement.ts'
import type { Connector } from '../pool/connector.ts'
import { poolTransaction } from '../transaction/transaction.ts'
import { type Scheduler, systemClock } from '../../../runtime/clock.ts'
import { endClient } from '../driver/session-client.ts'

/** A table of claimers, and the statement that frees the claims of dead ones. */
export interface ClaimerList {
  /** With a serial `id`. */
  table: string
  /** The first key of the advisory lock that the session of each claimer holds. The second key is the claimer's number. */
  lockSpace: number
  /** Further queries and a statement after `with dead (id, former)`. `former` are numbers that this process used. Its row count is the number of freed claims. */
  takeOver: string
}

/** A session that holds the lock of a claimer's number as long as it lives. Each call may reject. */
export interface ClaimSession {
  /**
   * Connects and takes the lock.
   * @param id the present number of this process; if `undefined`, a new one is assigned
   * @returns `undefined` if the number was removed: other processes have taken over its claims, and it must not be used again
   */
  enlist(id: number | undefined): Promise<{ id: number; held: boolean } | undefined>
  /** Claimers whose locks no session holds. An answer proves that this session was alive when the query was sent. */
  findMissing(): Promise<number[]>
  /**
   * Removes those whose locks no session holds now, and frees their claims and those of removed numbers. Returns how many claims.
   * With a backlog of millions it takes seconds, so it runs on a connection of the pool: on this session it would delay the proofs
   * that the process lives.
   * @param former those of them that this process used: it has not ended
   */
  takeOver(ids: readonly number[], former: readonly number[]): Promise<number>
  /** Removes the number, and gives up its lock. */
  leave(id: number): Promise<void>
  /** Gives up the lock of a number that this process no longer uses, so that others take over its claims. */
  unlock(id: number): Promise<void>
  end(): Promise<void>
}

/** @param onBroken called when an open session breaks; it may be called several times, even after `end` */
export type OpenClaimSession = (onBroken: (error?: unknown) => void) => ClaimSession

/** Milliseconds to connect. */
const connectWithin = 2_000
/** Milliseconds after which pg closes the session, even if it was this process that took no time to read the answer. */
const closedAfter = 60_000
/** Milliseconds for a take-over, which reads all pending rows. */
const takeOverWithin = 60_000

/** The server notices an unreachable client after eight seconds. By then, the client has stopped its work. */
const settings = `set tcp_keepalives_idle = 4; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 2;
  set tcp_user_timeout = 8000`

/**
 * The session that holds the locks of all claimers of a process.
 * @param onBroken called when the session breaks
 */
export function sharedClaimingSession(connector: Connector, onBroken: () => void): SharedSession {
  return new SharedSession(
    () =>
      connector.newClient({
        connectWithin,
        answerWithin: closedAfter,
        firstStatements: settings,
        name: 'postern-claims',
      }),
    onBroken,
  )
}

export function openClaimSessions(
  { table, lockSpace, takeOver }: ClaimerList,
  shared: SharedSession,
  pool: Pool,
): OpenClaimSession {
  const isHeld = `exists (
    select from pg_locks where locktype = 'advisory' and classid = ${lockSpace} and objid = claimer.id and objsubid = 2
      and granted and database = (select oid from pg_database where datname = current_database())
  )`
  const enlistNew = `
    with enlisted as (insert into ${table} default values returning id)
    select id, pg_try_advisory_lock(${lockSpace}, id) as held from enlisted`
  const enlistAgain = `select id, pg_try_advisory_lock(${lockSpace}, id) as held from ${table} where id = $1`
  const findMissing = `select id from ${table} claimer where not ${isHeld}`
  const takeOverDead = `
    with removed as (delete from ${table} claimer where id = any($1) and not ${isHeld} returning id),
    dead as (
      select id, id = any($2::int[]) as former from (
        select id from removed union
        select number from unnest($1::int[]) as number where not exists (select from ${table} where id = number)
      ) ended
    ) ${takeOver}`
  const leave = `
    with removed as (delete from ${table} where id = $1 returning id)
    select pg_advisory_unlock(${lockSpace}, id) from removed`

  return (onBroken) => {
    const session = shared.join(onBroken)
    return {
      async enlist(id) {
        const query = id === undefined ? { text: enlistNew } : { text: enlistAgain, values: [id] }
        return (await session.query<{ id: number; held: boolean }>(query)).rows[0]
      },
      async findMissing() {
        const { rows } = await session.query<{ id: number }>({ name: `missing_${table}`, text: findMissing })
        return rows.map(({ id }) => id)
      },
      takeOver: (ids, former) =>
        poolTransaction(pool, async (client) => {
          await client.query(`set local statement_timeout = ${takeOverWithin}`)
          const { rowCount } = await client.query(bounded(takeOverWithin, takeOverDead, [ids, former]))
          return rowCount ?? 0
        }),
      async unlock(id) {
        await session.query({ text: `select pg_advisory_unlock(${lockSpace}, $1)`, values: [id] })
      },
      async leave(id) {
        await session.query({ text: leave, values: [id] })
      },
      end: () => session.leave(),
    }
  }
}

interface Session {
  readonly client: Client
  readonly connected: Promise<unknown>
  /** Called when the session breaks, one for each use. */
  readonly users: Set<(error?: unknown) => void>
}

/** Milliseconds for an answer. */
const answerWithin = 2_000

/** One session of a process for several users that each hold advisory locks on it. The first one connects it. */
export class SharedSession {
  readonly #open: () => Client
  readonly #onBroken: () => void
  readonly #scheduler: Pick<Scheduler, 'after' | 'soon'>
  #current: Session | undefined

  /**
   * @param open returns a client that is not connected yet
   * @param onBroken called once for each session that breaks while it is used
   */
  constructor(
    open: () => Client,
    onBroken: () => void,
    scheduler: Pick<Scheduler, 'after' | 'soon'> = systemClock,
  ) {
    this.#open = open
    this.#onBroken = onBroken
    this.#scheduler = scheduler
  }

  /** @param onBroken called when the session breaks: then join again. It may be called several times, even after `leave`. */
  join(onBroken: (error?: unknown) => void) {
    const session = (this.#current ??= this.#start())
    // A new function, because the same one may join twice.
    const user = (error?: unknown): void => onBroken(error)
    session.users.add(user)
    const { client, connected, users } = session
    return {
      /** @throws the error of the statement or the connection; then the session is broken for all its users */
      query: async <Row extends QueryResultRow>(query: QueryConfig): Promise<QueryResult<Row>> => {
        try {
          await connected
          return await this.#answered(client.query<Row>(query))
        } catch (error) {
          this.#broken(session, error)
          throw error
        }
      },
      /** The last user to leave ends the session. */
      leave: async (): Promise<void> => {
        if (!users.delete(user) || users.size > 0) return
        if (this.#current === session) this.#current = undefined
        await endClient(client)
      },
    }
  }

  #start(): Session {
    const client = this.#open()
    const session: Session = { client, connected: client.connect(), users: new Set() }
    session.connected.catch((error: unknown) => this.#broken(session, error))
    // Without a listener, an error would end the process.
    client.on('error', (error) => this.#broken(session, error))
    client.on('end', () => this.#broken(session))
    return session
  }

  /** pg's own limit would break the session of a process that a handler blocked, although its answer is there. */
  #answered<T>(answer: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const cancel = this.#scheduler.after(answerWithin, () =>
      this.#scheduler.soon(() => reject(new Error(`no answer within ${answerWithin} ms`))),
    )
    answer.then(resolve, reject).finally(cancel)
    return promise
  }

  #broken(session: Session, error?: unknown): void {
    if (this.#current === session) {
      this.#current = undefined
      this.#onBroken()
    }
    for (const user of session.users) user(error)
  }
}
