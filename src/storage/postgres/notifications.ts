import pg from 'pg'
import type { Signal } from '../database.ts'
import { LocalSignals } from '../signals.ts'

const channel = 'postern'
/** NOTIFY takes a lock that every notifying commit shares: at most one per name in this many milliseconds. */
const pause = 20
const reconnectAfter = 1_000

/**
 * Wakes the workers of other processes by LISTEN and NOTIFY, and this process's own at once. It is a wake-up only: what
 * is to be done lies in tables, and listeners poll as well, so a lost notification costs time and nothing else.
 */
export class Notifications {
  readonly #local = new LocalSignals()
  readonly #pool: pg.Pool
  readonly #url: string
  readonly #onError: (error: Error) => void
  readonly #scheduled = new Map<Signal, NodeJS.Timeout>()
  readonly #sentAt = new Map<Signal, number>()
  #listener: pg.Client | undefined
  #listening = false
  #retry: NodeJS.Timeout | undefined
  #closed = false

  constructor(pool: pg.Pool, url: string, onError: (error: Error) => void) {
    this.#pool = pool
    this.#url = url
    this.#onError = onError
  }

  /** At once, unless the last one was sent just now. */
  send(name: Signal): void {
    this.#local.emit(name)
    if (this.#closed || this.#scheduled.has(name)) return
    const rest = (this.#sentAt.get(name) ?? Number.NEGATIVE_INFINITY) + pause - performance.now()
    if (rest <= 0) return this.#notify(name)
    const timer = setTimeout(() => {
      this.#scheduled.delete(name)
      this.#notify(name)
    }, rest)
    timer.unref()
    this.#scheduled.set(name, timer)
  }

  #notify(name: Signal): void {
    this.#sentAt.set(name, performance.now())
    this.#pool.query('select pg_notify($1, $2)', [channel, name]).catch(this.#onError)
  }

  /** The connection that listens is made when somebody first asks for it. */
  on(name: Signal, listener: () => void): () => void {
    if (!this.#listening) {
      this.#listening = true
      void this.#listen()
    }
    return this.#local.on(name, listener)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retry)
    for (const timer of this.#scheduled.values()) clearTimeout(timer)
    await this.#listener?.end().catch(this.#onError)
  }

  async #listen(): Promise<void> {
    if (this.#closed) return
    const client = new pg.Client({
      connectionString: this.#url,
      keepAlive: true,
      application_name: 'postern-listen',
    })
    let ended = false
    const again = (error?: Error): void => {
      if (ended) return
      ended = true
      if (this.#closed) return
      if (error) this.#onError(error)
      client.end().catch(() => undefined)
      this.#retry = setTimeout(() => void this.#listen(), reconnectAfter)
    }
    client.on('error', again)
    client.on('end', () => again())
    client.on('notification', ({ payload }) => this.#local.emit(payload as Signal))
    this.#listener = client
    try {
      await client.connect()
      await client.query(`listen ${channel}`)
    } catch (error) {
      again(error as Error)
    }
  }
}
