import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { createLog } from '../../src/telemetry/log.ts'
import { engines, startTestService } from '../harness/index.ts'

describe('stopping', () => {
  test('a client that sends its request slowly does not delay the stop beyond its limit', async () => {
    const lines: string[] = []
    const service = await startTestService(engines[0]!, {
      parts: {
        log: createLog('warn', { write: (line: string) => void lines.push(line) }),
        // The connection outlives the test unless the stop closes it.
        timeouts: { headers: 300_000, request: 600_000, check: 1_000, stillness: 600_000 },
      },
    })
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
    await service.stop(5_000)
    assert.deepEqual(lines, [], 'no part was left behind at the limit')
    await closed
    await service.close()
  })
})
