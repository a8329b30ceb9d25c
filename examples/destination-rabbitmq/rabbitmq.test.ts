import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { DestinationContext, DestinationEvent } from 'postern'
import { withQueue } from './queue.ts'
import { rabbitmq } from './rabbitmq.ts'
import { startRabbit, withoutRabbit, type RabbitServer } from './rabbitmq-server.ts'

const event: DestinationEvent = {
  id: 'one',
  type: 'order.paid',
  timestamp: '2026-01-01T00:00:00.000Z',
  payload: Buffer.from('{"id":"one"}'),
  headers: { 'webhook-id': 'one' },
  attempt: 1,
}

describe('a destination in RabbitMQ', { skip: withoutRabbit }, () => {
  let server: RabbitServer
  before(async () => (server = await startRabbit()))
  after(() => server?.close())

  const contextOf = (settings: object = {}, signal = new AbortController().signal): DestinationContext => ({
    signal,
    settings: { url: server.url, exchange: 'amq.topic', user: 'guest', ...settings },
    secrets: { password: 'guest' },
    subscriber: { id: 'a', owner: null },
  })

  test('a message without a queue, a wrong exchange and a wrong password fail', async () => {
    const destination = rabbitmq()
    await assert.rejects(
      async () => destination.deliver(event, contextOf()),
      /no queue is bound for order\.paid/,
    )
    await assert.rejects(async () => destination.deliver(event, contextOf({ exchange: 'none' })), /closed/)
    const wrong = { ...contextOf(), secrets: { password: 'wrong' } }
    await assert.rejects(async () => destination.deliver(event, wrong), /ACCESS_REFUSED|403/)
    await destination.close?.()
  })

  test('a message is in the queue when it is confirmed, with the headers of the signature', async () => {
    await withQueue(server.url, (channel) => channel.bindQueue('orders', 'amq.topic', 'order.*'))
    const destination = rabbitmq()
    const context = contextOf()
    await Promise.all([1, 2].map(async (attempt) => destination.deliver({ ...event, attempt }, context)))
    const found = await withQueue(server.url, (channel) => channel.get('orders', { noAck: true }))
    assert.ok(found)
    assert.equal(found.content.toString(), '{"id":"one"}')
    assert.deepEqual([found.properties.messageId, found.properties.headers], ['one', { 'webhook-id': 'one' }])
    await destination.close?.()
  })

  test('a broker that is down fails at once, or when the signal aborts; later it gets the event', async () => {
    const destination = rabbitmq()
    const context = contextOf()
    await destination.deliver(event, context)
    await server.kill()
    await assert.rejects(async () => destination.deliver(event, context))
    await server.restart()
    // The broker writes bindings some time after it confirmed them.
    await withQueue(server.url, (channel) => channel.bindQueue('orders', 'amq.topic', 'order.*'))
    await destination.deliver(event, context)
    const aborted = AbortSignal.abort(new Error('too late'))
    await assert.rejects(async () => destination.deliver(event, contextOf({}, aborted)), /too late/)
    await destination.close?.()
  })

  test('settings are validated', () => {
    const destination = rabbitmq()
    const good = { url: 'amqps://mq.example.com/shop', exchange: 'events', user: 'postern' }
    assert.equal(destination.validate(good), undefined)
    for (const bad of [{ url: 'https://a' }, { url: 'amqp://u:p@a' }, { exchange: 1 }, { user: undefined }])
      assert.equal(typeof destination.validate({ ...good, ...bad }), 'string')
  })
})
