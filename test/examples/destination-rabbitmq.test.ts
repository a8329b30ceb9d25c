// examples/destination-rabbitmq against a real broker.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import {
  startRabbit,
  withoutRabbit,
  type RabbitServer,
} from '../../examples/destination-rabbitmq/rabbitmq-server.ts'
import { passOwnTests, proveDestination } from './destinations/prove.ts'

const folder = join(import.meta.dirname, '../../examples/destination-rabbitmq')
const isInstalled = existsSync(join(folder, 'node_modules/amqplib'))
const skip = !isInstalled ? 'the packages of examples/destination-rabbitmq are not installed' : withoutRabbit

describe('examples/destination-rabbitmq', { skip }, () => {
  let server: RabbitServer
  before(async () => (server = await startRabbit()))
  after(() => server?.close())

  test('its own test passes', () => passOwnTests('destination-rabbitmq'))

  test('events arrive signed, also those of an outage', async () => {
    const { rabbitmq } = await import('../../examples/destination-rabbitmq/rabbitmq.ts')
    const { withQueue } = await import('../../examples/destination-rabbitmq/queue.ts')
    const bind = () => withQueue(server.url, (channel) => channel.bindQueue('orders', 'amq.topic', 'order.*'))
    await bind()
    await proveDestination(
      rabbitmq(),
      {
        settings: { url: server.url, exchange: 'amq.topic', user: 'guest' },
        secrets: { password: 'guest' },
      },
      {
        kill: () => server.kill(),
        async restart() {
          await server.restart()
          // The broker writes bindings some time after it confirmed them.
          await bind()
        },
        messages: () =>
          withQueue(server.url, async (channel) => {
            const found = []
            for (let one; (one = await channel.get('orders', { noAck: true }));)
              found.push({ headers: one.properties.headers ?? {}, body: one.content })
            return found
          }),
      },
    )
  })
})
