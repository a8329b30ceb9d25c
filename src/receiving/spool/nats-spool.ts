import { setTimeout as sleep } from 'node:timers/promises'
import type { JsMsg } from '@nats-io/jetstream'
import type { NatsSpoolSettings } from '../../config/spool-url.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { Log } from '../../telemetry/log.ts'
import type { IncomingEvent } from '../queue/incoming.ts'
import { encodeEvents } from '../queue/event-rows.ts'
import { EntryAuthentication } from './entry-authentication.ts'
import { isMissing } from './nats-errors.ts'
import { openNatsLink, type NatsLink } from './nats-link.ts'
import { readMessages, unreadableFor, type Read } from './read-messages.ts'
import { EventTooLarge, noPortion, type Portion, type Spool, type SpoolState } from './spool.ts'
import { contentsOf, subjectsOf } from './stream-contents.ts'
import { acknowledge, aroundAnEvent, messagesOf, mostBytes, publish, translate } from './stream-messages.ts'

/** Messages and approximate bytes of one read. */
const [mostMessages, readAtOnce] = [1_000, 8 * 1024 * 1024]
/**
 * Milliseconds from one message to the next if it has fewer events than `enough`: the next batch gathers meanwhile, because a message
 * costs the servers and the drain as much as many events. A single webhook does not wait.
 */
const [gather, enough] = [20, 24]
/** Milliseconds for which the state of the stream is cached. */
const stateFor = 1_000
/** Reads in a row without an event of this service, after which others have their turn. */
const mostReads = 100

interface Known extends SpoolState {
  readonly messages: number
  readonly bytes: number
}

/** A spool in a stream of NATS JetStream, shared by all processes with the same setting. */
export class NatsSpool implements Spool {
  readonly #settings: NatsSpoolSettings
  readonly #log: Log
  readonly #authentication: EntryAuthentication
  #link: Promise<NatsLink> | undefined
  #state: { at: number; known: Known } | undefined
  #changes = 0
  /** When the last batch was sent, by `performance.now`. */
  #sentAt = -Infinity
  /** Messages that were neither acknowledged nor given back. */
  #held = 0
  #closed = false

  constructor(settings: NatsSpoolSettings, { keyring, log }: { keyring: Keyring; log: Log }) {
    this.#settings = settings
    this.#log = log
    this.#authentication = new EntryAuthentication(keyring, settings.stream)
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
        data: this.#encode(part),
      }))
      if (messages.some(({ data }) => data.length > most)) throw new EventTooLarge(most)
      await Promise.all(messages.map((message) => publish(link, message)))
    })
    this.#forgetState()
  }

  async read(limit: number): Promise<Portion> {
    const { events, messages, bytes } = await this.#known()
    if (messages === 0) return noPortion
    // If all messages are alike, these have so many events and bytes.
    const share = Math.min(limit / events, readAtOnce / Math.max(1, bytes))
    const count = Math.min(messages, mostMessages, Math.max(1, Math.floor(share * messages)))
    let readable: Read[] = []
    for (let reads = 0; readable.length === 0 && reads < mostReads; reads += 1) {
      const found = await this.#use(({ consumer }) => this.#fetch(consumer, count))
      if (found.length === 0) return noPortion
      readable = await this.#ownOf(found)
    }
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
    await this.#setDataAside(this.#encode([event]), reason)
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

  /** The messages that this service wrote. What another program wrote is no verified webhook: it is refused. */
  async #ownOf(found: readonly JsMsg[]): Promise<Read[]> {
    const { own, forged } = readMessages(found, { authentication: this.#authentication, log: this.#log })
    if (forged.length > 0) {
      await Promise.all(forged.map((message) => this.#refuse(message)))
      this.#forgetState()
    }
    return own
  }

  async #refuse(message: JsMsg): Promise<void> {
    try {
      await this.#setDataAside(message.data, 'not written by this service', `refused-${message.seq}`)
      message.ack()
    } catch (error) {
      // The stream may be full. The messages of this service make room.
      this.#log.warn({ err: error, sequence: message.seq }, 'a rejected message could not be set aside')
      message.nak(unreadableFor)
    }
  }

  #encode(events: readonly IncomingEvent[]): Uint8Array {
    return this.#authentication.sign(encodeEvents(events))
  }

  /** @param id prevents a duplicate if the message is read again. */
  async #setDataAside(data: Uint8Array, reason: string, id?: string): Promise<void> {
    const { headers } = await import('@nats-io/transport-node')
    const why = headers()
    why.set('Postern-Reason', reason.replaceAll(/\s+/g, ' ').slice(0, 500))
    const { aside } = subjectsOf(this.#settings.stream)
    await this.#use((link) => publish(link, { subject: aside, data }, { headers: why, id }))
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
