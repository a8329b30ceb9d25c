// A program that mounts the service in demo mode and listens on all addresses: others on its network write `Host: localhost`.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request, type IncomingMessage } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { createHandler, type RequestHandler } from '../../src/index.ts'
import { listening, engines, type TestDatabase } from '../harness/index.ts'

describe('demo mode in a program that others can reach', () => {
  let database: TestDatabase
  let gate: RequestHandler
  let opened: Awaited<ReturnType<typeof listening>>
  /** The address that connections come from. */
  let peer = '127.0.0.1'
  before(async () => {
    database = await engines[0]!.createMigratedDatabase()
    gate = await createHandler({
      prefix: '/gate',
      env: {
        DATABASE_URL: database.url,
        POSTERN_SECRET: 'test-master-secret-of-32-bytes-or-more',
        WEBHOOK_SECRET: 'test-webhook-secret',
        LOG_LEVEL: 'fatal',
      },
    })
    const server = createServer(gate)
    server.on('connection', (socket) => Object.defineProperty(socket, 'remoteAddress', { value: peer }))
    opened = await listening(server)
  })
  after(async () => {
    await opened.close()
    await gate.close()
    await database.drop()
  })

  async function statusOf(path: string): Promise<number | undefined> {
    const { port } = opened
    const sent = request({ port, path, agent: false, headers: { host: `localhost:${port}` } }).end()
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    answer.resume()
    return answer.statusCode
  }
  const open = ['/gate/users', '/gate/events', '/gate/metrics', '/gate/events/search?text=x']
  const provider = '/gate/demo-idp/.well-known/openid-configuration'

  test('its open lists and its identity provider are for this machine only', async () => {
    for (const own of ['127.0.0.1', '::ffff:127.0.0.1', '::1']) {
      peer = own
      for (const path of [...open, provider]) assert.equal(await statusOf(path), 200, `${own} ${path}`)
    }
    for (const other of ['192.0.2.7', '::ffff:192.0.2.7', 'fe80::1', '0.0.0.0']) {
      peer = other
      for (const path of open) assert.equal(await statusOf(path), 401, `${other} ${path}`)
      assert.equal(await statusOf(provider), 421, `${other} ${provider}`)
    }
  })
})
