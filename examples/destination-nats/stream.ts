// A consumer for the tests.
import { jetstreamManager, StorageType } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'

interface Message {
  subject: string
  headers: Record<string, string>
  body: Buffer
}

/** Works with a stream EVENTS of the subjects `events.>`, which it creates, through a connection of its own. */
export async function withStream<T>(
  servers: string,
  work: (stream: { read: () => Promise<Message[]> }) => Promise<T>,
): Promise<T> {
  const connection = await connect({ servers })
  try {
    const manager = await jetstreamManager(connection)
    await manager.streams.add({ name: 'EVENTS', subjects: ['events.>'], storage: StorageType.File })
    return await work({
      async read() {
        const { state } = await manager.streams.info('EVENTS')
        const found: Message[] = []
        for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
          const one = await manager.streams.getMessage('EVENTS', { seq })
          if (!one) continue
          const headers = Object.fromEntries(one.header.keys().map((name) => [name, one.header.get(name)]))
          found.push({ subject: one.subject, headers, body: Buffer.from(one.data) })
        }
        return found
      },
    })
  } finally {
    await connection.close()
  }
}
