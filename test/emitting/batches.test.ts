// POST /events with an array and with lines of NDJSON.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { systemClock } from '../../src/runtime/clock.ts'
import { adminKey, onEachEngine, started, startReceiver, type TestService, fields } from '../harness/index.ts'
import {
  readLines,
  type LineAnswer,
  emitLines,
  deliveries,
  emit,
  expectJson,
  startEmitting,
  subscribe,
} from './harness.ts'

/** A body that is sent by hand, and the answers as they come. */
function openStream(service: TestService, expect = false) {
  const url = new URL('/events', service.baseUrl)
  const call = request(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${adminKey}`,
      'content-type': 'application/x-ndjson',
      'transfer-encoding': 'chunked',
      ...(expect && { expect: '100-continue' }),
    },
  })
  let text = ''
  let changed = (): void => undefined
  const response = once(call, 'response').then(([message]) => {
    const incoming = message as IncomingMessage
    incoming.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      changed()
    })
    incoming.on('error', () => undefined)
    return incoming
  })
  return {
    call,
    response,
    async answers(count: number): Promise<LineAnswer[]> {
      while (readLines(text.slice(0, text.lastIndexOf('\n') + 1)).length < count)
        await new Promise<void>((resolve) => (changed = resolve))
      return readLines(text)
    },
  }
}

/** Whether the stream takes more before the service has answered 50 calls, and so had the time to go on reading. */
async function drains(service: TestService, stream: ClientRequest): Promise<boolean> {
  let drained = false
  stream.once('drain', () => (drained = true))
  for (let calls = 0; calls < 50 && !drained; calls += 1) await service.fetch('/healthz')
  return drained
}

onEachEngine('many events', (engine) => {
  const service = started(() => startEmitting(engine))

  test('an array is emitted atomically and in order, and a repetition returns the first results', async () => {
    await using receiver = await startReceiver()
    const { id } = await subscribe(service, { url: receiver.url, eventTypes: ['order.*'] })
    const events = [
      ...Array.from({ length: 600 }, (_, n) => ({ id: `o-${n}`, type: 'order.paid', data: { n } })),
      { id: 'u-1', type: 'user.created', data: 1 },
      { id: 'o-0', type: 'order.paid', data: { n: 0 } },
    ]
    const send = () => expectJson(service, 202, '/events', { method: 'POST', json: events })
    const first = (await send()) as { id: number; eventId: string; type: string }[]
    assert.equal(first.length, events.length)
    assert.deepEqual(fields(first, 'eventId', 'type'), fields(events, 'id', 'type'))
    const places = first.slice(0, 601).map((emitted) => emitted.id)
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    )
    assert.equal(new Set(places).size, 601)
    assert.equal(first[601]!.id, first[0]!.id, 'the same event twice in one call')
    assert.deepEqual(await send(), first)
    await receiver.waitFor(600)
    assert.equal(receiver.calls.length, 600)
    assert.equal((await deliveries(service, id, '?limit=100')).length, 100)
  })

  test('one invalid event refuses the whole array, and the problem names it', async () => {
    await using service = await startEmitting(engine)
    await emit(service, { id: 'taken', type: 'a', data: 1 })
    const good = { id: 'good', type: 'a', data: 1 }
    const refused: [bad: unknown, status: number, pointer: string][] = [
      [{ id: 'taken', type: 'a', data: 2 }, 409, '/1'],
      [{ id: 'good', type: 'a', data: 2 }, 409, '/1'],
      [{ type: 'a b', data: 2 }, 400, '/1/type'],
      [{ type: 'a' }, 400, '/1'],
      [{ type: 'a', data: 1, audience: 'a b' }, 400, '/1/audience'],
      [[good], 400, '/1'],
      [7, 400, '/1'],
    ]
    for (const [bad, status, pointer] of refused) {
      const response = await service.admin('/events', { method: 'POST', json: [good, bad] })
      const problem = (await response.json()) as { detail: string; source: { pointer: string } }
      assert.equal(response.status, status, JSON.stringify(bad))
      assert.equal(problem.source.pointer, pointer, JSON.stringify(problem))
    }
    assert.equal((await service.admin('/events', { method: 'POST', json: [] })).status, 400)
    const tooMany = Array.from({ length: 1001 }, () => ({ type: 'a', data: 1 }))
    assert.equal((await service.admin('/events', { method: 'POST', json: tooMany })).status, 400)
    const { data } = await expectJson<{ data: unknown[] }>(service, 200, '/events')
    assert.equal(data.length, 1)
  })

  test('concurrent arrays with the same ids in different orders emit each id once without failures', async () => {
    const { id } = await subscribe(service, { url: 'http://127.0.0.1:9/' })
    const events = Array.from({ length: 40 }, (_, n) => ({ id: `e-${n}`, type: 'a', data: n }))
    const turned = (by: number) => [...events.slice(by), ...events.slice(0, by)]
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        expectJson<{ id: number; eventId: string }[]>(service, 202, '/events', {
          method: 'POST',
          json: n % 2 === 0 ? turned(n * 5) : turned(n * 5).toReversed(),
        }),
      ),
    )
    const places = new Map(answers[0]!.map((one) => [one.eventId, one.id]))
    for (const answer of answers)
      for (const one of answer) assert.equal(one.id, places.get(one.eventId), one.eventId)
    assert.equal((await deliveries(service, id, '?limit=100')).length, 40)
  })

  test('ordered subscribers get the events of an array in its order', async () => {
    await using receiver = await startReceiver()
    await subscribe(service, { url: receiver.url, ordered: true })
    await expectJson(service, 202, '/events', {
      method: 'POST',
      json: Array.from({ length: 30 }, (_, n) => ({ id: `z-${99 - n}`, type: 'a', data: n })),
    })
    const calls = await receiver.waitFor(30)
    const order = calls.map(({ body }) => (JSON.parse(body.toString()) as { data: number }).data)
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    )
  })

  test('lines get one result each, and an invalid line does not affect others', async () => {
    await using receiver = await startReceiver()
    await subscribe(service, { url: receiver.url })
    await emit(service, { id: 'taken', type: 'a', data: 1 })
    const lines = [
      '{"id":"l-1","type":"a","data":12345678901234567890}',
      '',
      '{"id":"l-1","type":"a","data":12345678901234567890}\r',
      '{"id":"l-1","type":"a","data":12345678901234567891}',
      '{"id":"taken","type":"a","data":1}',
      '{"id":"taken","type":"a","data":2}',
      '{"type":"a"}',
      '{',
      '[]',
      '   ',
      `{"type":"a","data":"${'x'.repeat(1024 * 1024)}"}`,
      '{"id":"l-2","type":"a","data":null}',
    ]
    const answers = await emitLines(service, lines.join('\n'))
    assert.deepEqual(fields(answers, 'line', 'status'), [
      [1, 202],
      [3, 202],
      [4, 409],
      [5, 202],
      [6, 409],
      [7, 400],
      [8, 400],
      [9, 400],
      [10, 400],
      [11, 413],
      [12, 202],
    ])
    assert.equal(answers[0]!.id, answers[1]!.id)
    assert.equal(answers[2]!.code, 'id-conflict')
    assert.match(answers[5]!.detail ?? '', /data/)
    const calls = await receiver.waitFor(3)
    assert.ok(calls.some(({ body }) => body.toString().endsWith('"data":12345678901234567890}')))
    assert.deepEqual(await emitLines(service, ''), [])
    assert.equal((await emitLines(service, Uint8Array.from([0xff, 0x0a])))[0]!.status, 400)
  })

  test('slow lines are answered as they arrive; answered events stay when the sender disconnects', async () => {
    const { id } = await subscribe(service, { url: 'http://127.0.0.1:9/' })
    const stream = openStream(service, true)
    stream.call.on('error', () => undefined)
    stream.call.write('{"id":"s-1","type":"a","da')
    stream.call.write('ta":1}\n')
    const [first] = await stream.answers(1)
    assert.equal(first!.status, 202)
    stream.call.write('{"id":"s-2","type":"a","data":2}\n{"id":"s-3","type":"a"')
    assert.equal((await stream.answers(2))[1]!.status, 202)
    stream.call.destroy()
    assert.equal((await deliveries(service, id)).length, 2)
    assert.equal((await service.fetch('/healthz')).status, 200)
  })

  test('thousands of lines in one stream, with backpressure for a client that reads no results', async () => {
    // A busy machine takes longer than a request may last, and than lines are taken from one call.
    const timeouts = { headers: 300_000, request: 600_000, check: 1_000, stillness: 600_000 }
    const begun = Date.now()
    const clock = { ...systemClock, now: () => begun }
    await using service = await startEmitting(engine, {
      parts: { roles: { http: true, workers: false }, timeouts, clock },
    })
    const lines = Array.from({ length: 5_000 }, (_, n) => `{"id":"b-${n}","type":"a","data":${n}}\n`).join('')
    const answers = await emitLines(service, lines)
    assert.equal(answers.length, 5_000)
    assert.ok(answers.every(({ status }, index) => status === 202 && answers[index]!.line === index + 1))

    // 32 MiB of refusals, and nobody takes the answers: the sender's pipe fills up.
    const stream = openStream(service)
    stream.call.on('error', () => undefined)
    stream.call.write('[]\n')
    const response = await stream.response
    response.pause()
    // Answers are twice as long as these lines: few of them fill the buffers of the system, which take megabytes.
    const piece = `{"type":"a","data":1,"${'x'.repeat(4_000)}":1}\n`.repeat(15)
    let sent = 0
    for (; sent < 32 * 1024 * 1024; sent += piece.length) {
      if (!stream.call.write(piece) && !(await drains(service, stream.call))) break
    }
    assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes went in`)
    // It was the answers that nobody took.
    const drained = once(stream.call, 'drain')
    response.resume()
    await drained
    stream.call.destroy()
  })

  test('without a key no line is processed', async () => {
    const response = await service.fetch('/events', {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: '{"type":"a","data":1}\n',
    })
    assert.equal(response.status, 401)
  })
})
