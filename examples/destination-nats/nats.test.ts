import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { DestinationContext, DestinationEvent } from 'postern'
import { startNats, withoutNats, type NatsServer } from '../spool-nats/nats-server.ts'
import { nats } from './nats.ts'
import { withStream } from './stream.ts'

const event: DestinationEvent = {
  id: 'one',
  type: 'order.paid',
  timestamp: '2026-01-01T00:00:00.000Z',
  payload: Buffer.from('{"id":"one"}'),
  headers: { 'webhook-id': 'one' },
  attempt: 1,
}

describe('a destination in NATS JetStream', { skip: withoutNats }, () => {
  let server: NatsServer
  before(async () => (server = await startNats()))
  after(() => server?.close())

  const contextOf = (servers = server.server): DestinationContext => ({
    signal: new AbortController().signal,
    settings: { servers, subject: 'events' },
    secrets: {},
    subscriber: { id: 'a', owner: null },
  })

  test('a message without a stream, and a server that is down, fail', async () => {
    const destination = nats()
    await assert.rejects(async () => destination.deliver(event, contextOf()), /jetstream|responders/i)
    await assert.rejects(async () => destination.deliver(event, contextOf('127.0.0.1:9')))
    await destination.close?.()
  })

  test('a message is in the stream when it is confirmed, once for each ID', async () => {
    const [first, again] = await withStream(server.server, async ({ read }) => {
      const destination = nats()
      const context = contextOf()
      const acks = [await destination.deliver(event, context), await destination.deliver(event, context)]
      const messages = await read()
      assert.equal(messages.length, 1)
      assert.equal(messages[0]!.subject, 'events.order.paid')
      assert.equal(messages[0]!.body.toString(), '{"id":"one"}')
      assert.equal(messages[0]!.headers['webhook-id'], 'one')
      await destination.close?.()
      return acks
    })
    assert.deepEqual(first, { stream: 'EVENTS', seq: 1, duplicate: false })
    assert.deepEqual(again, { stream: 'EVENTS', seq: 1, duplicate: true })
  })

  test('settings are validated', () => {
    const destination = nats()
    const good = { servers: 'nats-1:4222,nats-2:4222', subject: 'events.shop' }
    assert.equal(destination.validate(good), undefined)
    for (const bad of [{ servers: '' }, { servers: 'a b' }, { subject: 'events.*' }, { user: 1 }])
      assert.equal(typeof destination.validate({ ...good, ...bad }), 'string')
  })
})
