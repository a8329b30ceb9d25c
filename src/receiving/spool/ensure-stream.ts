import { isDeepStrictEqual } from 'node:util'
import type { Consumer, JetStreamClient, JetStreamManager } from '@nats-io/jetstream'
import type { NatsSpoolSettings } from '../../config/spool-url.ts'
import { isMissing, NatsMisconfigured } from './nats-errors.ts'
import { subjectsOf } from './stream-contents.ts'

/** Milliseconds after which a message that was neither acknowledged nor given back is read again. */
const readAgainAfter = 30_000
/** JetStream counts in nanoseconds. */
const nanosecond = 1_000_000
/** The name of the consumer. */
const reader = 'drainer'

/** Settings of a stream that drop or refuse events, or change their subjects. Without them, only `max_bytes` limits it. */
const unlimited = {
  max_age: 0,
  max_msgs: -1,
  max_msgs_per_subject: -1,
  discard_new_per_subject: false,
  max_msg_size: -1,
  no_ack: false,
}
/** Settings of a consumer that lose the contents of messages, or leave messages unread. */
const readsAll = {
  max_deliver: -1,
  backoff: [],
  headers_only: false,
  max_batch: 0,
  max_expires: 0,
  max_bytes: 0,
}

/**
 * Creates the stream, or repairs the settings of the one that exists.
 * @throws NatsMisconfigured if it exists and would lose events or belongs to another program
 */
export async function ensureStream(manager: JetStreamManager, settings: NatsSpoolSettings): Promise<void> {
  const { DiscardPolicy, RetentionPolicy, StorageType } = await import('@nats-io/jetstream')
  const { stream: name, replicas, maxBytes } = settings
  const subjects = subjectsOf(name)
  const wanted = {
    ...unlimited,
    subjects: [subjects.events('*'), subjects.aside],
    num_replicas: replicas,
    max_bytes: maxBytes,
  }
  const fixed = {
    retention: RetentionPolicy.Workqueue,
    storage: StorageType.File,
    // Refuses new messages instead of dropping old ones.
    discard: DiscardPolicy.New,
  }
  const absent = { mirror: undefined, sources: undefined, subject_transform: undefined, sealed: false }
  try {
    const { config } = await manager.streams.info(name)
    const foreign = config.subjects?.filter((subject) => !wanted.subjects.includes(subject)) ?? []
    const faults = [...differences(config, { ...fixed, ...absent }), ...foreign]
    if (faults.length > 0)
      throw new NatsMisconfigured(
        `the stream ${name} exists for another purpose (${faults.join(', ')}): choose another name (?stream=)`,
      )
    if (differences(config, wanted).length === 0) return
    const repaired = await manager.streams.update(name, { ...config, ...wanted })
    const left = differences(repaired.config, wanted)
    if (left.length > 0)
      throw new NatsMisconfigured(
        `the stream ${name} keeps another ${left.join(', ')}: correct it, or choose another name (?stream=)`,
      )
  } catch (error) {
    if (!isMissing(error)) throw error
    await manager.streams.add({ name, ...wanted, ...fixed })
  }
}

/**
 * Creates the consumer that all processes read with, or repairs the settings of the one that exists.
 * @throws NatsMisconfigured if it exists and would lose events or leave them unread
 */
export async function ensureConsumer(
  manager: JetStreamManager,
  client: JetStreamClient,
  stream: string,
): Promise<Consumer> {
  const { AckPolicy, DeliverPolicy } = await import('@nats-io/jetstream')
  const fixed = {
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    filter_subject: subjectsOf(stream).events('*'),
  }
  const absent = { deliver_subject: undefined, filter_subjects: undefined }
  try {
    const { config } = await manager.consumers.info(stream, reader)
    let faults = differences(config, { ...fixed, ...absent })
    if (faults.length === 0 && differences(config, readsAll).length > 0) {
      const repaired = await manager.consumers.update(stream, reader, readsAll)
      faults = differences(repaired.config, readsAll)
    }
    if (faults.length > 0)
      throw new NatsMisconfigured(
        `the consumer ${reader} of the stream ${stream} has another ${faults.join(', ')}: delete it (nats consumer rm ${stream} ${reader}), and Postern creates it again`,
      )
  } catch (error) {
    if (!isMissing(error)) throw error
    await manager.consumers.add(stream, {
      durable_name: reader,
      ...fixed,
      ack_wait: readAgainAfter * nanosecond,
      // Two portions for each of eight processes.
      max_ack_pending: 16_000,
    })
  }
  return client.consumers.get(stream, reader)
}

/** The names of the settings that have other values than those wanted. A server may leave out what is off. */
function differences(config: object, wanted: object): string[] {
  const settings = new Map<string, unknown>(Object.entries(config))
  return Object.entries(wanted)
    .filter(([name, value]) => {
      const found = settings.get(name)
      return !(isOff(found) && isOff(value)) && !isDeepStrictEqual(found, value)
    })
    .map(([name]) => name)
}

function isOff(value: unknown): boolean {
  return !value || value === -1 || (Array.isArray(value) && value.length === 0)
}
