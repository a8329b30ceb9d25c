import { Kafka, type KafkaConfig, type Producer } from 'kafkajs'
import type { DestinationDeclaration } from 'postern'

const topicName = /^(?!\.{1,2}$)[\w.-]{1,249}$/
/** MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE and INVALID_RECORD. All others may be fixed before the next attempt. */
const permanentErrors = new Set([10, 18, 87])
/** Milliseconds that the broker has to store an event on all in-sync replicas. */
const timeout = 10_000

/** Delivers to topics of one Kafka cluster. `options` are those of the client: brokers, TLS, SASL. */
export function kafka(options: KafkaConfig): DestinationDeclaration {
  // Postern retries.
  const client = new Kafka({ requestTimeout: timeout, ...options, retry: { retries: 0 } })
  let connection: Promise<Producer> | undefined
  async function connect(): Promise<Producer> {
    const producer = client.producer({ allowAutoTopicCreation: false })
    await producer.connect()
    return producer
  }
  async function producer(): Promise<Producer> {
    // Once connected, the client reconnects by itself.
    connection ??= connect()
    try {
      return await connection
    } catch (error) {
      connection = undefined
      throw error
    }
  }
  return {
    title: 'Kafka',
    fields: {
      topic: { label: 'Topic', required: true },
      keyBy: { label: 'Key', description: 'Field of the event, such as data.order.id. Default: id' },
    },
    validate: ({ topic, keyBy }) => {
      if (typeof topic !== 'string' || !topicName.test(topic))
        throw new Error('topic must be the name of a topic')
      if (keyBy !== undefined && typeof keyBy !== 'string') throw new Error('keyBy must be a string')
    },
    async deliver({ id, type, payload, headers }, { settings }) {
      const message = {
        key: valueAt(payload, settings['keyBy']) ?? id,
        value: payload,
        headers: { 'event-type': type, ...headers },
      }
      try {
        const stored = await (
          await producer()
        ).send({ topic: settings['topic'] as string, acks: -1, timeout, messages: [message] })
        return { partition: stored[0]?.partition, offset: stored[0]?.baseOffset }
      } catch (error) {
        const { code, message: text } = error as Error & { code?: unknown }
        throw permanentErrors.has(code as number)
          ? Object.assign(new Error(text), { permanent: true })
          : error
      }
    },
    close: async () => (await connection)?.disconnect(),
  }
}

/** The string or number at a path of a JSON body. */
function valueAt(body: Buffer, path: unknown): string | undefined {
  if (typeof path !== 'string') return undefined
  let value: unknown = JSON.parse(body.toString())
  for (const name of path.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[name]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}
