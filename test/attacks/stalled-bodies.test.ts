// One client network that fills the room for bodies and stands still: others are served as if it were not there.
import assert from 'node:assert/strict'
import { Agent, request, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { after, describe, test } from 'node:test'
import { adminKey, engines, startedService, type TestService } from '../harness/index.ts'
import { eventually, sign } from '../receiving/harness.ts'

const mib = 1024 * 1024
const part = Buffer.alloc(1_000_000, 'x')

/** How clients of different networks call the service from one machine. */
const ways: { name: string; env: Record<string, string>; from: (host: string) => Client }[] = [
  {
    name: 'behind a trusted proxy',
    env: { TRUSTED_PROXIES: '127.0.0.1' },
    from: (host) => ({ headers: { 'x-forwarded-for': host } }),
  },
]
// Other systems have only one address of their own for the loopback network.
if (process.platform === 'linux')
  ways.push({ name: 'connected directly', env: {}, from: (host) => ({ headers: {}, localAddress: host }) })

interface Client {
  headers: Record<string, string>
  localAddress?: string
}

/** Keeps up to `count` connections, each with a body of which the last bytes do not come. */
class Attacker {
  readonly #service: TestService
  readonly #client: Client
  readonly #path: string
  readonly #sockets = new Set<Socket>()
  readonly answers: string[] = []
  opened = 0
  #over = false

  constructor(service: TestService, client: Client, path: string) {
    this.#service = service
    this.#client = client
    this.#path = path
  }

  open(count: number): void {
    for (let opened = 0; opened < count; opened += 1) this.#open()
  }

  #open(): void {
    if (this.#over) return
    this.opened += 1
    const { headers, localAddress } = this.#client
    const socket = connect({
      host: '127.0.0.1',
      port: Number(new URL(this.#service.baseUrl).port),
      ...(localAddress !== undefined && { localAddress }),
    })
    this.#sockets.add(socket)
    let answer = ''
    socket.setEncoding('latin1').on('data', (text: string) => (answer += text))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.#sockets.delete(socket)
      if (answer !== '') this.answers.push(answer)
      // And again, as it is dropped.
      setTimeout(() => this.#open(), 5)
    })
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(
      `POST ${this.#path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${lines.join('')}content-length: ${mib}\r\n\r\n`,
    )
    socket.write(part)
  }

  close(): void {
    this.#over = true
    for (const socket of this.#sockets) socket.destroy()
  }
}

for (const { name, env, from } of ways) {
  describe(`bodies that never end, ${name}`, () => {
    const service = startedService(engines[0]!, () => ({ env }))

    const agent = new Agent({ keepAlive: true })
    after(() => agent.destroy())
    const post = async (path: string, body: string, headers: Record<string, string>): Promise<number> => {
      const client = from('127.0.0.2')
      const call = request(new URL(path, service.baseUrl), {
        method: 'POST',
        agent,
        ...(client.localAddress !== undefined && { localAddress: client.localAddress }),
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          ...client.headers,
          ...headers,
        },
      }).end(body)
      const [answer] = (await once(call, 'response')) as [IncomingMessage]
      await answer.toArray()
      return answer.statusCode!
    }

    for (const [path, connections, credential] of [
      ['/webhooks/provider', 60, {}],
      ['/events', 48, { authorization: `Bearer ${adminKey}` }],
    ] as const) {
      test(`${connections} at ${path}: webhooks and calls from other addresses are answered`, async () => {
        const { budget } = service.app.bodies
        const client = from('127.0.0.1')
        const headers: Record<string, string> = { ...client.headers, ...credential }
        const attacker = new Attacker(service, { ...client, headers }, path)
        attacker.open(connections)
        await eventually(() => budget.bytes >= 44 * mib, 'the room is full')
        for (let count = 0; count < 100; count += 1) {
          // Some that fit into a packet, and some that are large.
          const pad = 'x'.repeat(count % 10 === 0 ? 900_000 : 100)
          const body = JSON.stringify({ id: `${path} ${count}`, type: 'honest', pad })
          assert.equal(await post('/webhooks/provider', body, { 'x-signature': sign(body) }), 200)
        }
        const emitted = JSON.stringify({ type: 'honest', data: {} })
        assert.equal(await post('/events', emitted, { authorization: `Bearer ${adminKey}` }), 202)
        assert.equal(await post('/auth/token', '{}', {}), 400)
        assert.ok(budget.bytes <= 64 * mib)
        await eventually(() => attacker.answers.length > 0, 'some of its bodies were dropped')
        attacker.close()
        for (const answer of attacker.answers) {
          assert.match(answer, /^HTTP\/1\.1 (408 Request Timeout|503 Service Unavailable)\r\n/)
          assert.match(answer, /\r\nconnection: close\r\n/i)
        }
        await eventually(() => budget.bodies === 0 && budget.bytes === 0, 'all room is given back')
      })
    }
  })
}

describe('slow bodies, with room for all', () => {
  const pace = { interval: 20, intervals: 5, minRate: 1_000, minRateUnderPressure: 8 * 1024 }
  const service = startedService(engines[0]!, () => ({ parts: { bodies: { pace } } }))

  for (const [path, type] of [
    ['/webhooks/provider', 'application/json'],
    ['/auth/token', 'application/x-www-form-urlencoded'],
  ] as const) {
    test(`a stalled body gets 408 and a closed connection (${path})`, async () => {
      const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1')
      socket
        .setEncoding('latin1')
        .write(
          `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n`,
        )
      const answer = (await socket.toArray()).join('')
      assert.match(answer, /^HTTP\/1\.1 408 Request Timeout\r\n/)
      assert.match(answer, /\r\nconnection: close\r\n/i)
      assert.match(answer, /"code":"request-timeout"/)
      assert.equal(service.app.bodies.budget.bodies, 0)
    })
  }
})
