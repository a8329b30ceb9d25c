import assert from 'node:assert/strict'
import Fastify from 'fastify'
import { connect, type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { DirectRoutes } from './direct.ts'

async function start() {
  const app = Fastify({ forceCloseConnections: 'idle' })
  const direct = new DirectRoutes(app)
  app.post('/hook', (request, reply) => reply.send(`framework ${request.url}`))
  direct.post('/hook', (request, response, leave) => {
    if (request.headers['x-leave'] === undefined) response.writeHead(200).end('direct')
    else leave()
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const send = (head: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1')
    socket.write(`${head}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
    return text(socket)
  }
  return { app, send }
}

test('the exact target is answered directly; what is left, and what is written in another way, by the framework', async () => {
  const { app, send } = await start()
  assert.match(await send('POST /hook HTTP/1.1'), /^HTTP\/1\.1 200 [^]*direct/)
  assert.match(await send('POST /hook HTTP/1.1\r\nx-leave: 1'), /framework \/hook$/)
  assert.match(await send('POST /hook?a HTTP/1.1'), /framework \/hook\?a$/)
  assert.match(await send('POST /hook HTTP/1.1\r\nupgrade: websocket'), /framework \/hook$/)
  assert.match(await send('GET /hook HTTP/1.1'), /^HTTP\/1\.1 404 /)
  await app.close()
})
