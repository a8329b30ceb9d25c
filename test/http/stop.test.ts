import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { onEachEngine } from '../harness/engines.ts'
import { startTestService } from '../harness/service.ts'

onEachEngine('stopping', (engine) => {
  test('a client that trickles its request does not hold the stop up beyond its limit', async () => {
    const service = await startTestService(engine)
    const { hostname, port } = new URL(service.baseUrl)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    socket.write(
      'POST /webhooks/provider HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"i',
    )
    // The answer to a second connection tells that the first one's bytes have been read.
    await service.fetch('/healthz')
    const closed = once(socket, 'close')
    await service.stop(600)
    await closed
    await service.close()
  })
})
