import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import pg from 'pg'
import type { Revocations, Tx } from '../database.ts'

const channel = 'postern_revocations'
/** Milliseconds that an answer on the listening connection proves that nothing was missed. */
const lease = 2_000
/** Milliseconds after which the proof is renewed, at the next use. */
const renewAfter = 500
const reconnectAfter = 1_000
/** The shared advisory lock that each listening connection holds, so that listeners can be counted. */
const lockKeys = [7_226, 2] as const

/**
 * Announcements travel by NOTIFY within the transaction that they belong to, so none is lost and none comes of work that
 * was rolled back. Two rules make "at once" true for every process:
 * - What a process keeps counts only while its listening connection has answered within the lease. PostgreSQL delivers
 *   what is due before it answers, so an answer proves that everything committed before the question was heard.
 * - Who announced waits until every listening connection has confirmed, or until the lease of one that does not answer
 *   has run out.
 */
export class PostgresRevocations implements Revocations {
  readonly #pool: pg.Pool
  readonly #url: string
  readonly #onError: (error: Error) => void
  readonly #name = randomUUID()
  readonly #listeners: ((subject: string | undefined) => void)[] = []
  readonly #announced = new WeakMap<Tx, string[]>()
  readonly #awaiting = new Map<string, (process: string) => void>()
  #client: pg.Client | undefined
  #ready = false
  #started = false
  #closed = false
  #proving = false
  #provenAt = Number.NEGATIVE_INFINITY
  #retry: NodeJS.Timeout | undefined

  constructor(pool: pg.Pool, url: string, onError: (error: Error) => void) {
    this.#pool = pool
    this.#url = url
    this.#onError = onError
  }

  listen(listener: (subject: string | undefined) => void): void {
    this.#listeners.push(listener)
  }

  /** The listening connection is made at the first question: a process that keeps nothing needs none. */
  get current(): boolean {
    if (!this.#started) {
      this.#started = true
      void this.#connect()
      return false
    }
    const age = performance.now() - this.#provenAt
    if (age > renewAfter) void this.#prove()
    return this.#ready && age < lease
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

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retry)
    await this.#client?.end().catch(this.#onError)
  }

  async #confirmed(): Promise<void> {
    const { rows } = await this.#pool.query<{ listeners: number }>(
      `select count(*)::int as listeners from pg_locks where locktype = 'advisory' and objsubid = 2 and granted
         and classid = $1 and objid = $2 and database = (select oid from pg_database where datname = current_database())`,
      [...lockKeys],
    )
    const listeners = rows[0]?.listeners ?? 0
    if (listeners - (this.#ready ? 1 : 0) <= 0) return
    const question = randomUUID()
    await new Promise<void>((resolve, reject) => {
      const confirmed = new Set<string>()
      const timer = setTimeout(resolve, lease)
      this.#awaiting.set(question, (process) => {
        confirmed.add(process)
        if (confirmed.size < listeners) return
        clearTimeout(timer)
        resolve()
      })
      this.#pool.query('select pg_notify($1, $2)', [channel, `?${question}`]).catch((error: Error) => {
        clearTimeout(timer)
        reject(error)
      })
    }).finally(() => this.#awaiting.delete(question))
  }

  #tell(subject: string | undefined): void {
    for (const listener of this.#listeners) listener(subject)
  }

  #hear(client: pg.Client, payload: string): void {
    const text = payload.slice(1)
    if (payload.startsWith('-')) this.#tell(text)
    else if (payload.startsWith('?')) {
      client.query('select pg_notify($1, $2)', [channel, `!${text} ${this.#name}`]).catch(this.#onError)
    } else if (payload.startsWith('!')) {
      const [question = '', process = ''] = text.split(' ')
      this.#awaiting.get(question)?.(process)
    }
  }

  async #connect(): Promise<void> {
    if (this.#closed) return
    const client = new pg.Client({
      connectionString: this.#url,
      keepAlive: true,
      connectionTimeoutMillis: 3_000,
      query_timeout: 2 * lease,
      application_name: 'postern-revocations',
    })
    this.#client = client
    let over = false
    const again = (error?: Error): void => {
      if (over) return
      over = true
      this.#ready = false
      this.#proving = false
      if (this.#closed) return
      if (error) this.#onError(error)
      client.end().catch(() => undefined)
      this.#retry = setTimeout(() => void this.#connect(), reconnectAfter)
      this.#retry.unref()
    }
    client.on('error', again)
    client.on('end', () => again())
    client.on('notification', ({ payload = '' }) => this.#hear(client, payload))
    try {
      await client.connect()
      // Listening first: whoever is counted confirms.
      await client.query(`listen ${channel}`)
      await client.query('select pg_advisory_lock_shared($1, $2)', [...lockKeys])
      // What was announced while nobody listened here is not known: nothing that was read before may be kept.
      this.#tell(undefined)
      this.#ready = true
      await this.#prove()
    } catch (error) {
      again(error as Error)
    }
  }

  async #prove(): Promise<void> {
    const client = this.#client
    if (!client || !this.#ready || this.#proving) return
    this.#proving = true
    const asked = performance.now()
    try {
      await client.query('select 1')
      if (this.#ready && client === this.#client) this.#provenAt = asked
    } catch (error) {
      client.emit('error', error)
    } finally {
      if (client === this.#client) this.#proving = false
    }
  }
}
