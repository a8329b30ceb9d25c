import assert from 'node:assert/strict'
import { createServer as createHttp, type RequestListener } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { selfSigned, trusted } from '#test/harness/certificate.ts'
import { listening } from '#test/harness/listening.ts'
import { NotSent, type Exchange, createOutboundAgent } from './exchange.ts'
import type { Resolve } from './guarded-connector.ts'

const localhost: Resolve = (_host, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }])

/** A server that does with each connection what the test says, below HTTP. */
const raw = (onConnection: (socket: Socket) => void) =>
  listening(
    createServer((socket) => {
      socket.on('error', () => undefined)
      onConnection(socket)
    }),
  )

async function withServer(listener: RequestListener, work: (port: number) => Promise<void>): Promise<void> {
  await using server = await listening(createHttp(listener))
  await work(server.port)
}

function agentWith(resolve: Resolve = localhost) {
  const agent = createOutboundAgent({ allowPrivateNetwork: true, resolve })
  after(() => agent.destroy())
  return {
    post: (origin: string, responseLimit = 1024, maySend?: () => boolean, answered?: () => void): Exchange =>
      agent.exchange({
        origin,
        path: '/',
        method: 'POST',
        headers: {},
        body: Buffer.from('{}'),
        responseLimit,
        maySend,
        answered,
      }),
  }
}

test('the first exchange has phases for DNS and connection; the next one on the connection is marked as reused', async () => {
  const { post } = agentWith()
  await withServer(
    (_request, response) => response.end('fine'),
    async (port) => {
      const first = await post(`http://shop.test:${port}`).ended
      assert.equal(first.status, 200)
      assert.equal(first.body?.toString(), 'fine')
      assert.equal(first.error, undefined)
      assert.equal(first.phases.reused, false)
      for (const part of ['dns', 'connect', 'firstByte', 'total'] as const)
        assert.equal(typeof first.phases[part], 'number', part)
      assert.equal(first.phases.tls, undefined)
      await turn()
      const second = await post(`http://shop.test:${port}`).ended
      assert.equal(second.phases.reused, true)
      assert.deepEqual(Object.keys(second.phases).toSorted(), ['firstByte', 'reused', 'total'])
    },
  )
})

test('an IP address has no DNS phase', async () => {
  const { post } = agentWith()
  await withServer(
    (_request, response) => response.end(),
    async (port) => {
      const { phases } = await post(`http://127.0.0.1:${port}`).ended
      assert.equal(phases.dns, undefined)
      assert.equal(typeof phases.connect, 'number')
    },
  )
})

test('each of many concurrent exchanges has the phases of its own connection', async () => {
  const { post } = agentWith()
  await withServer(
    (_request, response) => void setTimeout(() => response.end(), 20),
    async (port) => {
      const all = Array.from({ length: 8 }, () => post(`http://shop.test:${port}`).ended)
      for (const { phases } of await Promise.all(all)) {
        assert.equal(phases.reused, false)
        assert.equal(typeof phases.connect, 'number')
      }
    },
  )
})

test('an https exchange has a TLS phase', async () => {
  const { key, cert } = selfSigned('shop.test')
  using _trust = trusted(cert)
  await using server = await listening(createHttps({ key, cert }, (_request, response) => response.end()))
  const { post } = agentWith()
  const { status, phases } = await post(`https://shop.test:${server.port}`).ended
  assert.equal(status, 200)
  assert.equal(typeof phases.tls, 'number')
})

test('an untrusted certificate fails in the handshake, before the request is sent', async () => {
  const yesterday = new Date(Date.now() - 3_600_000)
  const cases = [
    { made: selfSigned('shop.test'), isTrusted: false, code: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
    { made: selfSigned('other.test'), isTrusted: true, code: 'ERR_TLS_CERT_ALTNAME_INVALID' },
    { made: selfSigned('shop.test', { to: yesterday }), isTrusted: true, code: 'CERT_HAS_EXPIRED' },
  ]
  for (const { made, isTrusted, code } of cases) {
    using _trust = isTrusted ? trusted(made.cert) : undefined
    await using server = await listening(createHttps(made, () => assert.fail('a request came')))
    const { post } = agentWith()
    const { error, status, step } = await post(`https://shop.test:${server.port}`).ended
    assert.equal((error as { code?: string }).code, code)
    assert.equal(status, null)
    assert.equal(step, 'tls')
  }
})

test('an aborted exchange ends at once and reports the current phase', async () => {
  let reached: () => void
  const never: Resolve = () => reached()
  await using silent = await raw((socket) => socket.once('data', () => reached()))
  await using begun = await raw((socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'))
  const cases = [
    { origin: 'http://shop.test', resolve: never, step: 'dns' },
    { origin: `https://shop.test:${silent.port}`, resolve: localhost, step: 'tls' },
    { origin: `http://shop.test:${silent.port}`, resolve: localhost, step: 'answer' },
    { origin: `http://shop.test:${begun.port}`, resolve: localhost, step: 'body' },
  ]
  for (const { origin, resolve, step } of cases) {
    const inStep = new Promise<void>((resume) => (reached = resume))
    const answered = (): void => reached()
    const exchange = agentWith(resolve).post(origin, undefined, undefined, answered)
    await inStep
    await turn()
    const reason = new Error('enough')
    exchange.cut(reason)
    const outcome = await exchange.ended
    assert.equal(outcome.step, step)
    assert.equal(outcome.error, reason)
    assert.equal(outcome.status, step === 'body' ? 200 : null)
    assert.equal(outcome.body?.toString(), step === 'body' ? 'half' : undefined)
  }
})

test('an exchange that is aborted while it connects is not sent later', async () => {
  let found: (() => void) | undefined
  const late: Resolve = (host, callback) => {
    found = () => localhost(host, callback)
  }
  let requests = 0
  const closed = Promise.withResolvers<void>()
  await using server = await raw((socket) => {
    socket.on('data', () => (requests += 1))
    socket.on('close', () => closed.resolve())
  })
  const exchange = agentWith(late).post(`http://shop.test:${server.port}`)
  while (!found) await new Promise((resolve) => setImmediate(resolve))
  exchange.cut(new Error('enough'))
  await exchange.ended
  found()
  await closed.promise
  assert.equal(requests, 0)
})

test('an exchange that may no longer be sent once it is connected is not sent', async () => {
  let may = true
  const late: Resolve = (host, callback) => {
    may = false
    localhost(host, callback)
  }
  let requests = 0
  await using server = await raw((socket) => socket.on('data', () => (requests += 1)))
  const { post } = agentWith(late)
  const { error, status } = await post(`http://shop.test:${server.port}`, 1024, () => may).ended
  assert.ok(error instanceof NotSent)
  assert.deepEqual([status, requests], [null, 0])
})

test('the response is read up to the limit, which is no failure', async () => {
  const { post } = agentWith()
  const closed = Promise.withResolvers<void>()
  await withServer(
    (_request, response) => {
      response.on('close', () => closed.resolve())
      response.end(Buffer.alloc(5_000_000, 'x'))
    },
    async (port) => {
      const { status, body, error } = await post(`http://127.0.0.1:${port}`, 1000).ended
      assert.deepEqual([status, body?.toString(), error], [200, 'x'.repeat(1000), undefined])
      await closed.promise
    },
  )
})

test('endless interim responses (1xx) are a failure', async () => {
  await using server = await raw((socket) => {
    const more = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(10)), 5)
    socket.on('close', () => clearInterval(more))
  })
  const { error, status, step } = await agentWith().post(`http://127.0.0.1:${server.port}`).ended
  assert.match(String(error), /interim/)
  assert.deepEqual([status, step], [null, 'answer'])
})

/** Answers each request of a connection, which is numbered from 0, with what `answer` returns; `undefined` closes the connection. */
async function answering(answer: (request: number, connection: number) => string | undefined) {
  const requests: string[] = []
  let connections = 0
  const server = await raw((socket) => {
    const connection = connections++
    let request = 0
    socket.on('data', (data) => {
      if (!data.toString('latin1').startsWith('POST ')) return
      requests.push(`${connection}/${request}`)
      const text = answer(request++, connection)
      if (text === undefined) socket.resetAndDestroy()
      else socket.write(text)
    })
  })
  after(server.close)
  return { origin: `http://shop.test:${server.port}`, requests }
}

const fine = 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine'
/** undici gives a connection free one turn of the loop later. After a pause of the process, timers come before that turn. */
async function turn(): Promise<void> {
  await wait(20)
  for (let turns = 0; turns < 3; turns += 1) await nextTurn()
}

test('interim answers that were not asked for are skipped, 100 among them', async () => {
  const { post } = agentWith()
  for (const interim of [
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 100\r\n\r\n',
    'HTTP/1.1 100 Continue\r\nserver: HTTP/1.1 100\r\n\r\n',
    '\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 102 Processing\r\n\r\n'.repeat(3) + 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(3),
  ]) {
    const { origin } = await answering(() => interim + fine)
    for (let times = 0; times < 2; times += 1) {
      const { status, body, error } = await post(origin).ended
      assert.deepEqual([status, body?.toString(), error], [200, 'fine', undefined], interim)
      await turn()
    }
  }
})

test('a 100 that comes byte by byte is skipped, and a 100 within a body is not touched', async () => {
  const body = 'HTTP/1.1 100 Continue\r\n\r\n'
  const text = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  const { port, close } = await raw((socket) => {
    socket.setNoDelay(true)
    const writeFrom = (at: number): void => {
      socket.write(text[at]!)
      if (at + 1 < text.length) setImmediate(writeFrom, at + 1)
    }
    socket.once('data', () => writeFrom(0))
  })
  after(close)
  const { post } = agentWith()
  const { status, body: read } = await post(`http://shop.test:${port}`).ended
  assert.deepEqual([status, read?.toString()], [200, body])
})

test('interim answers without end are an error', async () => {
  const { post } = agentWith()
  const { origin } = await answering(() => 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(50))
  const { error } = await post(origin).ended
  assert.equal((error as { code?: string }).code, 'ENDLESS_INTERIM')
})

test('a request over a kept connection that is closed without a byte is repeated at once over a new one', async () => {
  const { post } = agentWith()
  const { origin, requests } = await answering((request) => (request === 0 ? fine : undefined))
  for (let times = 0; times < 4; times += 1) {
    const { status, error, phases } = await post(origin).ended
    assert.deepEqual([status, error], [200, undefined])
    assert.equal(phases.reused, false)
    await turn()
  }
  assert.deepEqual(requests, ['0/0', '0/1', '1/0', '2/0', '2/1', '3/0'])
})

test('it is not repeated over a new connection, twice, after a byte of an answer, or when it was cut', async () => {
  const { post } = agentWith()
  const fresh = await answering(() => undefined)
  assert.equal((await post(fresh.origin).ended).status, null)
  assert.deepEqual(fresh.requests, ['0/0'])

  const twice = await answering((request, connection) =>
    connection === 0 && request === 0 ? fine : undefined,
  )
  assert.equal((await post(twice.origin).ended).status, 200)
  await turn()
  const failed = await post(twice.origin).ended
  assert.deepEqual([failed.status, (failed.error as { code?: string }).code], [null, 'ECONNRESET'])
  assert.deepEqual(twice.requests, ['0/0', '0/1', '1/0'])

  let sent = 0
  const { port, close } = await raw((socket) =>
    socket.on('data', () => {
      sent += 1
      if (sent === 1) socket.write(fine)
      else socket.write('H', () => socket.destroy())
    }),
  )
  after(close)
  assert.equal((await post(`http://shop.test:${port}`).ended).status, 200)
  await turn()
  assert.equal((await post(`http://shop.test:${port}`).ended).status, null)
  assert.equal(sent, 2)

  const silent = await answering((request) => (request === 0 ? fine : ''))
  assert.equal((await post(silent.origin).ended).status, 200)
  await turn()
  const exchange = post(silent.origin)
  while (silent.requests.length < 2) await turn()
  exchange.cut(new Error('enough'))
  assert.equal(((await exchange.ended).error as Error).message, 'enough')
  assert.deepEqual(silent.requests, ['0/0', '0/1'])
})

test('before it is repeated it is asked again whether it may be sent', async () => {
  const { post } = agentWith()
  const { origin, requests } = await answering((request) => (request === 0 ? fine : undefined))
  assert.equal((await post(origin).ended).status, 200)
  await turn()
  let asked = 0
  const { error } = await post(origin, 1024, () => ++asked === 1).ended
  assert.ok(error instanceof NotSent)
  assert.deepEqual([asked, requests], [2, ['0/0', '0/1']])
})

test('TLS names a host without the dot at its end', async () => {
  const { key, cert } = selfSigned('shop.test')
  using _trust = trusted(cert)
  const names: unknown[] = []
  const server = createHttps({ key, cert }, (request, response) => {
    names.push((request.socket as unknown as { servername: unknown }).servername)
    response.end()
  })
  const { post } = agentWith()
  await using opened = await listening(server)
  for (const host of ['shop.test.', 'shop.test'])
    assert.equal((await post(`https://${host}:${opened.port}`).ended).status, 200)
  assert.deepEqual(names, ['shop.test', 'shop.test'])
})
