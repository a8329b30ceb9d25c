// examples/destination-pubsub against Google's own fake of Pub/Sub.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Message, PubSub } from '@google-cloud/pubsub'
import type * as googleClient from '@google-cloud/pubsub'
import { emit, subscribe, until } from '../emitting/harness.ts'
import type { TestService } from '../harness/service.ts'
import * as harness from './brokers/harness.ts'
import { clientOf, lacking, startPubsub, type Broker } from './brokers/server.ts'

const skip = lacking('destination-pubsub', '@google-cloud/pubsub', 'fake-pubsub')
const topicOf = (name: string): string => `projects/test-shop/topics/${name}`

describe('examples/destination-pubsub', { skip }, () => {
  let broker: Broker
  let service: TestService
  let client: PubSub

  before(async () => {
    broker = await startPubsub()
    process.env['PUBSUB_EMULATOR_HOST'] = broker.address
    // Otherwise its library for credentials asks for a server of Google's cloud.
    process.env['METADATA_SERVER_DETECTION'] = 'none'
    const options = { projectId: 'test-shop' }
    const { PubSub } = clientOf<typeof googleClient>('destination-pubsub', '@google-cloud/pubsub')
    client = new PubSub(options)
    const { pubsub } = await import('../../examples/destination-pubsub/pubsub.ts')
    service = await harness.startDelivering('pubsub', pubsub(options))
  })
  after(async () => {
    await service?.close()
    await client?.close()
    await broker?.close()
  })

  async function createTopic(name: string): Promise<void> {
    await until(
      () =>
        client.createTopic(name).then(
          () => true,
          () => false,
        ),
      'the topic is created',
    )
    await client.topic(topicOf(name)).createSubscription(`${name}-reader`, { enableMessageOrdering: true })
  }
  async function receive(topic: string): Promise<Message> {
    const { promise, resolve, reject } = Promise.withResolvers<Message>()
    const subscription = client.subscription(`${topic}-reader`)
    subscription.on('message', (message) => {
      message.ack()
      resolve(message)
    })
    subscription.on('error', reject)
    const message = await promise
    await subscription.close()
    return message
  }
  const check = ({ data: body, attributes: headers }: Message, secret: string, id: string): void =>
    harness.checkMessage({ body, headers }, secret, id, 'order.paid')

  test('an event arrives with its signature and ordering key, also after an outage and a missing topic', async () => {
    await createTopic('orders')
    const settings = { topic: topicOf('orders'), orderBy: 'data.order' }
    const { id, secret } = await subscribe(service, { destination: 'pubsub', settings })
    await emit(service, { type: 'order.paid', id: 'one', data: { order: 7 } })
    assert.equal(typeof (await harness.outcome(service, id))['messageId'], 'string')
    const first = await receive('orders')
    check(first, secret, 'one')
    assert.equal(first.orderingKey, '7')
    // The fake loses its topics, so attempts also meet a topic that is missing.
    await harness.survivesOutage(service, broker, id, async () => {
      await harness.failedWith(service, id, /NOT_FOUND/)
      await createTopic('orders')
    })
    const second = await receive('orders')
    check(second, secret, 'during-outage')
    assert.equal(second.orderingKey, '7')
    await service.admin(`/subscribers/${id}`, { method: 'DELETE' })
  })

  test('without orderBy there is no ordering key, and other names of topics are rejected', async () => {
    await createTopic('plain')
    const { id, secret } = await subscribe(service, {
      destination: 'pubsub',
      settings: { topic: topicOf('plain') },
    })
    await emit(service, { type: 'order.paid', id: 'plain', data: 1 })
    const message = await receive('plain')
    check(message, secret, 'plain')
    assert.equal(message.orderingKey, '')
    assert.match(await harness.rejection(service, 'pubsub', { topic: 'orders' }), /topic must be like/)
    await service.admin(`/subscribers/${id}`, { method: 'DELETE' })
  })
})
