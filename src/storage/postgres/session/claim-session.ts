import type { Client, Pool, QueryConfig, QueryResult, QueryResultRow } from 'pg'
import { bounded } from '../driver/statement.ts'
import type { Connector } from '../pool/connector.ts'
import { poolTransaction } from '../transaction/transaction.ts'
import { type Scheduler, systemClock } from '../../../runtime/clock.ts'
import { lockSpaces } from '../../advisory-locks.ts'
import { endClient } from '../driver/session-client.ts'

/** A session that holds the lock of a claimer's number as long as it lives. Each call may reject. */
export interface ClaimSession {
  /**
   * Connects and takes the lock.
   * @param id the present number of this process; if `undefined`, a new one is assigned
   * @returns `undefined` if the number has ended: other processes have taken over its claims, and it must not be used again
   */
  enlist(id: number | undefined): Promise<{ id: number; held: boolean } | undefined>
  /** Claimers whose locks no session holds. An answer proves that this session was alive when the query was sent. */
  findMissing(): Promise<number[]>
  /**
   * Removes those whose locks no session holds now, and frees their claims and those of removed numbers. Returns how many claims.
   * With a backlog of millions of events it takes seconds, so it runs on a connection of the pool: on this session it would delay the
   * proofs that the process lives. Subscriber queues are freed before.
   * @param former those of them that this process used: it has not ended
   */
  takeOver(ids: readonly number[], former: readonly number[]): Promise<number>
  /** Removes the number, and gives up its lock. */
  leave(id: number): Promise<void>
  /** Gives up the lock. */
  end(): Promise<void>
}

/** @param onBroken called once when an open session breaks, unless it was ended before */
export type OpenClaimSession = (onBroken: (error?: unknown) => void) => ClaimSession

/** Milliseconds to connect. */
const connectWithin = 2_000
/** Milliseconds for an answer. */
const answerWithin = 2_000
/** Milliseconds after which pg closes the session, even if it was this process that took no time to read the answer. */
const closedAfter = 60_000
/** Milliseconds for a take-over, which reads all pending rows. */
const takeOverWithin = 60_000

/** The server notices an unreachable client after eight seconds. By then, the client has stopped its work. */
const settings = `set tcp_keepalives_idle = 4; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 2;
  set tcp_user_timeout = 8000`

const lock = `pg_try_advisory_lock(${lockSpaces.claimers}, id)`
const unlock = `pg_advisory_unlock(${lockSpaces.claimers}, id)`
const isHeld = `exists (
    select from pg_locks where locktype = 'advisory' and classid = ${lockSpaces.claimers} and objid = claimer.id and objsubid = 2
      and granted and database = (select oid from pg_database where datname = current_database())
  )`

const enlistNew = `
  with enlisted as (insert into claimers default values returning id) select id, ${lock} as held from enlisted`
const enlistAgain = `select id, ${lock} as held from claimers where id = $1 and ended = 0`
const findMissing = `select id from claimers claimer where not ${isHeld}`
const leave = `with removed as (delete from claimers where id = $1 returning id) select ${unlock} from removed`

// A locked row is being removed by another process, which may take a minute.
const endDead = `
  with missing as materialized (
    select id from claimers claimer where id = any($1) and not ${isHeld} for no key update skip locked
  ), dead as (
    update claimers set ended = 1 where id in (select id from missing) returning id
  )
  delete from queue_owners where claimer in (select id from dead)`

// A process that lost only its session has ended its handlers by itself, and may be releasing or committing its events at this moment.
// Waiting for them in another order than it locks them would be a deadlock, so locked ones are left to a repetition.
const removeEnded = `
  with removed as (delete from claimers where id = any($1) and ended = 1 returning id),
  dead as (
    select id, id = any($2::int[]) as former from (
      select id from removed union
      select number from unnest($1::int[]) as number where not exists (select from claimers where id = number)
    ) ended
  ), free as materialized (
    select event, former from event_queue join dead on split_part(claim, ':', 1) = dead.id::text
    where status = 'pending' for update of event_queue skip locked
  )
  update event_queue set claim = null, leased_until = null,
    crashes = case when free.former then crashes else coalesce(crashes, 0) end,
    alone_at = case when free.former then null else alone_at end
  from free where event_queue.event = free.event`

/** @param onBroken called when a session breaks */
export function claimSessions(connector: Connector, pool: Pool, onBroken: () => void): OpenClaimSession {
  return (onSessionBroken) => {
    const client = connector.newClient({
      connectWithin,
      answerWithin: closedAfter,
      firstStatements: settings,
      name: 'postern-claims',
    })
    const session = new LimitedSession(client, (error) => {
      onBroken()
      onSessionBroken(error)
    })
    return {
      async enlist(id) {
        const query = id === undefined ? { text: enlistNew } : { text: enlistAgain, values: [id] }
        return (await session.query<{ id: number; held: boolean }>(query)).rows[0]
      },
      async findMissing() {
        const { rows } = await session.query<{ id: number }>({ name: 'missing_claimers', text: findMissing })
        return rows.map(({ id }) => id)
      },
      async takeOver(ids, former) {
        const { rowCount: queues } = await pool.query(bounded(answerWithin, endDead, [ids]))
        const events = await poolTransaction(pool, async (transaction) => {
          await transaction.query(`set local statement_timeout = ${takeOverWithin}`)
          return (await transaction.query(bounded(takeOverWithin, removeEnded, [ids, former]))).rowCount
        })
        return (queues ?? 0) + (events ?? 0)
      },
      async leave(id) {
        await session.query({ text: leave, values: [id] })
      },
      end: () => session.end(),
    }
  }
}

/** A session that breaks with its first error, and whose statements must be answered in time. */
export class LimitedSession {
  readonly #client: Client
  readonly #connected: Promise<unknown>
  readonly #onBroken: (error?: unknown) => void
  readonly #scheduler: Pick<Scheduler, 'after' | 'soon'>
  #isOver = false

  /**
   * Connects.
   * @param onBroken called once when the session breaks, unless it was ended before
   */
  constructor(
    client: Client,
    onBroken: (error?: unknown) => void,
    scheduler: Pick<Scheduler, 'after' | 'soon'> = systemClock,
  ) {
    this.#client = client
    this.#onBroken = onBroken
    this.#scheduler = scheduler
    this.#connected = client.connect()
    this.#connected.catch((error: unknown) => this.#broken(error))
    // Without a listener, an error would end the process.
    client.on('error', (error) => this.#broken(error))
    client.on('end', () => this.#broken())
  }

  /** @throws the error of the statement or the connection; then the session is broken */
  async query<Row extends QueryResultRow>(query: QueryConfig): Promise<QueryResult<Row>> {
    try {
      await this.#connected
      return await this.#answered(this.#client.query<Row>(query))
    } catch (error) {
      this.#broken(error)
      throw error
    }
  }

  async end(): Promise<void> {
    this.#isOver = true
    await endClient(this.#client)
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

  #broken(error?: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#onBroken(error)
  }
}
