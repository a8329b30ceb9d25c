import assert from 'node:assert/strict'
import Fastify, { type FastifyInstance } from 'fastify'
import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { Closing } from './closing.ts'

const long = 'a'.repeat(20_000_000)

/** `GET /held` and `GET /stream` end when the test says so. */
async function start(t: TestContext) {
  const app: FastifyInstance = Fastify({ forceCloseConnections: 'idle', return503OnClosing: false })
  app.decorate('closing', new Closing(app))
  const held = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  app.post('/raw', (_request, reply) => {
    reply.hijack().raw.writeHead(200, ['content-length', '2']).end('ok')
  })
  app.get('/', async () => 'ok')
  app.get('/long', async () => long)
  app.get('/held', async () => {
    reached.resolve()
    await held.promise
    return 'ok'
  })
  app.get('/stream', (_request, reply) =>
    reply.send(
      Readable.from(
        (async function* () {
          yield 'one,'
          reached.resolve()
          await held.promise
          yield 'two'
        })(),
      ),
    ),
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const sockets: Socket[] = []
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    await app.close()
  })
  const open = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    await once(socket, 'connect')
    return socket
  }
  return { app, open, reached: reached.promise, goOn: held.resolve }
}

const ask = (socket: Socket, what: string): boolean =>
  socket.write(`${what} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
/** Asks, and resolves with what has come when the answer's last bytes have. */
async function answer(socket: Socket, what: string, last: string): Promise<string> {
  let answered = ''
  const take = (bytes: Buffer) => (answered += bytes.toString('latin1'))
  socket.on('data', take)
  ask(socket, what)
  while (!answered.endsWith(last)) await once(socket, 'data')
  socket.off('data', take)
  return answered
}

test('before the stop, connections are kept alive', async (t) => {
  const { open } = await start(t)
  const socket = await open()
  assert.doesNotMatch(await answer(socket, 'GET /', 'ok'), /connection: close/i)
  assert.doesNotMatch(await answer(socket, 'POST /raw', 'ok'), /connection: close/i)
})

test('during the stop, every response has `Connection: close`, including responses in progress', async (t) => {
  const { app, open, reached, goOn } = await start(t)
  const sockets = await Promise.all(Array.from({ length: 4 }, open))
  for (const socket of sockets) await answer(socket, 'GET /', 'ok')
  const underWay = await open()
  const underWayAnswer = text(underWay)
  ask(underWay, 'GET /held')
  await reached
  app.closing.start()
  goOn()
  const answers = sockets.map((socket) => text(socket))
  for (const [index, what] of ['GET /', 'GET /none', 'POST /raw', 'GET /stream'].entries())
    ask(sockets[index]!, what)
  for (const each of await Promise.all([...answers, underWayAnswer]))
    assert.match(each, /^HTTP\/1\.1 [^]*\r\nconnection: close\r\n/i)
  assert.match(
    await text((await open()).end('GET / HTTP/1.1\r\nhost: a\r\n\r\n')),
    /\r\nconnection: close\r\n/i,
  )
})

test('closing ends idle and unused connections, and waits for responses in progress', async (t) => {
  const { app, open, reached, goOn } = await start(t)
  const [idle, silent, streamed] = [await open(), await open(), await open()]
  await answer(idle, 'GET /', 'ok')
  const stream = text(streamed)
  ask(streamed, 'GET /stream')
  await reached
  const ended = [idle, silent].map((socket) => once(socket.resume(), 'close'))
  app.closing.start()
  const closed = app.close()
  await Promise.all(ended)
  goOn()
  // Its head was sent before: the answer comes whole, and the server ends the connection behind it.
  assert.match(await stream, /\r\none,[^]*two\r\n0\r\n\r\n$/)
  await closed
})

test('a response that the client still reads is not cut off', async (t) => {
  const { app, open } = await start(t)
  const socket = await open()
  ask(socket, 'GET /long')
  await once(socket, 'readable')
  const closed = app.close()
  const whole = await text(socket)
  assert.equal(whole.slice(whole.indexOf('\r\n\r\n') + 4).length, long.length)
  await closed
})
