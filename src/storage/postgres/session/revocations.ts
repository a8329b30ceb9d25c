import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Revocations, Tx } from '../../database.ts'
import { millisecondsSince, thisMoment, type Moment } from '../../moment.ts'
import { ListenerLeases, Wait, type Listener } from './listener-leases.ts'
import type { ListeningSession, Session } from './listening-session.ts'

const channel = 'postern_revocations'
/** Milliseconds that an answer on the listening connection proves that nothing was missed. */
const lease = 2_000
/** Milliseconds after which the proof is renewed, at the next use. */
const renewAfter = 500
/** The shared advisory lock that the session of each listener holds, so that listeners can be counted. */
const lockKeys = [7_226, 2] as const

/**
 * The connections that hold the lock, and the last statement that each of them began; null where this account may not see
 * that, or the server does not track it.
 */
const findListeners = `
  select pid as connection, (backend_start, query_start)::text as statement
  from pg_locks left join lateral (
    select backend_start, query_start from pg_stat_activity a where a.pid = pg_locks.pid and query_start is not null
  ) activity on true
  where locktype = 'advisory' and objsubid = 2 and granted and classid = $1 and objid = $2
    and database = (select oid from pg_database where datname = current_database())`

/**
 * Announcements travel by NOTIFY within the transaction that they belong to, so none is lost and none comes of work that
 * was rolled back. Two rules make "at once" true for every process:
 * - What a process keeps counts only while its listening connection has answered within the lease. PostgreSQL delivers
 *   what is due before it answers, so an answer proves that everything committed before the question was heard.
 * - Who announced waits until every listening connection has confirmed, or until the lease of one that does not answer
 *   has run out. A process proves itself by a statement on that connection: as long as the server shows no new one there, its
 *   lease goes on running out, however many announcements are made. So a process that stalls is waited for once.
 *
 * Only the server knows who listens. Where it ended a session, and the process cannot be told since its path is silent, too, nobody
 * waits for that process, and it goes on for what is left of its lease: two seconds at most.
 */
export class PostgresRevocations implements Revocations {
  readonly #pool: pg.Pool
  readonly #listening: ListeningSession
  readonly #onError: (error: Error) => void
  readonly #name = randomUUID()
  readonly #listeners: ((subject: string | undefined) => void)[] = []
  readonly #announced = new WeakMap<Tx, string[]>()
  /** By question: told of the listening connections that confirm. */
  readonly #awaiting = new Map<string, (connection: number) => void>()
  readonly #leases = new ListenerLeases(lease)
  /** Set while it listens and is counted. */
  #session: Session | undefined
  /** How the server names the connection of the session. */
  #connection: number | undefined
  #started = false
  #proving = false
  #provenAt: Moment | undefined

  constructor(pool: pg.Pool, listening: ListeningSession, onError: (error: Error) => void) {
    this.#pool = pool
    this.#listening = listening
    this.#onError = onError
  }

  listen(listener: (subject: string | undefined) => void): void {
    this.#listeners.push(listener)
  }

  /** It begins to listen at the first question: a process that keeps nothing need not be waited for. */
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

  /** What is kept is not so any more, without an announcement: the database was taken back to an earlier state. */
  forgetAll(): void {
    this.#tell(undefined)
  }

  async announce(tx: Tx, subject: string): Promise<void> {
    await sql`select pg_notify(${channel}, ${`-${subject}`})`.execute(tx)
    const subjects = this.#announced.get(tx)
    if (subjects) subjects.push(subject)
    else this.#announced.set(tx, [subject])
  }

  /** After the commit of a transaction: resolves once what it announced counts in every process. */
  async heard(tx: Tx): Promise<void> {
    const subjects = this.#announced.get(tx)
    if (!subjects) return
    for (const subject of subjects) this.#tell(subject)
    try {
      await this.#confirmed()
    } catch (error) {
      // It is committed. A process that could not be asked stops using what it keeps when its lease is over.
      this.#onError(error as Error)
      await new Promise((resolve) => setTimeout(resolve, lease))
    }
  }

  async #confirmed(): Promise<void> {
    const { rows } = await this.#pool.query<Listener>(findListeners, [...lockKeys])
    const others = rows.filter(({ connection }) => !this.#session || connection !== this.#connection)
    const leases = this.#leases.of(others, performance.now())
    if (leases.size === 0) return
    const question = randomUUID()
    const wait = new Wait(leases)
    this.#awaiting.set(question, (connection) => wait.confirmed(connection))
    try {
      const asked = this.#pool.query('select pg_notify($1, $2)', [channel, `?${question}`])
      await Promise.race([wait.over, asked.then(() => wait.over)])
    } finally {
      wait.end()
      this.#awaiting.delete(question)
    }
  }

  #tell(subject: string | undefined): void {
    for (const listener of this.#listeners) listener(subject)
  }

  /** @param from the connection that sent it */
  #hear(payload: string, session: Session, from: number): void {
    const text = payload.slice(1)
    if (payload.startsWith('-')) this.#tell(text)
    else if (payload.startsWith('?')) {
      session
        .query('select pg_notify($1, $2)', [channel, `!${text} ${this.#name}`])
        .catch((error: Error) => this.#listening.broken(session, error))
    } else if (payload.startsWith('!')) {
      const [question = ''] = text.split(' ')
      this.#awaiting.get(question)?.(from)
    }
  }

  /** It listens by now: a listener that is counted confirms. */
  async #open(session: Session): Promise<void> {
    const { rows } = await session.query<{ connection: number }>(
      'select pg_backend_pid() as connection, pg_advisory_lock_shared($1, $2)',
      [...lockKeys],
    )
    this.#connection = rows[0]!.connection
    // What was announced while nobody listened here is not known: nothing that was read before may be kept.
    this.#tell(undefined)
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
