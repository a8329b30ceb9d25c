import { connect, type ChannelModel, type ConfirmChannel } from 'amqplib'
import type { DestinationContext, DestinationDeclaration } from 'postern'

interface Link {
  readonly connection: ChannelModel
  readonly channel: ConfirmChannel
  /** Messages that no queue got, by their correlation ID. */
  readonly returned: Set<string>
}

/** Milliseconds for a connection. */
const timeout = 5_000

/** Delivers to an exchange of RabbitMQ. A message is delivered when the broker has confirmed it. */
export function rabbitmq(): DestinationDeclaration {
  /** One connection for each endpoint, until its settings change. */
  const links = new Map<string, { settings: object; link: Promise<Link> }>()

  async function linkFor({ settings, secrets, subscriber }: DestinationContext): Promise<Link> {
    const known = links.get(subscriber.id)
    if (known?.settings === settings) return known.link
    void known?.link.then(({ connection }) => closeQuietly(connection)).catch(() => undefined)
    const forget = (): void => void (links.get(subscriber.id)?.link === link && links.delete(subscriber.id))
    const link: Promise<Link> = open(settings, secrets, forget)
    links.set(subscriber.id, { settings, link })
    link.catch(forget)
    return link
  }

  return {
    title: 'RabbitMQ',
    fields: {
      url: { label: 'Server', required: true, description: 'amqps://broker.example.com/vhost' },
      exchange: { label: 'Exchange', required: true },
      routingKey: { label: 'Routing key', description: 'Default: the type of the event' },
      user: { label: 'User', required: true },
      password: { label: 'Password', secret: true, required: true },
    },
    validate({ url, exchange, routingKey = '', user }) {
      if (typeof url !== 'string' || !URL.canParse(url) || !/^amqps?:$/.test(new URL(url).protocol))
        return 'url must be like amqps://broker.example.com/vhost'
      if (new URL(url).password !== '') return 'url must not contain the password, which is a secret'
      const isText = [exchange, routingKey, user].every(
        (text) => typeof text === 'string' && text.length <= 255,
      )
      return isText ? undefined : 'exchange, routingKey and user must be texts of up to 255 characters'
    },
    async deliver(event, context) {
      const { exchange, routingKey = event.type } = context.settings as Record<string, string>
      context.signal.throwIfAborted()
      const { channel, returned } = await unlessAborted(linkFor(context), context.signal)
      const correlationId = `${event.id} ${event.attempt}`
      const confirmed = new Promise<void>((resolve, reject) => {
        const options = {
          // Otherwise the broker confirms a message for which there is no queue, and drops it.
          mandatory: true,
          persistent: true,
          messageId: event.id,
          correlationId,
          type: event.type,
          contentType: 'application/json',
          headers: event.headers,
        }
        channel.publish(exchange!, routingKey, event.payload, options, (error: unknown) =>
          error instanceof Error ? reject(error) : resolve(),
        )
      })
      await unlessAborted(confirmed, context.signal)
      if (returned.delete(correlationId)) throw new Error(`no queue is bound for ${routingKey}`)
    },
    async close() {
      const opened = await Promise.allSettled([...links.values()].map(({ link }) => link))
      for (const one of opened) if (one.status === 'fulfilled') await closeQuietly(one.value.connection)
    },
  }
}

async function open(
  settings: DestinationContext['settings'],
  secrets: DestinationContext['secrets'],
  onClosed: () => void,
): Promise<Link> {
  const url = new URL(settings['url'] as string)
  url.username = encodeURIComponent(settings['user'] as string)
  url.password = encodeURIComponent(secrets['password'] ?? '')
  const connection = await connect(url.href, { timeout, clientProperties: { connection_name: 'postern' } })
  // Each error is followed by `close`.
  connection.on('error', () => undefined)
  connection.on('close', onClosed)
  const channel = await connection.createConfirmChannel()
  const returned = new Set<string>()
  channel.on('return', ({ properties }) => returned.add(properties.correlationId as string))
  channel.on('error', () => undefined)
  // The broker closes the channel for an exchange that it does not have.
  channel.on('close', () => void closeQuietly(connection))
  return { connection, channel, returned }
}

/** It throws for a connection that is closed already. */
async function closeQuietly(connection: ChannelModel): Promise<void> {
  try {
    await connection.close()
  } catch {}
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
