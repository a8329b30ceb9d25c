import { PubSub, type ClientConfig } from '@google-cloud/pubsub'
import type { DestinationDeclaration } from 'postern'

const topicName = /^projects\/[a-z][a-z0-9.:-]{4,62}\/topics\/[A-Za-z][\w.~+%-]{2,254}$/
/** INVALID_ARGUMENT of gRPC: a fault of the message. All others may be fixed before the next attempt. */
const invalidArgument = 3
/** Postern retries, so the client does not. The time-out is in milliseconds. */
const gaxOpts = { timeout: 10_000, retry: { retryCodes: [] } }

/** Delivers to Google Pub/Sub. `options` are those of the client. Without credentials it uses the application's default ones. */
export function pubsub(options: ClientConfig = {}): DestinationDeclaration {
  let client: PubSub | undefined
  return {
    title: 'Google Pub/Sub',
    fields: {
      topic: { label: 'Topic', required: true, description: 'projects/my-project/topics/orders' },
      orderBy: { label: 'Ordering key', description: 'Field of the event, such as data.order.id' },
    },
    validate: ({ topic, orderBy }) => {
      if (typeof topic !== 'string' || !topicName.test(topic))
        throw new Error('topic must be like projects/my-project/topics/orders')
      if (orderBy !== undefined && typeof orderBy !== 'string') throw new Error('orderBy must be a string')
    },
    async deliver({ type, payload, headers }, { settings }) {
      client ??= new PubSub(options)
      const orderingKey = valueAt(payload, settings['orderBy'])
      // A topic object stops an ordering key after an error, so each attempt has its own.
      const topic = client.topic(settings['topic'] as string, {
        messageOrdering: orderingKey !== undefined,
        batching: { maxMessages: 1 },
        gaxOpts,
      })
      try {
        const messageId = await topic.publishMessage({
          data: payload,
          attributes: { 'event-type': type, ...headers },
          ...(orderingKey !== undefined && { orderingKey }),
        })
        return { messageId }
      } catch (error) {
        const { code, message } = error as Error & { code?: unknown }
        throw code === invalidArgument ? Object.assign(new Error(message), { permanent: true }) : error
      }
    },
    close: () => client?.close(),
  }
}

/** The string or number at a path of a JSON body. */
function valueAt(body: Buffer, path: unknown): string | undefined {
  if (typeof path !== 'string') return undefined
  let value: unknown = JSON.parse(body.toString())
  for (const name of path.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[name]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}
