import { jetstream, type JetStreamClient } from '@nats-io/jetstream'
import { connect, headers as createHeaders, type NatsConnection } from '@nats-io/transport-node'
import type { DestinationContext, DestinationDeclaration } from 'postern'

interface Link {
  readonly connection: NatsConnection
  readonly client: JetStreamClient
}

/** Milliseconds for a connection, and for the confirmation of a message. */
const timeout = 5_000

/** Delivers to a stream of NATS JetStream. A message is delivered when the stream has confirmed it. */
export function nats(): DestinationDeclaration {
  /** One connection for each endpoint, until its settings change. */
  const links = new Map<string, { settings: object; link: Promise<Link> }>()

  async function linkFor({ settings, secrets, subscriber }: DestinationContext): Promise<Link> {
    const known = links.get(subscriber.id)
    if (known?.settings === settings) return known.link
    void known?.link.then(({ connection }) => connection.close()).catch(() => undefined)
    const forget = (): void => void (links.get(subscriber.id)?.link === link && links.delete(subscriber.id))
    const link: Promise<Link> = open(settings, secrets, forget)
    links.set(subscriber.id, { settings, link })
    link.catch(forget)
    return link
  }

  return {
    title: 'NATS JetStream',
    fields: {
      servers: { label: 'Servers', required: true, description: 'nats-1:4222,nats-2:4222' },
      subject: { label: 'Subject', required: true, description: 'Such as events; the type is appended' },
      user: { label: 'User' },
      password: { label: 'Password', secret: true },
    },
    validate({ servers, subject, user = '' }) {
      if (typeof servers !== 'string' || !/^[\w.:[\]-]+(,[\w.:[\]-]+)*$/.test(servers))
        return 'servers must be like nats-1:4222,nats-2:4222'
      if (typeof subject !== 'string' || !/^[\w-]+(\.[\w-]+)*$/.test(subject))
        return 'subject must be like events.shop'
      return typeof user === 'string' ? undefined : 'user must be a text'
    },
    async deliver({ id, type, payload, headers }, context) {
      const { client } = await linkFor(context)
      const given = createHeaders()
      for (const [name, value] of Object.entries(headers)) given.set(name, value)
      // The stream drops a repeated ID within its `duplicate_window`, two minutes by default: also a replay in that time.
      const subject = `${String(context.settings['subject'])}.${type}`
      const ack = await client.publish(subject, payload, { msgID: id, headers: given, timeout })
      return { stream: ack.stream, seq: ack.seq, duplicate: ack.duplicate }
    },
    async close() {
      const opened = await Promise.allSettled([...links.values()].map(({ link }) => link))
      for (const one of opened) if (one.status === 'fulfilled') await one.value.connection.close()
    },
  }
}

async function open(
  settings: DestinationContext['settings'],
  { password: pass = '' }: DestinationContext['secrets'],
  onClosed: () => void,
): Promise<Link> {
  const user = settings['user'] as string | undefined
  const connection = await connect({
    name: 'postern',
    servers: String(settings['servers']).split(','),
    ...(user !== undefined && { user, pass }),
    timeout,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 500,
  })
  void connection.closed().then(onClosed)
  return { connection, client: jetstream(connection) }
}
