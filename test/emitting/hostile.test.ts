// Subscribers that misbehave below HTTP: each attempt ends in time with a sentence, nothing grows, and nobody else waits.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import { eventually } from '../receiving/harness.ts'
import { engines, started } from '../harness/index.ts'
import { emit, settled, startEmitting, subscribe, type DeliveryAnswer } from './harness.ts'

type Behaviour = (socket: Socket) => void

interface Hostile {
  url: string
  /** What it could write before it was hung up on. */
  written: () => number
  open: () => number
  close: () => void
}

/** Calls `behave` for each connection once the head of a request has come. */
async function startHostile(behave: Behaviour, waits = true): Promise<Hostile> {
  const sockets = new Set<Socket>()
  let written = 0
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('end', () => socket.end())
    socket.on('close', () => {
      written += socket.bytesWritten
      sockets.delete(socket)
    })
    if (waits) socket.once('data', () => behave(socket))
    else behave(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    written: () => written,
    open: () => sockets.size,
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

const head = (...lines: string[]): string => ['HTTP/1.1 200 OK', ...lines, '', ''].join('\r\n')

/** Writes as fast as it is read, until it is hung up on. */
const forever =
  (first: string, chunk: string | Buffer, pause: number): Behaviour =>
  (socket) => {
    socket.write(first)
    const more = (): void => {
      if (socket.destroyed) return
      if (socket.write(chunk)) setTimeout(more, pause)
      else socket.once('drain', more)
    }
    more()
  }

/** What ends by the time-out ends then, and not much later: both in milliseconds. */
const timeout = 600
/** Seconds of the time-out for a body: on a busy machine its head needs some of it. */
const bodyTimeout = 3
/** For a busy machine. Without a limit, an attempt would not end at all. */
const slack = 60_000
/** Seconds for an attempt that must end for another reason. */
const patience = 120

const delivered: [name: string, behave: Behaviour, body: RegExp | null][] = [
  [
    'streams without end',
    forever(head('content-type: text/plain'), Buffer.alloc(64 * 1024, 'x'), 0),
    /^x{65536}$/,
  ],
  [
    'announces a gigabyte',
    forever(head('content-length: 1073741824'), Buffer.alloc(64 * 1024, 'x'), 0),
    /^x{65536}$/,
  ],
  ['speaks HTTP/1.0 without a length', (socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nold'), /^old$/],
  ['half-closes behind its answer', (socket) => socket.end(head('content-length: 2') + 'ok'), /^ok$/],
  [
    'sends more than its Content-Length',
    (socket) => socket.end(head('content-length: 2', 'connection: close') + 'ok and more'),
    /^ok$/,
  ],
  [
    'sends 150 headers',
    (socket) =>
      socket.end(head(...Array.from({ length: 150 }, (_, n) => `x-${n}: ${n}`), 'content-length: 0')),
    null,
  ],
  [
    'sends some interim answers first',
    (socket) => socket.end('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n' + head('content-length: 0')),
    null,
  ],
  [
    'sends 100 Continue, which nobody asked for',
    (socket) => socket.end('HTTP/1.1 100 Continue\r\n\r\n' + head('content-length: 2') + 'ok'),
    /^ok$/,
  ],
  [
    'claims that its body is compressed',
    (socket) => socket.end(head('content-encoding: gzip', 'content-length: 3') + 'abc'),
    /^abc$/,
  ],
]

const failed: [name: string, behave: Behaviour, failure: string, error: RegExp][] = [
  [
    'trickles a body',
    forever(head('content-length: 1000000'), 'x', 20),
    'timeout-body',
    /body did not end within 3 s/,
  ],
  ['trickles a head', forever('HTTP/1.1 200 OK\r\n', 'x', 20), 'timeout-answer', /no response within 0.6 s/],
  ['never answers', () => undefined, 'timeout-answer', /no response within 0.6 s/],
  ['trickles headers', forever('HTTP/1.1 200 OK\r\n', 'x: y\r\n', 20), 'timeout-answer', /no response/],
  ['resets', (socket) => socket.resetAndDestroy(), 'closed', /reset|closed/],
  [
    'resets within the body',
    (socket) => socket.write(head('content-length: 100') + 'half', () => socket.resetAndDestroy()),
    'closed',
    /reset|closed/,
  ],
  ['half-closes without an answer', (socket) => socket.end(), 'closed', /closed/],
  [
    'ends before its Content-Length',
    (socket) => socket.end(head('content-length: 100') + 'half'),
    'closed',
    /closed|not as long/,
  ],
  [
    'sends huge headers',
    forever('HTTP/1.1 200 OK\r\n', `x: ${'y'.repeat(8_000)}\r\n`, 0),
    'headers-too-large',
    /headers are too large/,
  ],
  [
    'sends one huge header',
    forever('HTTP/1.1 200 OK\r\nx: ', 'y'.repeat(16_000), 0),
    'headers-too-large',
    /headers are too large/,
  ],
  [
    'sends interim answers without end',
    forever('', 'HTTP/1.1 102 Processing\r\n\r\n', 1),
    'not-http',
    /without end/,
  ],
  [
    'sends 100 Continue without end',
    forever('', 'HTTP/1.1 100 Continue\r\n\r\n', 5),
    'not-http',
    /without end/,
  ],
  ['sends no HTTP', (socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'), 'not-http', /not valid HTTP/],
  [
    'sends chunks that are none',
    (socket) => socket.end(head('transfer-encoding: chunked') + 'zz\r\nxx\r\n'),
    'not-http',
    /not valid HTTP/,
  ],
  [
    'switches protocols',
    (socket) => socket.end('HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n'),
    'not-http',
    /not valid HTTP/,
  ],
]

describe('subscribers that misbehave', () => {
  const service = started(() =>
    startEmitting(engines[0]!, {
      env: { EMIT_RETRY_SCHEDULE: '0', EMIT_TIMEOUT: String(timeout / 1000) },
    }),
  )

  const attemptAt = async (behave: Behaviour, status: string, limit?: number) => {
    const hostile = await startHostile(behave)
    const { id } = await subscribe(service, {
      url: hostile.url,
      eventTypes: [hostile.url.slice(-6, -1)],
      ...(limit !== undefined && { timeout: limit }),
    })
    await emit(service, { type: hostile.url.slice(-6, -1), data: 1 })
    const { attempts } = await settled(service, id, status)
    const attempt: DeliveryAnswer['attempts'][number] = attempts[0]!
    assert.ok(attempt.durationMs < timeout + slack, `${attempt.durationMs} ms`)
    return { hostile, attempt }
  }

  for (const [name, behave, body] of delivered)
    test(`one that ${name} counts by its status`, async () => {
      const { hostile, attempt } = await attemptAt(behave, 'delivered', patience)
      assert.equal(attempt.error, null)
      if (body) assert.match(attempt.responseBody ?? '', body)
      else assert.equal(attempt.responseBody, null)
      // Beside what was read, the buffers of the two ends.
      assert.ok(hostile.written() < 16 * 1024 * 1024, String(hostile.written()))
      hostile.close()
    })

  for (const [name, behave, failure, error] of failed)
    test(`one that ${name} fails with a message`, async () => {
      const isTimeout = failure.startsWith('timeout')
      const limit = failure === 'timeout-body' ? bodyTimeout : isTimeout ? undefined : patience
      const { hostile, attempt } = await attemptAt(behave, 'dead', limit)
      const { durationMs } = attempt
      if (isTimeout) assert.ok(durationMs >= (limit ? limit * 1000 : timeout) - 10, `${durationMs} ms`)
      assert.match(attempt.error ?? '', error)
      assert.equal(attempt.failure, failure)
      assert.ok(attempt.advice)
      hostile.close()
    })

  test('one that never reads times out', async () => {
    const deaf = await startHostile((socket) => void socket.pause(), false)
    const { id } = await subscribe(service, { url: deaf.url, eventTypes: ['big'] })
    await emit(service, { type: 'big', data: 'x'.repeat(900_000) })
    const [attempt] = (await settled(service, id, 'dead')).attempts
    assert.equal(attempt!.failure, 'timeout-answer')
    deaf.close()
  })

  test('one that closes kept connections gets each event by its first attempt', async () => {
    let answers = 0
    const closing = await startHostile((socket) => {
      let requests = 0
      socket.on('data', (data) => {
        if (!data.toString('latin1').startsWith('POST ')) return
        requests += 1
        if (requests === 1) {
          answers += 1
          socket.write(head('content-length: 2') + 'ok')
        } else socket.resetAndDestroy()
      })
    }, false)
    const settings = { eventTypes: ['kept'], concurrency: 1, timeout: patience }
    const { id } = await subscribe(service, { url: closing.url, ...settings })
    for (let n = 0; n < 6; n += 1) {
      const event = await emit(service, { type: 'kept', data: n })
      assert.ok(event)
      await eventually(() => answers > n, `answer ${n}`)
    }
    const data = await eventually(async () => {
      const log = await service.admin(`/subscribers/${id}/deliveries?status=delivered`)
      const { data } = (await log.json()) as { data: { attemptCount: number }[] }
      return data.length === 6 ? data : undefined
    }, 'the record of all')
    for (const { attemptCount } of data) assert.equal(attemptCount, 1)
    closing.close()
  })
})
