import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JsMsg } from '@nats-io/jetstream'
import type { MsgHdrs } from '@nats-io/transport-node'
import { Problem } from '../../errors.ts'
import type { NatsSpoolSettings } from '../../config/spool-url.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { Log } from '../../telemetry/log.ts'
import type { IncomingEvent } from '../queue/incoming.ts'
import { decodeEvents, encodeEvents } from '../queue/event-rows.ts'
import { answerWithin, contentsOf, isMissing, openNatsLink, subjectsOf, type NatsLink } from './nats-link.ts'
import { EventTooLarge, noPortion, type Portion, type Spool, type SpoolState } from './spool.ts'

/** Events and approximate bytes of one message; a larger event has a message of its own. */
const [mostEvents, mostBytes] = [100, 256 * 1024]
/** Bytes that the message's headers and the codec add to an event. */
export const aroundAnEvent = 1_024
/** Messages and approximate bytes of one read. */
const [mostMessages, readAtOnce] = [1_000, 8 * 1024 * 1024]
/**
 * Milliseconds from one message to the next if it has fewer events than `enough`: the next batch gathers meanwhile, because a message
 * costs the servers and the drain as much as many events. A single webhook does not wait.
 */
const [gather, enough] = [20, 24]
/**
 * Milliseconds for all tries to store a message, for one of them, and between two: while the servers elect a new leader, which
 * takes some seconds, tries are lost. Senders give up after 10 s.
 */
const [storedWithin, triedFor, pauseBetweenTries] = [7_000, 2_000, 200]
/** Milliseconds for which the state of the stream is cached. */
const stateFor = 1_000
/** Milliseconds until a message that this version cannot read is read again. */
const unreadableFor = 60_000
/** https://github.com/nats-io/nats-server/blob/main/server/errors.json: maximum bytes, messages or storage exceeded. */
const fullCodes = new Set([10_023, 10_028, 10_047, 10_077])

interface Known extends SpoolState {
  readonly messages: number
  readonly bytes: number
}

interface Read {
  readonly message: JsMsg
  readonly events: readonly IncomingEvent[]
}

/** A spool in a stream of NATS JetStream, shared by all processes with the same setting. */
export class NatsSpool implements Spool {
  readonly #settings: NatsSpoolSettings
  readonly #log: Log
  #link: Promise<NatsLink> | undefined
  #state: { at: number; known: Known } | undefined
  #changes = 0
  /** When the last batch was sent, by `performance.now`. */
  #sentAt = -Infinity
  /** Messages that were neither acknowledged nor given back. */
  #held = 0
  #closed = false

  constructor(settings: NatsSpoolSettings, log: Log) {
    this.#settings = settings
    this.#log = log
  }

  /**
   * Connects, and resolves with the bytes that a message may have.
   * @throws NatsMisconfigured; other errors, after which the next use tries again
   */
  async connect(): Promise<number> {
    const { connection } = await (this.#link ??= this.#open())
    return connection.info?.max_payload ?? 0
  }

  async append(events: readonly IncomingEvent[]): Promise<void> {
    await this.#gather(events.length)
    await this.#use(async (link) => {
      const most = (link.connection.info?.max_payload ?? 0) - aroundAnEvent
      const messages = [...messagesOf(events, Math.min(most, mostBytes))].map((part) => ({
        subject: subjectsOf(this.#settings.stream).events(part.length),
        data: encodeEvents(part),
      }))
      if (messages.some(({ data }) => data.length > most)) throw new EventTooLarge(most)
      await Promise.all(messages.map(({ subject, data }) => publish(link, subject, data)))
    })
    this.#forgetState()
  }

  async read(limit: number): Promise<Portion> {
    const { events, messages, bytes } = await this.#known()
    if (messages === 0) return noPortion
    // If all messages are alike, these have so many events and bytes.
    const share = Math.min(limit / events, readAtOnce / Math.max(1, bytes))
    const count = Math.min(messages, mostMessages, Math.max(1, Math.floor(share * messages)))
    const found = await this.#use(({ consumer }) => this.#fetch(consumer, count))
    const readable = found.flatMap((message) => this.#readable(message))
    this.#held += readable.length
    return {
      events: readable.flatMap(({ events }) => events),
      remove: () => this.#end(readable, acknowledge),
      release: () =>
        this.#end(readable, async (messages) => {
          for (const message of messages) message.nak()
        }),
    }
  }

  async setAside(event: IncomingEvent, reason: string): Promise<void> {
    const { headers } = await import('@nats-io/transport-node')
    const why = headers()
    why.set('Postern-Reason', reason.replaceAll(/\s+/g, ' ').slice(0, 500))
    const { aside } = subjectsOf(this.#settings.stream)
    await this.#use((link) => publish(link, aside, encodeEvents([event]), why))
  }

  state(): Promise<SpoolState> {
    return this.#known()
  }

  async close(): Promise<void> {
    this.#closed = true
    const link = await this.#link?.catch(() => undefined)
    await link?.connection.close()
  }

  async #known(): Promise<Known> {
    const now = performance.now()
    if (this.#state && now - this.#state.at < stateFor) return this.#state.known
    const changes = this.#changes
    const { stream, maxBytes } = this.#settings
    const known = await this.#use(async ({ manager }) => {
      const { messages, events, bytes, oldest } = await contentsOf(manager, stream)
      return { messages, events, bytes, oldest, full: bytes + mostBytes > maxBytes }
    })
    if (changes === this.#changes) this.#state = { at: now, known }
    return known
  }

  /** Waits if a small batch follows another one closely. */
  async #gather(count: number): Promise<void> {
    const rest = this.#sentAt + gather - performance.now()
    if (count < enough && rest > 0) await sleep(rest)
    this.#sentAt = performance.now()
  }

  #forgetState(): void {
    this.#changes += 1
    this.#state = undefined
  }

  /**
   * Fetches messages that were not read yet. A request for more than there are waits until it expires. The servers count messages that
   * were given back as read: these are fetched last, when this process holds none.
   */
  async #fetch(consumer: NatsLink['consumer'], count: number): Promise<JsMsg[]> {
    const { num_pending: unread } = await consumer.info()
    if (unread === 0 && this.#held > 0) return []
    const found: JsMsg[] = []
    const most = Math.min(count, unread || count)
    for await (const message of await consumer.fetch({ max_messages: most, expires: 1_000 }))
      found.push(message)
    return found
  }

  async #end(read: readonly Read[], how: (messages: readonly JsMsg[]) => Promise<void>): Promise<void> {
    this.#held -= read.length
    await this.#use(() => how(read.map(({ message }) => message)))
    this.#forgetState()
  }

  #readable(message: JsMsg): Read[] {
    try {
      return [{ message, events: decodeEvents(message.data) }]
    } catch (error) {
      this.#log.error(
        { err: error, sequence: message.seq },
        'a message of the spool cannot be read by this version',
      )
      message.nak(unreadableFor)
      return []
    }
  }

  /** Uses the connection, and opens it if there is none. */
  async #use<T>(work: (link: NatsLink) => Promise<T>): Promise<T> {
    if (this.#closed) throw new StorageUnavailable(new Error('the spool is closed'))
    const link = (this.#link ??= this.#open())
    try {
      return await work(await link)
    } catch (error) {
      // The stream was deleted: the next use creates it again.
      if (isMissing(error) && this.#link === link) {
        this.#link = undefined
        void (await link).connection.close()
      }
      throw await translate(error)
    }
  }

  async #open(): Promise<NatsLink> {
    try {
      const link = await openNatsLink(this.#settings)
      void link.connection.closed().then(() => (this.#link = undefined))
      return link
    } catch (error) {
      this.#link = undefined
      throw error
    }
  }
}

function* messagesOf(events: readonly IncomingEvent[], most: number): Generator<readonly IncomingEvent[]> {
  let part: IncomingEvent[] = []
  let bytes = 0
  for (const event of events) {
    const size = event.payload.length + event.headers.length + aroundAnEvent
    if (part.length > 0 && (part.length === mostEvents || bytes + size > most)) {
      yield part
      part = []
      bytes = 0
    }
    part.push(event)
    bytes += size
  }
  if (part.length > 0) yield part
}

/** Resolves once most servers have the message on their disks. Its id prevents duplicates of repeated tries. */
async function publish(
  { client, connection }: NatsLink,
  subject: string,
  data: Uint8Array,
  headers?: MsgHdrs,
): Promise<void> {
  const until = performance.now() + storedWithin
  const options = { msgID: randomUUID(), timeout: triedFor, ...(headers && { headers }) }
  for (;;) {
    try {
      await client.publish(subject, data, options)
      return
    } catch (error) {
      if (connection.isClosed() || performance.now() + triedFor > until || !(await mayPass(error)))
        throw error
      await sleep(pauseBetweenTries)
    }
  }
}

/** Whether a publication may succeed if it is tried again. */
async function mayPass(error: unknown): Promise<boolean> {
  const { JetStreamApiError } = await import('@nats-io/jetstream')
  return !(error instanceof JetStreamApiError)
}

/** Servers process the acknowledgements of a connection in order, so the answer to the last one covers all. */
async function acknowledge(messages: readonly JsMsg[]): Promise<void> {
  for (const message of messages.slice(0, -1)) message.ack()
  await messages.at(-1)?.ackAck({ timeout: answerWithin })
}

async function translate(error: unknown): Promise<unknown> {
  const { JetStreamApiError } = await import('@nats-io/jetstream')
  if (error instanceof EventTooLarge) return error
  if (error instanceof JetStreamApiError && fullCodes.has(error.apiError().err_code))
    return new Problem('overloaded', { retryAfter: 1 })
  return new StorageUnavailable(error)
}
