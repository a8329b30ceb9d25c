import { accessSync, constants } from 'node:fs'
import type { Consumer, JetStreamClient, JetStreamManager } from '@nats-io/jetstream'
import type { NatsConnection, NodeConnectionOptions } from '@nats-io/transport-node'
import type { NatsSpoolSettings, NatsTls } from '../../config/spool-url.ts'

/** Milliseconds that a connection, and a request to JetStream, may take. */
export const answerWithin = 3_000
/** Milliseconds after which a message that was neither acknowledged nor given back is read again. */
const readAgainAfter = 30_000
/** JetStream counts in nanoseconds. */
const nanosecond = 1_000_000

/**
 * Codes of JetStream's permanent errors: not enabled for the account, not enough storage, configuration refused, name or subjects
 * in use, replicas without a cluster. https://github.com/nats-io/nats-server/blob/main/server/errors.json
 */
const lasting = new Set([10_039, 10_047, 10_052, 10_058, 10_065, 10_074])

/** The subjects of a stream: events, by their number in a message, and those that were set aside. */
export const subjectsOf = (stream: string) => ({
  events: (count: number | '*'): string => `${stream}.events.${count}`,
  aside: `${stream}.aside`,
})

/** A connection to JetStream, with the stream and its reader. */
export interface NatsLink {
  readonly connection: NatsConnection
  readonly client: JetStreamClient
  readonly manager: JetStreamManager
  readonly consumer: Consumer
}

/** A server or a stream that cannot be used as it is configured. */
export class NatsMisconfigured extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'NatsMisconfigured'
  }
}

/** Whether the stream or consumer does not exist, or no stream can. The driver does not export the classes of these errors. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Error &&
  /^(StreamNotFoundError|ConsumerNotFoundError|JetStreamNotEnabled)$/.test(error.name)

/** Connects. The driver is loaded only when it is needed. */
export async function connectToNats({
  servers,
  tls,
  credentials,
}: NatsSpoolSettings): Promise<NatsConnection> {
  const { AuthorizationError, connect } = await import('@nats-io/transport-node')
  for (const file of Object.values(tls ?? {})) checkReadable(file)
  try {
    return await connect({
      servers: [...servers],
      ...credentials,
      ...(tls && { tls: tlsOptions(tls) }),
      name: 'postern',
      timeout: answerWithin,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 500,
      // Detects a silent path after ten seconds.
      pingInterval: 5_000,
      maxPingOut: 2,
    })
  } catch (error) {
    if (error instanceof AuthorizationError)
      throw new NatsMisconfigured('NATS refuses the credentials', error)
    const distrust = distrustOf(error)
    if (distrust !== undefined) throw new NatsMisconfigured(`TLS to NATS: ${distrust}`, error)
    throw error
  }
}

function tlsOptions({ ca, cert, key }: NatsTls): NonNullable<NodeConnectionOptions['tls']> {
  return { ...(ca && { caFile: ca }), ...(cert && { certFile: cert }), ...(key && { keyFile: key }) }
}

function checkReadable(file: string): void {
  try {
    accessSync(file, constants.R_OK)
  } catch (error) {
    throw new NatsMisconfigured(`${file} cannot be read`, error)
  }
}

/**
 * Codes of node:tls for certificates of an untrusted authority or for another name. An expired one may be renewed meanwhile.
 * https://nodejs.org/api/tls.html#x509-certificate-error-codes
 */
const untrusted = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
])

/** Why the server cannot be trusted; undefined for other errors. */
function distrustOf(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; { cause } = cause)
    if (
      untrusted.has((cause as { code?: string }).code ?? '') ||
      /does not support 'tls'/.test(cause.message)
    )
      return cause.message
  return undefined
}

/** Connects, and creates the stream and its consumer unless they exist. @throws NatsMisconfigured if that is refused */
export async function openNatsLink(settings: NatsSpoolSettings): Promise<NatsLink> {
  const connection = await connectToNats(settings)
  try {
    const { JetStreamApiError, jetstreamManager } = await import('@nats-io/jetstream')
    try {
      const manager = await jetstreamManager(connection, { timeout: answerWithin })
      await ensureStream(manager, settings)
      const client = manager.jetstream()
      return { connection, client, manager, consumer: await ensureConsumer(manager, client, settings.stream) }
    } catch (error) {
      if (error instanceof JetStreamApiError && lasting.has(error.code))
        throw new NatsMisconfigured(`JetStream: ${error.message}`, error)
      throw error
    }
  } catch (error) {
    await connection.close()
    throw error
  }
}

async function ensureStream(manager: JetStreamManager, settings: NatsSpoolSettings): Promise<void> {
  const { DiscardPolicy, RetentionPolicy, StorageType } = await import('@nats-io/jetstream')
  const { stream: name, replicas, maxBytes } = settings
  const subjects = subjectsOf(name)
  const wanted = {
    subjects: [subjects.events('*'), subjects.aside],
    num_replicas: replicas,
    max_bytes: maxBytes,
  }
  const fixed = {
    retention: RetentionPolicy.Workqueue,
    storage: StorageType.File,
    // Refuses new messages instead of dropping old ones.
    discard: DiscardPolicy.New,
    max_age: 0,
  }
  try {
    const { config } = await manager.streams.info(name)
    if (
      config.retention !== fixed.retention ||
      config.storage !== fixed.storage ||
      config.discard !== fixed.discard
    )
      throw new NatsMisconfigured(
        `the stream ${name} exists for another purpose: choose another name (?stream=)`,
      )
    if (config.num_replicas !== replicas || config.max_bytes !== maxBytes)
      await manager.streams.update(name, { ...config, ...wanted })
  } catch (error) {
    if (!isMissing(error)) throw error
    await manager.streams.add({ name, ...wanted, ...fixed })
  }
}

async function ensureConsumer(
  manager: JetStreamManager,
  client: JetStreamClient,
  stream: string,
): Promise<Consumer> {
  const { AckPolicy } = await import('@nats-io/jetstream')
  const name = 'drainer'
  try {
    return await client.consumers.get(stream, name)
  } catch (error) {
    if (!isMissing(error)) throw error
    await manager.consumers.add(stream, {
      durable_name: name,
      ack_policy: AckPolicy.Explicit,
      ack_wait: readAgainAfter * nanosecond,
      // Two portions for each of eight processes.
      max_ack_pending: 16_000,
      filter_subject: subjectsOf(stream).events('*'),
    })
    return client.consumers.get(stream, name)
  }
}

export interface StreamContents {
  /** Waiting messages, and the events in them. */
  readonly messages: number
  readonly events: number
  /** When the oldest of them was stored, in milliseconds since 1970. */
  readonly oldest: number | undefined
  /** Events that the database refused. */
  readonly setAside: number
  /** Of the whole stream. */
  readonly bytes: number
}

/** The contents of a stream. The subjects contain the number of events in a message. */
export async function contentsOf(manager: JetStreamManager, stream: string): Promise<StreamContents> {
  const { state } = await manager.streams.info(stream, { subjects_filter: subjectsOf(stream).events('*') })
  let [events, messages] = [0, 0]
  for (const [subject, count] of Object.entries(state.subjects ?? {})) {
    messages += count
    events += count * countOf(subject)
  }
  const setAside = state.messages - messages
  let oldest: number | undefined
  if (messages > 0) {
    const first = setAside === 0 ? undefined : await firstEvent(manager, stream, state.first_seq)
    oldest = first ?? Date.parse(state.first_ts)
  }
  return { messages, events, oldest, setAside, bytes: state.bytes }
}

/** Other programs may have written subjects, too: what is no count of this service is taken for 1. */
function countOf(subject: string): number {
  const text = subject.slice(subject.lastIndexOf('.') + 1)
  return /^[1-9]\d{0,2}$/.test(text) ? Number(text) : 1
}

/** When the first event was stored, if messages that were set aside precede it. */
async function firstEvent(
  manager: JetStreamManager,
  stream: string,
  seq: number,
): Promise<number | undefined> {
  const next = { seq, next_by_subj: subjectsOf(stream).events('*') }
  return (await manager.streams.getMessage(stream, next))?.time.getTime()
}
