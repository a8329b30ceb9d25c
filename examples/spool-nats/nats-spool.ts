import { randomUUID } from 'node:crypto'
import {
  AckPolicy,
  DiscardPolicy,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type Consumer,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
} from '@nats-io/jetstream'
import { connect, headers, type NatsConnection, type NodeConnectionOptions } from '@nats-io/transport-node'
import type { Spool, SpoolEntry, SpoolSize } from 'postern'

export interface NatsSpoolOptions {
  /** How to connect: servers, credentials, TLS. See https://github.com/nats-io/nats.js/tree/main/transport-node. */
  connection: NodeConnectionOptions
  /** Default POSTERN_SPOOL. */
  stream?: string
  /** Servers that store each webhook before it is acknowledged, 1 to 5. Default 3; use 1 for a single server. */
  replicas?: number
  /** Size of the stream, in bytes, from which on webhooks get HTTP 503. Default 4 GiB. */
  maxBytes?: number
}

/** Milliseconds for a connection or a request. Postern waits eight seconds for a method. */
const timeout = 2_500
/** Bytes of one read, and room for one more batch, below which the stream counts as full. */
const [readBytes, room] = [8 * 1024 ** 2, 1024 ** 2]
/** Milliseconds after which another process reads what a dead one had read, and what JetStream counts in. */
const [readAgainAfter, nanosecond] = [30_000, 1_000_000]

interface Link {
  readonly connection: NatsConnection
  readonly client: JetStreamClient
  readonly manager: JetStreamManager
  readonly consumer: Consumer
}

/** A spool in a stream of NATS JetStream, shared by all processes with the same options. It connects at its first use. */
export function natsSpool(options: NatsSpoolOptions): Spool {
  return new NatsSpool(options)
}

class NatsSpool implements Spool {
  readonly #options: Required<NatsSpoolOptions>
  readonly #subjects: { webhooks: string; rejected: string }
  #link: Promise<Link> | undefined
  /** Messages that were read and not removed, by their number in the stream. */
  readonly #read = new Map<string, JsMsg>()

  constructor({
    stream = 'POSTERN_SPOOL',
    replicas = 3,
    maxBytes = 4 * 1024 ** 3,
    connection,
  }: NatsSpoolOptions) {
    this.#options = { stream, replicas, maxBytes, connection }
    this.#subjects = { webhooks: `${stream}.webhooks`, rejected: `${stream}.rejected` }
  }

  async append(contents: readonly Uint8Array[]): Promise<void> {
    const { client, connection } = await this.#connect()
    const most = connection.info?.max_payload ?? Infinity
    if (contents.some(({ length }) => length > most))
      throw new RangeError(`the server accepts messages of up to ${most} bytes (max_payload)`)
    // A server that answers has the message on a majority of the replicas. It syncs to disk by its own sync_interval.
    await Promise.all(contents.map((content) => publish(client, this.#subjects.webhooks, content)))
  }

  async read(limit: number): Promise<SpoolEntry[]> {
    const { consumer, manager } = await this.#connect()
    // Entries that were not removed are returned again.
    for (const message of this.#read.values()) message.nak()
    this.#read.clear()
    const { webhooks, messages, bytes } = await this.#contents(manager)
    if (webhooks === 0) return []
    const most = Math.max(1, Math.floor(readBytes / (bytes / messages)))
    // A request for more messages than there are would wait until it expires.
    const count = Math.min(limit, webhooks, most)
    for await (const message of await consumer.fetch({ max_messages: count, expires: 1_000 }))
      this.#read.set(String(message.seq), message)
    const inOrder = [...this.#read].toSorted(([, one], [, other]) => one.seq - other.seq)
    return inOrder.map(([id, { data }]) => ({ id, content: data }))
  }

  async remove(ids: readonly string[], rejected?: string): Promise<void> {
    const { client } = await this.#connect()
    const messages = ids.flatMap((id) => this.#read.get(id) ?? [])
    if (rejected !== undefined) {
      const reason = headers()
      reason.set('Postern-Reason', rejected.replaceAll(/\s+/g, ' ').slice(0, 500))
      const { rejected: subject } = this.#subjects
      await Promise.all(
        messages.map(({ data, seq }) =>
          publish(client, subject, data, { headers: reason, msgID: `rejected-${seq}` }),
        ),
      )
    }
    // The servers process the acknowledgements of a connection in order, so the answer to the last one covers all.
    for (const message of messages.slice(0, -1)) message.ack()
    await messages.at(-1)?.ackAck({ timeout })
    for (const id of ids) this.#read.delete(id)
  }

  async size(): Promise<SpoolSize> {
    const { manager } = await this.#connect()
    const { webhooks, bytes } = await this.#contents(manager)
    const next = { seq: 0, next_by_subj: this.#subjects.webhooks }
    const first = webhooks > 0 ? await manager.streams.getMessage(this.#options.stream, next) : undefined
    return { entries: webhooks, oldest: first?.time, full: bytes + room > this.#options.maxBytes }
  }

  async close(): Promise<void> {
    const link = await this.#link?.catch(() => undefined)
    await link?.connection.close()
  }

  async #contents(manager: JetStreamManager): Promise<{ webhooks: number; messages: number; bytes: number }> {
    const { webhooks } = this.#subjects
    const { state } = await manager.streams.info(this.#options.stream, { subjects_filter: webhooks })
    return { webhooks: state.subjects?.[webhooks] ?? 0, messages: state.messages, bytes: state.bytes }
  }

  /** The connection, which is opened again after it failed. */
  async #connect(): Promise<Link> {
    this.#link ??= this.#open()
    try {
      return await this.#link
    } catch (error) {
      this.#link = undefined
      throw error
    }
  }

  async #open(): Promise<Link> {
    const connection = await connect({
      name: 'postern',
      timeout,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 500,
      ...this.#options.connection,
    })
    try {
      const manager = await jetstreamManager(connection, { timeout })
      await this.#ensureStream(manager)
      const client = manager.jetstream()
      const consumer = await client.consumers.get(this.#options.stream, 'drainer')
      void connection.closed().then(() => {
        this.#link = undefined
        this.#read.clear()
      })
      return { connection, client, manager, consumer }
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  /** Creates the stream and its consumer, or corrects settings that lose webhooks. It rejects if they cannot be corrected. */
  async #ensureStream(manager: JetStreamManager): Promise<void> {
    const { stream: name, replicas, maxBytes } = this.#options
    const stream = {
      subjects: Object.values(this.#subjects),
      retention: RetentionPolicy.Workqueue,
      storage: StorageType.File,
      // Rejects new messages instead of dropping old ones.
      discard: DiscardPolicy.New,
      num_replicas: replicas,
      max_bytes: maxBytes,
      max_age: 0,
      max_msgs: -1,
      max_msgs_per_subject: -1,
    }
    if (await isThere(manager.streams.info(name))) await manager.streams.update(name, stream)
    else await manager.streams.add({ name, ...stream })
    const consumer = {
      filter_subject: this.#subjects.webhooks,
      ack_policy: AckPolicy.Explicit,
      ack_wait: readAgainAfter * nanosecond,
      max_ack_pending: 16_000,
      max_deliver: -1,
    }
    // It also updates a consumer that exists.
    await manager.consumers.add(name, { durable_name: 'drainer', ...consumer })
  }
}

/** Whether a stream exists. */
async function isThere(info: Promise<unknown>): Promise<boolean> {
  try {
    await info
    return true
  } catch (error) {
    if (error instanceof Error && error.name === 'StreamNotFoundError') return false
    throw error
  }
}

/** Tries again while the servers elect a leader. The message ID prevents duplicates. */
async function publish(
  client: JetStreamClient,
  subject: string,
  data: Uint8Array,
  options: Partial<Parameters<JetStreamClient['publish']>[2]> = {},
): Promise<void> {
  const given = { msgID: randomUUID() as string, timeout, ...options }
  try {
    await client.publish(subject, data, given)
  } catch (error) {
    if (error instanceof Error && error.name === 'JetStreamApiError') throw error
    await client.publish(subject, data, given)
  }
}
