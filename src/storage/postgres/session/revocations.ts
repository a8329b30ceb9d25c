import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Client, Pool } from 'pg'
import { locks } from '../../advisory-locks.ts'
import type { Revocations, Tx } from '../../database.ts'
import { afterCommit } from '../../lazy-transaction.ts'
import { millisecondsSince, type Moment, thisMoment } from '../../../runtime/clock.ts'
import type { ListeningSession } from './listening-session.ts'

const channel = 'postern_revocations'
/** Milliseconds for which an answer on the listening session proves that no announcement was missed. */
const lease = 2_000
/** Milliseconds after which the next use renews the proof. */
const renewAfter = 500

/** The connections that hold the lock, and when each began its last statement; null if the server does not show that. */
const findListeners = `
  select pid, (backend_start, query_start)::text as "lastStatement"
  from pg_locks left join lateral (
    select backend_start, query_start from pg_stat_activity a where a.pid = pg_locks.pid and query_start is not null
  ) activity on true
  where locktype = 'advisory' and objsubid = 2 and granted and classid = $1 and objid = $2
    and database = (select oid from pg_database where datname = current_database())`

/**
 * Announcements are sent by NOTIFY within their transaction, so none is lost, and a rollback removes them. Two rules make them
 * effective in every process at once:
 * - A process uses its cache only while its listening session has answered within the lease. PostgreSQL delivers pending
 *   notifications before it answers, so the process has heard everything that was committed before the question.
 * - The announcing process waits until every listening session has confirmed, or until its lease has expired. A process renews
 *   its lease by a statement on that session: while the server shows no new statement there, the lease continues to expire,
 *   regardless of further announcements. So a stalled process is waited for once.
 *
 * Only the server knows the listeners. If it ended a session, and the network path of that process is silent as well, the process
 * is not waited for, and uses its cache for the rest of its lease: two seconds at most.
 */
export class PostgresRevocations implements Revocations {
  readonly #pool: Pool
  readonly #listening: ListeningSession
  readonly #onError: (error: Error) => void
  readonly #name = randomUUID()
  readonly #listeners: ((subject: string | undefined) => void)[] = []
  /** By question: called with the connections that confirm. */
  readonly #awaiting = new Map<string, (pid: number) => void>()
  readonly #leases = new ListenerLeases(lease)
  /** Set while it listens and is counted. */
  #session: Client | undefined
  /** The process id of the session's server process. */
  #pid: number | undefined
  #started = false
  #proving = false
  #provenAt: Moment | undefined

  constructor(pool: Pool, listening: ListeningSession, onError: (error: Error) => void) {
    this.#pool = pool
    this.#listening = listening
    this.#onError = onError
  }

  listen(listener: (subject: string | undefined) => void): void {
    this.#listeners.push(listener)
  }

  /** The first call begins to listen: a process without a cache need not be waited for. */
  get current(): boolean {
    if (!this.#started) {
      this.#started = true
      this.#listening.join({
        name: channel,
        hear: (payload, session, from) => this.#hear(payload, session, from),
        opened: (session) => this.#open(session),
        closed: () => this.#close(),
      })
      return false
    }
    const age = this.#provenAt ? millisecondsSince(this.#provenAt) : Number.POSITIVE_INFINITY
    if (age > renewAfter) void this.#prove()
    return this.#session !== undefined && age < lease
  }

  /** Empties the caches: the database returned to an earlier state. */
  forgetAll(): void {
    this.#notifyListeners(undefined)
  }

  async announce(tx: Tx, subject: string): Promise<void> {
    await sql`select pg_notify(${channel}, ${`-${subject}`})`.execute(tx)
    afterCommit(tx, () => this.#heard(subject))
  }

  /** Resolves when the announcement is effective in every process. */
  async #heard(subject: string): Promise<void> {
    this.#notifyListeners(subject)
    try {
      await this.#confirmed()
    } catch (error) {
      // It is committed. A process that could not be asked stops using its cache when its lease expires.
      this.#onError(error as Error)
      await new Promise((resolve) => setTimeout(resolve, lease))
    }
  }

  async #confirmed(): Promise<void> {
    const { rows } = await this.#pool.query<Listener>(findListeners, [...locks.listener])
    const others = rows.filter(({ pid }) => !this.#session || pid !== this.#pid)
    const leases = this.#leases.of(others, performance.now())
    if (leases.size === 0) return
    const question = randomUUID()
    const wait = new Wait(leases)
    this.#awaiting.set(question, (pid) => wait.confirmed(pid))
    try {
      const asked = this.#pool.query('select pg_notify($1, $2)', [channel, `?${question}`])
      await Promise.race([wait.over, asked.then(() => wait.over)])
    } finally {
      wait.end()
      this.#awaiting.delete(question)
    }
  }

  #notifyListeners(subject: string | undefined): void {
    for (const listener of this.#listeners) listener(subject)
  }

  /** `-subject` announces, `?question` asks for a confirmation, `!question process` confirms. */
  #hear(payload: string, session: Client, from: number): void {
    const text = payload.slice(1)
    if (payload.startsWith('-')) this.#notifyListeners(text)
    else if (payload.startsWith('?')) {
      session
        .query('select pg_notify($1, $2)', [channel, `!${text} ${this.#name}`])
        .catch((error: Error) => this.#listening.broken(session, error))
    } else if (payload.startsWith('!')) {
      const [question = ''] = text.split(' ')
      this.#awaiting.get(question)?.(from)
    }
  }

  /** It listens already, because listeners that are counted must confirm. */
  async #open(session: Client): Promise<void> {
    const { rows } = await session.query<{ pid: number }>(
      'select pg_backend_pid() as pid, pg_advisory_lock_shared($1, $2)',
      [...locks.listener],
    )
    this.#pid = rows[0]!.pid
    // Announcements may have been missed.
    this.#notifyListeners(undefined)
    this.#session = session
    await this.#prove()
  }

  #close(): void {
    this.#session = undefined
    this.#proving = false
  }

  async #prove(): Promise<void> {
    const session = this.#session
    if (!session || this.#proving) return
    this.#proving = true
    const asked = thisMoment()
    try {
      await session.query('select 1')
      if (session === this.#session) this.#provenAt = asked
    } catch (error) {
      this.#listening.broken(session, error as Error)
    } finally {
      if (session === this.#session) this.#proving = false
    }
  }
}

/** A session on which a process hears revocations. */
interface Listener {
  /** The process id of its server process. */
  pid: number
  /** Identifies the last statement that it began; null if unknown. */
  lastStatement: string | null
}

/** Milliseconds of tolerance for timers and clocks of different machines. */
const tolerance = 100

/**
 * Computes until when each process may use its cache without having heard an announcement. A process renews its lease by a statement:
 * the lease lasts from the begin of the last statement that was answered. The server delivers an announcement before the answer to
 * any later statement. So a process that the server shows with the same last statement stops using its cache one lease after this
 * was first seen.
 */
export class ListenerLeases {
  readonly #lease: number
  #seen = new Map<number, { lastStatement: string | null; endsAt: number }>()

  /** @param lease milliseconds */
  constructor(lease: number) {
    this.#lease = lease
  }

  /**
   * @param listeners as the server showed them after the commit of the announcement
   * @param now when its answer arrived, by a monotonic clock
   * @returns when the lease of each ends, by the same clock; without expired leases
   */
  of(listeners: readonly Listener[], now: number): Map<number, number> {
    const before = this.#seen
    this.#seen = new Map()
    const running = new Map<number, number>()
    for (const { pid, lastStatement } of listeners) {
      const known = before.get(pid)
      const same = lastStatement !== null && known?.lastStatement === lastStatement
      const endsAt = same ? known.endsAt : now + this.#lease + tolerance
      this.#seen.set(pid, { lastStatement, endsAt })
      if (endsAt > now) running.set(pid, endsAt)
    }
    return running
  }
}

/** The wait for processes to confirm, each until the end of its lease. */
export class Wait {
  readonly #over = Promise.withResolvers<void>()
  /** By process that has not confirmed: ends its wait. */
  readonly #timers: Map<number, NodeJS.Timeout>

  /** @param ends by `pid`, in milliseconds of `performance.now()`; at least one */
  constructor(ends: ReadonlyMap<number, number>) {
    // A timer may fire a part of a millisecond early.
    const wait = (endsAt: number): number => Math.ceil(endsAt - performance.now()) + 1
    this.#timers = new Map(
      [...ends].map(([pid, endsAt]) => [pid, setTimeout(() => this.confirmed(pid), wait(endsAt))]),
    )
  }

  /** Resolves when each has confirmed, or its lease has ended. */
  get over(): Promise<void> {
    return this.#over.promise
  }

  confirmed(pid: number): void {
    clearTimeout(this.#timers.get(pid))
    if (this.#timers.delete(pid) && this.#timers.size === 0) this.#over.resolve()
  }

  end(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
  }
}
