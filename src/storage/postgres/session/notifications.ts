import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import type { Signal, Topic } from '../../database.ts'
import { LocalSignals } from '../../signals.ts'
import type { ListeningSession } from './listening-session.ts'

/** The channel of signals and topics. */
export const channel = 'postern'
/** Milliseconds between two notifications of one name, because all commits with NOTIFY share a lock. */
const pause = 20
/** The same for subscriber queues. Each notification makes all processes read; new events are passed on in memory anyway. */
const queuePause = 100
/** Its commit does not wait for the disk: a crash of the server loses a wake-up only, and ends all sessions. */
const notifyStatement = `select pg_notify($1, $2) where set_config('synchronous_commit', 'off', true) = 'off'`
/** Ids in one notification, whose payload may have 8,000 bytes. */
const mostIds = 150

/**
 * Wakes the workers of other processes by LISTEN and NOTIFY, and those of this process at once. The work itself is in tables, and
 * listeners also poll, so a lost notification costs only time.
 *
 * Payloads: `signal`, for all processes; `signal:sender`, for all but the sender; `topic:sender id …`.
 */
export class Notifications {
  readonly #local = new LocalSignals()
  readonly #pool: Pool
  readonly #session: ListeningSession
  readonly #onError: (error: Error) => void
  readonly #scheduled = new Map<string, NodeJS.Timeout>()
  readonly #sentAt = new Map<string, number>()
  /** Identifies this process, which hears its own notifications. */
  readonly #sender = randomBytes(8).toString('hex')
  readonly #unsentIds = new Map<Topic, Set<string>>()
  readonly #topicListeners = new Map<string, Set<(id: string) => void>>()
  #isListening = false
  #isClosed = false

  constructor(pool: Pool, session: ListeningSession, onError: (error: Error) => void) {
    this.#pool = pool
    this.#session = session
    this.#onError = onError
  }

  /** Wakes the listeners of all processes: at once, or after a pause since the last time. */
  send(name: Signal): void {
    this.#local.emit(name)
    this.#schedule(name, () => name)
  }

  /** Wakes the listeners of this process. Returns whether there are any. */
  here(name: Signal): boolean {
    return this.#local.emit(name)
  }

  /** Wakes the listeners of the other processes. */
  others(name: Signal): void {
    this.#schedule(`${name}:`, () => `${name}:${this.#sender}`)
  }

  /** Sends an id to the other processes, together with other recent ids of the topic. */
  publish(topic: Topic, id: string): void {
    const ids = this.#unsentIds.get(topic) ?? new Set()
    this.#unsentIds.set(topic, ids.add(id))
    this.#schedule(topic, () => this.#payloadOf(topic, ids))
  }

  /** The session connects when the first listener is added. */
  on(name: Signal, listener: () => void): () => void {
    this.#startListening()
    return this.#local.on(name, listener)
  }

  /** Calls `listener` with the ids that other processes send. */
  onPublished(topic: Topic, listener: (id: string) => void): () => void {
    this.#startListening()
    const listeners = this.#topicListeners.get(topic) ?? new Set()
    this.#topicListeners.set(topic, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  close(): void {
    this.#isClosed = true
    for (const timer of this.#scheduled.values()) clearTimeout(timer)
  }

  #payloadOf(topic: Topic, ids: Set<string>): string {
    const some = [...ids].slice(0, mostIds)
    for (const id of some) ids.delete(id)
    if (ids.size > 0) this.#schedule(topic, () => this.#payloadOf(topic, ids))
    return [`${topic}:${this.#sender}`, ...some].join(' ')
  }

  #schedule(name: string, payload: () => string): void {
    if (this.#isClosed || this.#scheduled.has(name)) return
    const between = name === 'subscriber_queue' ? queuePause : pause
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

  #startListening(): void {
    if (this.#isListening) return
    this.#isListening = true
    this.#session.join({ name: channel, hear: (payload) => this.#hear(payload) })
  }

  #hear(payload: string): void {
    const [head = '', ...ids] = payload.split(' ')
    const [name = '', sender] = head.split(':')
    if (sender === this.#sender) return
    if (ids.length === 0) return void this.#local.emit(name as Signal)
    for (const listener of this.#topicListeners.get(name) ?? []) for (const id of ids) listener(id)
  }
}
