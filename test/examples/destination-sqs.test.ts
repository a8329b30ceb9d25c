// examples/destination-sqs against moto, a server with the API of Amazon SQS.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Received, SQSClient } from '@aws-sdk/client-sqs'
import type * as awsClient from '@aws-sdk/client-sqs'
import { emit, subscribe, until } from '../emitting/harness.ts'
import type { TestService } from '../harness/service.ts'
import * as harness from './brokers/harness.ts'
import { clientOf, lacking, startMoto, type Broker } from './brokers/server.ts'

const skip = lacking('destination-sqs', '@aws-sdk/client-sqs', 'moto_server')
const urlOf = (queue: string): string => `https://sqs.eu-west-1.amazonaws.com/123456789012/${queue}`

describe('examples/destination-sqs', { skip }, () => {
  let broker: Broker
  let service: TestService
  let client: SQSClient
  let aws: typeof awsClient

  before(async () => {
    broker = await startMoto()
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
    const options = { endpoint: `http://${broker.address}`, region: 'eu-west-1', credentials }
    const { sqs } = await import('../../examples/destination-sqs/sqs.ts')
    service = await harness.startDelivering('sqs', sqs(options))
    aws = clientOf('destination-sqs', '@aws-sdk/client-sqs')
    client = new aws.SQSClient(options)
  })
  after(async () => {
    client?.destroy()
    await service?.close()
    await broker?.close()
  })

  async function createQueue(name: string): Promise<void> {
    const fifo = name.endsWith('.fifo') && { Attributes: { FifoQueue: 'true' } }
    await client.send(new aws.CreateQueueCommand({ QueueName: name, ...fifo }))
  }
  const receive = (queue: string): Promise<Received[]> =>
    until(async () => {
      const command = new aws.ReceiveMessageCommand({
        QueueUrl: urlOf(queue),
        MaxNumberOfMessages: 10,
        MessageAttributeNames: ['All'],
        MessageSystemAttributeNames: ['All'],
      })
      return (await client.send(command)).Messages
    }, `a message in ${queue}`)
  function check({ Body = '', MessageAttributes = {} }: Received, secret: string, id: string): void {
    const attributes = Object.entries(MessageAttributes)
    const headers = Object.fromEntries(attributes.map(([name, value]) => [name, value.StringValue!]))
    harness.checkMessage({ body: Buffer.from(Body), headers }, secret, id, 'order.paid')
  }

  test('an event arrives with its signature, also after an outage and a missing queue', async () => {
    await createQueue('orders')
    const settings = { queueUrl: urlOf('orders') }
    const { id, secret } = await subscribe(service, { destination: 'sqs', settings })
    await emit(service, { type: 'order.paid', id: 'one', data: { text: 'ä €\u0000' } })
    assert.match(String((await harness.outcome(service, id))['messageId']), /^[0-9a-f-]{36}$/)
    check((await receive('orders'))[0]!, secret, 'one')
    // moto loses its queues, so attempts also meet a queue that is missing.
    const { attempts } = await harness.survivesOutage(service, broker, id, async () => {
      const missing = await harness.failedWith(service, id, /does not exist/)
      assert.equal(missing.status, 'pending')
      await createQueue('orders')
    })
    assert.ok(attempts.length > 2)
    check((await receive('orders'))[0]!, secret, 'during-outage')
    await service.admin(`/subscribers/${id}`, { method: 'DELETE' })
  })

  test('in a FIFO queue the group is a field of the event, and the event ID prevents duplicates', async () => {
    await createQueue('orders.fifo')
    const settings = { queueUrl: urlOf('orders.fifo'), groupBy: 'data.order.id' }
    const { id, secret } = await subscribe(service, { destination: 'sqs', settings })
    await emit(service, { type: 'order.paid', id: 'fifo', data: { order: { id: 17 } } })
    await harness.outcome(service, id)
    const [message] = await receive('orders.fifo')
    check(message!, secret, 'fifo')
    assert.equal(message!.Attributes!['MessageGroupId'], '17')
    assert.equal(message!.Attributes!['MessageDeduplicationId'], 'fifo')
    await service.admin(`/subscribers/${id}`, { method: 'DELETE' })
  })

  test('a body that SQS cannot carry fails for good, and other hosts are rejected', async () => {
    await createQueue('small')
    const settings = { queueUrl: urlOf('small') }
    const { id } = await subscribe(service, { destination: 'sqs', settings })
    const fails = (data: unknown) => harness.failsAtOnce(service, id, { type: 'order.paid', data })
    assert.match((await fails('\uFFFE'))!, /characters that SQS does not accept/)
    assert.match((await fails('x'.repeat(1_048_576 - 100)))!, /InvalidParameterValue: /)
    for (const queueUrl of [
      'https://evil.example/123456789012/orders',
      'https://sqs.x.amazonaws.com.evil/1/a',
    ])
      assert.match(await harness.rejection(service, 'sqs', { queueUrl }), /queueUrl must be like/)
  })
})
