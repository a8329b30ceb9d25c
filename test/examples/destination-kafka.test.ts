// examples/destination-kafka against kfake, or against a real broker with KAFKA_JARS=FOLDER.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Kafka, KafkaMessage } from 'kafkajs'
import type * as kafkajs from 'kafkajs'
import { emit, subscribe, until } from '../emitting/harness.ts'
import type { TestService } from '../harness/service.ts'
import * as harness from './brokers/harness.ts'
import { clientOf, lacking, startKafka, type Broker } from './brokers/server.ts'

const skip = lacking('destination-kafka', 'kafkajs', 'fake-kafka')

describe('examples/destination-kafka', { skip }, () => {
  let broker: Broker
  let service: TestService
  let client: Kafka

  before(async () => {
    broker = await startKafka()
    const { Kafka } = clientOf<typeof kafkajs>('destination-kafka', 'kafkajs')
    const options = { clientId: 'postern', brokers: [broker.address], logLevel: 0 }
    client = new Kafka(options)
    const { kafka } = await import('../../examples/destination-kafka/kafka.ts')
    service = await harness.startDelivering('kafka', kafka(options))
  })
  after(async () => {
    await service?.close()
    await broker?.close()
  })

  async function createTopic(topic: string): Promise<void> {
    const admin = client.admin()
    await until(
      () =>
        admin.connect().then(
          () => true,
          () => false,
        ),
      'the broker answers',
    )
    await admin.createTopics({ topics: [{ topic, numPartitions: 3, replicationFactor: 1 }] })
    await admin.disconnect()
  }
  /** All messages of a topic, once there are as many as wanted. */
  async function read(topic: string, count: number): Promise<(KafkaMessage & { partition: number })[]> {
    const consumer = client.consumer({ groupId: `${topic}-${count}` })
    const found: (KafkaMessage & { partition: number })[] = []
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      eachMessage: async ({ message, partition }) => void found.push({ ...message, partition }),
    })
    await until(async () => found.length >= count, `${count} messages`)
    await consumer.disconnect()
    return found
  }
  function check({ value: body, headers }: KafkaMessage, secret: string, id: string): void {
    const read = Object.entries(headers).map(([name, value]) => [name, value.toString()])
    harness.checkMessage(
      { body, headers: Object.fromEntries(read) as Record<string, string> },
      secret,
      id,
      'order.paid',
    )
  }

  test('an event arrives with its signature and key, also after an outage', async () => {
    await createTopic('orders')
    const settings = { topic: 'orders', keyBy: 'data.order' }
    const { id, secret } = await subscribe(service, { destination: 'kafka', settings })
    await emit(service, { type: 'order.paid', id: 'one', data: { order: 7 } })
    const { partition, offset } = await harness.outcome(service, id)
    assert.equal(offset, '0')
    await harness.survivesOutage(service, broker, id, async () => {})
    const messages = await read('orders', 2)
    for (const [index, name] of ['one', 'during-outage'].entries()) {
      check(messages[index]!, secret, name)
      assert.equal(messages[index]!.key.toString(), '7')
      assert.equal(messages[index]!.partition, partition)
    }
    await service.admin(`/subscribers/${id}`, { method: 'DELETE' })
  })

  test('a missing topic is retried until somebody creates it, and the key is the event ID by default', async () => {
    const { id, secret } = await subscribe(service, { destination: 'kafka', settings: { topic: 'later' } })
    await emit(service, { type: 'order.paid', id: 'early', data: 1 })
    await harness.failedWith(service, id, /does not host this topic-partition/)
    await createTopic('later')
    await harness.outcome(service, id)
    const [message] = await read('later', 1)
    check(message!, secret, 'early')
    assert.equal(message!.key.toString(), 'early')
    await service.admin(`/subscribers/${id}`, { method: 'DELETE' })
  })

  test('an event larger than the topic accepts fails for good', async () => {
    await createTopic('small')
    const { id } = await subscribe(service, { destination: 'kafka', settings: { topic: 'small' } })
    // Kafka counts the body with key and headers: this one is just too large, and within the limit of POST /events.
    const large = { type: 'order.paid', data: 'x'.repeat(1_048_576 - 100) }
    assert.match((await harness.failsAtOnce(service, id, large))!, /larger than the max message size/)
    assert.match(await harness.rejection(service, 'kafka', { topic: 'a b' }), /topic must be the name/)
  })
})
