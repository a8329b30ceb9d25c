// examples/destination-nats against a real server.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { startNats, withoutNats, type NatsServer } from '../../examples/spool-nats/nats-server.ts'
import { passOwnTests, proveDestination } from './destinations/prove.ts'

const folder = join(import.meta.dirname, '../../examples/destination-nats')
const isInstalled = existsSync(join(folder, 'node_modules/@nats-io/jetstream'))
const skip = !isInstalled ? 'the packages of examples/destination-nats are not installed' : withoutNats

describe('examples/destination-nats', { skip }, () => {
  let server: NatsServer
  before(async () => (server = await startNats()))
  after(() => server?.close())

  test('its own test passes', () => passOwnTests('destination-nats'))

  test('events arrive signed, also those of an outage', async () => {
    const { nats } = await import('../../examples/destination-nats/nats.ts')
    const { withStream } = await import('../../examples/destination-nats/stream.ts')
    await withStream(server.server, async () => undefined)
    const settings = { servers: server.server, subject: 'events' }
    const messages = () => withStream(server.server, ({ read }) => read())
    await proveDestination(nats(), { settings }, { ...server, messages })
  })
})
