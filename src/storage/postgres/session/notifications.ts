import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import type { Signal, Topic } from '../../database.ts'
import { LocalSignals } from '../../signals.ts'
import type { ListeningSession } from './listening-session.ts'

/** The channel of signals and topics. */
export const channel = 'postern'
/** NOTIFY takes a lock that every notifying commit shares: at most one per name in this many milliseconds. */
const pause = 20
/** Each such notification wakes all processes, and has one of them read. A subscriber gets the first event at once anyhow. */
const lanePause = 100
/** Its commit does not wait for the disk: what a crash of the server loses is a wake-up, and all sessions begin anew. */
const notifyStatement = `select pg_notify($1, $2) where set_config('synchronous_commit', 'off', true) = 'off'`
/** Ids that one notification names: it may have 8,000 bytes. */
const mostIds = 150

/**
 * Wakes the workers of other processes by LISTEN and NOTIFY, and this process's own at once. It is a wake-up only: what
 * is to be done lies in tables, and listeners poll as well, so a lost notification costs time and nothing else.
 */
export class Notifications {
  readonly #local = new LocalSignals()
  readonly #pool: pg.Pool
  readonly #session: ListeningSession
  readonly #onError: (error: Error) => void
  readonly #scheduled = new Map<string, NodeJS.Timeout>()
  readonly #sentAt = new Map<string, number>()
  /** Our own notifications come back: what is told is for the others. */
  readonly #name = randomBytes(8).toString('hex')
  readonly #untold = new Map<Topic, Set<string>>()
  readonly #hearers = new Map<string, Set<(id: string) => void>>()
  #listening = false
  #closed = false

  constructor(pool: pg.Pool, session: ListeningSession, onError: (error: Error) => void) {
    this.#pool = pool
    this.#session = session
    this.#onError = onError
  }

  /** At once, unless the last one was sent just now. */
  send(name: Signal): void {
    this.#local.emit(name)
    this.#schedule(name, () => name)
  }

  here(name: Signal): boolean {
    return this.#local.emit(name)
  }

  others(name: Signal): void {
    this.#schedule(`${name}:`, () => `${name}:${this.#name}`)
  }

  /** Tells the other processes of an id, together with what else is told of just now. */
  tell(topic: Topic, id: string): void {
    const ids = this.#untold.get(topic) ?? new Set()
    this.#untold.set(topic, ids.add(id))
    this.#schedule(topic, () => this.#gathered(topic, ids))
  }

  #gathered(topic: Topic, ids: Set<string>): string {
    const some = [...ids].slice(0, mostIds)
    for (const id of some) ids.delete(id)
    if (ids.size > 0) this.#schedule(topic, () => this.#gathered(topic, ids))
    return [`${topic}:${this.#name}`, ...some].join(' ')
  }

  #schedule(name: string, payload: () => string): void {
    if (this.#closed || this.#scheduled.has(name)) return
    const between = name === 'lane' ? lanePause : pause
    const rest = (this.#sentAt.get(name) ?? Number.NEGATIVE_INFINITY) + between - performance.now()
    if (rest <= 0) return this.#notify(name, payload)
    const timer = setTimeout(() => {
      this.#scheduled.delete(name)
      this.#notify(name, payload)
    }, rest)
    timer.unref()
    this.#scheduled.set(name, timer)
  }

  #notify(name: string, payload: () => string): void {
    this.#sentAt.set(name, performance.now())
    this.#pool
      .query({ name: 'notify', text: notifyStatement, values: [channel, payload()] })
      .catch(this.#onError)
  }

  /** The session that listens is made when somebody first asks for it. */
  on(name: Signal, listener: () => void): () => void {
    this.#startListening()
    return this.#local.on(name, listener)
  }

  /** What other processes tell. */
  onTold(topic: Topic, listener: (id: string) => void): () => void {
    this.#startListening()
    const listeners = this.#hearers.get(topic) ?? new Set()
    this.#hearers.set(topic, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  #startListening(): void {
    if (this.#listening) return
    this.#listening = true
    this.#session.join({ name: channel, hear: (payload) => this.#hear(payload) })
  }

  #hear(payload: string): void {
    const [about = '', ...ids] = payload.split(' ')
    const [topic = '', teller] = about.split(':')
    if (teller === undefined) return void this.#local.emit(payload as Signal)
    if (teller === this.#name) return
    if (ids.length === 0) return void this.#local.emit(topic as Signal)
    for (const listener of this.#hearers.get(topic) ?? []) for (const id of ids) listener(id)
  }

  close(): void {
    this.#closed = true
    for (const timer of this.#scheduled.values()) clearTimeout(timer)
  }
}
