// A consumer for the tests.
import { connect, type ConfirmChannel } from 'amqplib'

/** Works with a durable queue `orders` through a connection of its own. */
export async function withQueue<T>(
  server: string,
  work: (channel: ConfirmChannel) => Promise<T>,
): Promise<T> {
  const connection = await connect(server.replace('://', '://guest:guest@'))
  try {
    const channel = await connection.createConfirmChannel()
    await channel.assertQueue('orders')
    return await work(channel)
  } finally {
    await connection.close()
  }
}
