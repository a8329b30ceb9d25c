import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { test } from 'node:test'
import Fastify from 'fastify'
import { systemClock } from '../../runtime/clock.ts'
import { Problem } from '../../errors.ts'
import { BodyReader } from './reader.ts'

/** Unlike `once`, does not fail at an error. */
const closed = (request: IncomingMessage): Promise<void> =>
  new Promise((resolve) => void request.on('close', () => resolve()))

test('a body whose sender has disconnected is reported as incomplete, and holds no memory', async () => {
  const bodies = new BodyReader(Fastify(), { clock: systemClock, networkOf: () => 'a' })
  let reported: Problem | null | undefined
  const handle = async (request: IncomingMessage): Promise<void> => {
    await closed(request)
    bodies.read(request, 100, (problem) => (reported = problem))
  }
  const server = createServer((request) => void handle(request))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nabc')
  const [request] = (await once(server, 'request')) as [IncomingMessage]
  socket.destroy()
  await closed(request)
  await new Promise((resolve) => setImmediate(resolve))
  server.close()
  bodies.budget.close()
  assert.ok(reported instanceof Problem)
  assert.equal(reported.code, 'bad-request')
  assert.deepEqual([bodies.budget.bodies, bodies.budget.bytes], [0, 0])
})
