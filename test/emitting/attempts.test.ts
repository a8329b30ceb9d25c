import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminKey, type Answer, fields, onEachEngine, started, startReceiver } from '../harness/index.ts'
import { deliveries, emit, expectJson, settled, startEmitting, subscribe, until } from './harness.ts'

onEachEngine('attempts', (engine) => {
  const service = started(() => startEmitting(engine))

  test('redirects, statuses, and servers that cannot be reached have a plain message', async () => {
    const moved: Answer = (response) =>
      response.writeHead(302, { location: 'http://127.0.0.1:9/elsewhere' }).end()
    const cases: [answer: Answer, error: RegExp][] = [
      [moved, /returned HTTP 302 to http:\/\/127.0.0.1:9\/elsewhere: redirects are not followed/],
      [404, /^returned HTTP 404$/],
    ]
    const receivers = await Promise.all(cases.map(([answer]) => startReceiver(answer)))
    const failing = (url: string) => subscribe(service, { url, retrySchedule: [0] })
    const ids = await Promise.all(receivers.map(async ({ url }) => (await failing(url)).id))
    const refused = await failing('http://127.0.0.1:9/')
    const unknown = await failing('http://name.invalid/')
    await emit(service, { type: 'a', data: 1 })
    for (const [index, [, error]] of cases.entries())
      assert.match((await settled(service, ids[index]!, 'dead')).attempts[0]!.error ?? '', error)
    const [attempt] = (await settled(service, refused.id, 'dead')).attempts
    assert.match(attempt!.error ?? '', /refused/)
    assert.equal(attempt!.failure, 'refused')
    assert.match(attempt!.advice ?? '', /port/)
    assert.match((await settled(service, unknown.id, 'dead')).attempts[0]!.error ?? '', /resolve/)
    await Promise.all(receivers.map((receiver) => receiver.close()))
  })

  test('each attempt shows its phases and whether the connection was reused', async () => {
    await using receiver = await startReceiver()
    const { id } = await subscribe(service, { url: receiver.url })
    await emit(service, { type: 'a', data: 1 })
    const first = (await settled(service, id, 'delivered')).attempts[0]!
    assert.equal(first.failure, null)
    assert.equal(first.advice, null)
    assert.equal(first.phases!.reused, false)
    assert.equal(first.phases!.dns, null, 'an address needs no look-up')
    assert.ok(first.phases!.connect! >= 0 && first.phases!.firstByte! >= 0)
    assert.ok(first.phases!.total >= first.phases!.connect! + first.phases!.firstByte! - 0.2)
    await emit(service, { type: 'a', data: 2 })
    await until(async () => {
      const all = await deliveries(service, id)
      return all.length === 2 && all.every(({ status }) => status === 'delivered')
    }, 'both are delivered')
    const { phases } = (await settled(service, id, 'delivered')).attempts[0]!
    assert.equal(phases!.connect === null, phases!.reused)
  })

  test('410 Gone ends the delivery and disables the subscriber', async () => {
    await using receiver = await startReceiver(410)
    const { id } = await subscribe(service, { url: receiver.url })
    await emit(service, { type: 'a', data: 1 })
    const dead = await settled(service, id, 'dead')
    assert.equal(dead.attempts.length, 1)
    const subscriber = await until(async () => {
      const path = `/subscribers/${id}`
      const answer = await expectJson<{ status: string; disabledReason: string }>(service, 200, path)
      return answer.status === 'disabled' && answer
    }, 'the subscriber is disabled')
    assert.match(subscriber.disabledReason, /410/)
    await emit(service, { type: 'a', data: 2 })
    assert.equal((await deliveries(service, id)).length, 1)
  })

  test('Retry-After is honoured', async () => {
    const later: Answer = (response) => response.writeHead(429, { 'retry-after': '1' }).end()
    await using receiver = await startReceiver(later, 204)
    const { id } = await subscribe(service, { url: receiver.url })
    await emit(service, { type: 'a', data: 1 })
    await settled(service, id, 'delivered')
    const [first, second] = receiver.calls
    assert.ok(second!.at - first!.at >= 900, `${second!.at - first!.at} ms`)
  })

  test('custom headers are sent, and neither their values nor cookies of the answer are logged', async () => {
    await using receiver = await startReceiver((response) =>
      response.writeHead(200, { 'content-type': 'text/plain', 'set-cookie': 'session=1' }).end(),
    )
    const { id } = await subscribe(service, {
      url: receiver.url,
      headers: { authorization: 'Bearer s3cret', 'x-tenant': 'acme' },
    })
    await emit(service, { type: 'a', data: 1 })
    const [call] = await receiver.waitFor(1)
    assert.equal(call!.headers['authorization'], 'Bearer s3cret')
    assert.equal(call!.headers['x-tenant'], 'acme')
    const settledOne = await settled(service, id, 'delivered')
    const { responseHeaders } = settledOne.attempts[0]!
    assert.deepEqual(
      [responseHeaders?.['content-type'], responseHeaders?.['set-cookie']],
      ['text/plain', '[redacted]'],
    )
    const logged = JSON.stringify(settledOne)
    assert.ok(
      !logged.includes('s3cret') && !logged.includes(String(call!.headers['webhook-signature'])),
      logged,
    )
    assert.ok(logged.includes('"authorization":"[redacted]"'))
  })

  test('dead letters and attempts are counted', async () => {
    await using service = await startEmitting(engine)
    await using receiver = await startReceiver(500)
    const { id } = await subscribe(service, { url: receiver.url })
    await emit(service, { type: 'a', data: 1 })
    await settled(service, id, 'dead')
    const metrics = await (
      await service.fetch('/metrics', { headers: { authorization: `Bearer ${adminKey}` } })
    ).text()
    assert.match(metrics, /postern_delivery_attempts_total\{outcome="retry"\} 1/)
    assert.match(metrics, /postern_delivery_attempts_total\{outcome="dead"\} 1/)
  })

  test('a stop waits for attempts in progress, and releases those that do not end in time', async () => {
    await using database = await engine.createMigratedDatabase()
    const slowly: Answer = (response) => setTimeout(() => response.writeHead(204).end(), 300)
    const receiver = await startReceiver(slowly)
    const service = await startEmitting(engine, { databaseUrl: database.url })
    const { id } = await subscribe(service, { url: receiver.url })
    await emit(service, { type: 'a', data: 1 })
    await receiver.waitFor(1)
    await service.stop(60_000)

    const second = await startEmitting(engine, { databaseUrl: database.url })
    assert.deepEqual(fields(await deliveries(second, id), 'status', 'attemptCount'), [['delivered', 1]])
    receiver.answer(() => undefined)
    await emit(second, { type: 'a', data: 2 })
    await receiver.waitFor(2)
    await second.stop(100)

    receiver.answer(204)
    const third = await startEmitting(engine, { databaseUrl: database.url })
    const delivered = await settled(third, id, 'delivered')
    assert.deepEqual(
      [delivered.attemptCount, delivered.attempts.length],
      [1, 1],
      'the attempt that was broken off does not count',
    )
    await Promise.all([third.stop(5_000), receiver.close()])
  })
})
