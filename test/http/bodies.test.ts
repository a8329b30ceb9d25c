// What bodies may take of the memory, over raw connections where no client library is in the way.
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { adminKey, engines, startTestService, type TestService } from '../harness/index.ts'
import { eventually, sign } from '../receiving/harness.ts'

const kib = 1024
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes that are really held. */
function memory(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const sockets = new Set<Socket>()

function open({ baseUrl }: TestService, text: string | Buffer) {
  const { hostname, port } = new URL(baseUrl)
  const socket = connect(Number(port), hostname)
  sockets.add(socket)
  const answer = { text: '', closed: false, socket }
  socket.setEncoding('latin1').on('data', (part: string) => (answer.text += part))
  socket.on('close', () => {
    answer.closed = true
    sockets.delete(socket)
  })
  // The server may close while we still write: what counts is its answer.
  socket.on('error', () => undefined)
  socket.write(text)
  return answer
}
const head = (path: string, ...headers: string[]): string =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${headers.join('\r\n')}\r\n\r\n`
const statusOf = ({ text }: { text: string }): string | undefined => /^HTTP\/1\.1 (\d+)/.exec(text)?.[1]

describe('the budget for bodies that are being read', () => {
  let service: TestService
  before(async () => {
    service = await startTestService(engines[0]!, {
      parts: { bodies: { bytes: 400 * kib, reserve: 100 * kib, bodies: 6 } },
    })
  })
  after(async () => {
    for (const socket of sockets) socket.destroy()
    await service.close()
  })
  const budget = () => service.app.bodies.budget
  const closeAll = async () => {
    for (const socket of sockets) socket.destroy()
    await eventually(() => budget().bodies === 0 && budget().bytes === 0, 'all room is given back')
  }

  test('with many slow large bodies, the next gets 503 with Retry-After before it is read, and is accepted later', async () => {
    const part = 'x'.repeat(99 * kib)
    const slow = Array.from({ length: 3 }, () =>
      open(service, head('/webhooks/provider', `content-length: ${100 * kib}`) + part),
    )
    await eventually(() => budget().bytes >= 297 * kib)
    const body = JSON.stringify({ id: 'pressed', type: 'a', pad: 'x'.repeat(10 * kib) })
    const request = head('/webhooks/provider', `content-length: ${body.length}`, `x-signature: ${sign(body)}`)
    const fourth = open(service, `${head('/webhooks/provider', `content-length: ${200 * kib}`)}x`)
    await eventually(() => fourth.closed)
    assert.equal(statusOf(fourth), '503')
    assert.match(fourth.text, /\r\nretry-after: 1\r\n/i)
    assert.match(fourth.text, /"code":"overloaded"/)
    assert.match(fourth.text, /\r\nconnection: close\r\n/i)
    for (const { socket } of slow) socket.write('x'.repeat(kib))
    await eventually(() => slow.every((one) => statusOf(one) === '401'), 'those that had begun are read')
    const small = open(service, request + body)
    await eventually(() => statusOf(small) === '200')
    await closeAll()
  })

  test('an announced length reserves no room', async () => {
    const liars = Array.from({ length: 5 }, () =>
      open(service, head('/webhooks/provider', `content-length: ${390 * kib}`)),
    )
    await eventually(() => budget().bodies === 5)
    assert.equal(budget().bytes, 0)
    const body = JSON.stringify({ id: 'honest', type: 'a', pad: 'x'.repeat(200 * kib) })
    const honest = open(
      service,
      head('/webhooks/provider', `content-length: ${body.length}`, `x-signature: ${sign(body)}`) + body,
    )
    await eventually(() => statusOf(honest) === '200')
    assert.deepEqual(
      liars.map(statusOf),
      Array.from({ length: 5 }, () => undefined),
    )
    await closeAll()
  })

  test('the number of bodies is bounded, too', async () => {
    for (let count = 0; count < 6; count += 1) open(service, head('/webhooks/provider', 'content-length: 10'))
    await eventually(() => budget().bodies === 6)
    const seventh = open(service, head('/webhooks/provider', 'content-length: 10'))
    await eventually(() => statusOf(seventh) === '503')
    assert.equal((await service.fetch('/healthz')).status, 200, 'a request without a body is served')
    await closeAll()
  })

  test('chunked bodies beyond the budget get 503 while they stream', async () => {
    const chunk = `${(64 * kib).toString(16)}\r\n${'x'.repeat(64 * kib)}\r\n`
    const streams = Array.from({ length: 2 }, () =>
      open(service, head('/webhooks/provider', 'transfer-encoding: chunked') + chunk),
    )
    await eventually(() => budget().bodies === 2 && budget().bytes > 0)
    for (let sent = 0; sent < 6; sent += 1) for (const { socket } of streams) socket.write(chunk)
    await eventually(() => streams.some((one) => statusOf(one) === '503'))
    assert.ok(budget().bytes <= 400 * kib)
    await closeAll()
  })

  test('all calls with bodies share the budget', async () => {
    for (let count = 0; count < 6; count += 1) open(service, head('/webhooks/provider', 'content-length: 10'))
    await eventually(() => budget().bodies === 6)
    for (const [path, type] of [
      ['/events', 'application/json'],
      ['/subscribers', 'application/json'],
      ['/products', 'application/json'],
      ['/auth/token', 'application/json'],
      ['/auth/token', 'application/x-www-form-urlencoded'],
    ] as const) {
      const response = await service.fetch(path, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': type },
        body: '{}',
      })
      assert.equal(response.status, 503, path)
      assert.equal(response.headers.get('retry-after'), '1')
    }
    await closeAll()
  })
})

describe('bodies in pieces', () => {
  let service: TestService
  before(async () => {
    service = await startTestService(engines[0]!)
  })
  after(async () => {
    for (const socket of sockets) socket.destroy()
    await service.close()
  })

  test('a compressed body is refused by name, and `identity` is accepted', async () => {
    const body = gzipSync('{"type":"order.paid","data":{}}')
    const send = (coding: string, content: Buffer | string) =>
      service.fetch('/events', {
        method: 'POST',
        headers: {
          authorization: `Bearer ${adminKey}`,
          'content-type': 'application/json',
          'content-encoding': coding,
        },
        body: content,
      })
    const refused = await send('gzip', body)
    assert.equal(refused.status, 415)
    const { code, detail } = (await refused.json()) as { code: string; detail: string }
    assert.deepEqual(
      [code, detail],
      ['unsupported-media-type', 'Bodies with `Content-Encoding: gzip` are not read.'],
    )
    assert.equal((await send('identity', '{"type":"order.paid","data":{}}')).status, 202)
  })

  test('chunks of one byte take no more memory than the bytes', async () => {
    const pieces = `1\r\nx\r\n`.repeat(100_000)
    const request = head('/webhooks/provider', 'transfer-encoding: chunked') + pieces
    const before = memory()
    const streams = Array.from({ length: 4 }, () => open(service, request))
    await eventually(() => service.app.bodies.budget.bytes >= 4 * 100_000, 'all has come')
    assert.ok(service.app.bodies.budget.bytes <= 8 * 100_000)
    const grown = memory() - before
    // Kept apart, 400,000 pieces take 190 MiB.
    assert.ok(grown < 10 * kib * kib, `${Math.round(grown / kib / kib)} MiB`)
    for (const { socket } of streams) socket.write('0\r\n\r\n')
    await eventually(() => streams.every((one) => statusOf(one) === '401'))
  })

  test('every split of a body gives the same bytes', async () => {
    for (let size = 1; size < 40_000; size = Math.ceil(size * 2.3)) {
      const body = JSON.stringify({ id: `split-${size}`, type: 'a', pad: 'é€😀'.repeat(3_000) })
      const bytes = Buffer.from(body)
      const pieces: Buffer[] = []
      for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size))
      const chunks = pieces.map((piece) =>
        Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]),
      )
      const signed = `x-signature: ${sign(bytes)}`
      const chunked = open(service, head('/webhooks/provider', 'transfer-encoding: chunked', signed))
      chunked.socket.write(Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]))
      const plain = open(service, head('/webhooks/provider', `content-length: ${bytes.length}`, signed))
      plain.socket.setNoDelay(true)
      for (const piece of size > 500 ? pieces : [bytes]) {
        plain.socket.write(piece)
        await new Promise(setImmediate)
      }
      await eventually(() => statusOf(chunked) === '200' && statusOf(plain) === '200', `pieces of ${size}`)
    }
  })

  test('a client with `Expect: 100-continue` gets 100 only when its body is read', async () => {
    const expect = 'expect: 100-continue'
    const body = JSON.stringify({ id: 'told', type: 'a' })
    const good = open(
      service,
      head('/webhooks/provider', expect, `content-length: ${body.length}`, `x-signature: ${sign(body)}`),
    )
    await eventually(() => good.text.startsWith('HTTP/1.1 100 Continue\r\n\r\n'))
    good.socket.write(body)
    await eventually(() => good.text.includes('HTTP/1.1 200 '))
    assert.doesNotMatch(good.text, /connection: close/i)

    for (const [path, length, status] of [
      ['/webhooks/provider', 1_000_000_000, '413'],
      ['/events', 10, '401'],
      ['/nothing', 10, '404'],
    ] as const) {
      const refused = open(service, head(path, expect, `content-length: ${length}`))
      await eventually(() => refused.closed, path)
      assert.equal(statusOf(refused), status)
      assert.match(refused.text, /connection: close/i)
    }
  })
})

describe('stalled connections', () => {
  test('connections of clients that do not close after an error, or read no response, are closed', async () => {
    await using service = await startTestService(engines[0]!, {
      parts: { timeouts: { headers: 100, request: 200, check: 20, stillness: 300 } },
    })
    const { hostname, port } = new URL(service.baseUrl)
    const count = () =>
      new Promise<number>((resolve, reject) =>
        service.app.server.getConnections((error, open) => (error ? reject(error) : resolve(open))),
      )
    // One may be closed before the other is there.
    let accepted = 0
    service.app.server.on('connection', () => (accepted += 1))
    const broken = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    const deaf = connect({ host: hostname, port: Number(port) })
    for (const socket of [broken, deaf]) socket.on('error', () => undefined)
    broken.write('broken\r\n\r\n')
    broken.resume()
    deaf.pause()
    deaf.write('GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(200))
    await eventually(() => accepted >= 2, 'both are accepted')
    await eventually(async () => (await count()) === 0, 'both are closed')
    broken.destroy()
    deaf.destroy()
  })
})
