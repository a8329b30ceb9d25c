// A stream and a consumer that exist before the service uses them: settings that lose webhooks are repaired or refused.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { AckPolicy, jetstreamManager, type JetStreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { openNatsLink } from '../../src/receiving/spool/nats-link.ts'
import { startNats, withoutNats, type NatsServers } from '../harness/nats.ts'

const maxBytes = 2 ** 27

describe('a stream that exists', { skip: withoutNats }, () => {
  let nats: NatsServers
  let operator: NatsConnection
  let manager: JetStreamManager
  let streams = 0
  let name: string
  before(async () => {
    nats = await startNats(1)
    operator = await connect({ servers: [...nats.servers] })
    manager = await jetstreamManager(operator)
  })
  after(async () => {
    await operator?.close()
    nats?.close()
  })
  beforeEach(() => void (name = `EXISTING_${(streams += 1)}`))

  /** Opens the spool, and closes it. */
  async function open(): Promise<void> {
    const place = { servers: nats.servers, stream: name, replicas: 1, maxBytes }
    const link = await openNatsLink({ kind: 'nats', credentials: undefined, tls: undefined, ...place })
    await link.connection.close()
  }

  /** Creates the stream as the service does, and its consumer with the given settings. */
  async function withConsumer(settings: object): Promise<void> {
    await open()
    await manager.consumers.delete(name, 'drainer')
    const filter = `${name}.events.*`
    await manager.consumers.add(name, {
      durable_name: 'drainer',
      ack_policy: AckPolicy.Explicit,
      filter_subject: filter,
      ...settings,
    })
  }

  test('a stream that drops or refuses webhooks is repaired', async () => {
    await open()
    const made = (await manager.streams.info(name)).config
    const lossy = { max_age: 600_000_000_000, max_msgs: 5, max_msgs_per_subject: 2, max_msg_size: 1_000 }
    await manager.streams.update(name, {
      ...made,
      ...lossy,
      discard_new_per_subject: true,
      no_ack: true,
      subjects: [`${name}.aside`],
    })
    await open()
    assert.deepEqual((await manager.streams.info(name)).config, made)
  })

  test('a stream with subjects of another program is refused', async () => {
    await open()
    const { config } = await manager.streams.info(name)
    await manager.streams.update(name, { ...config, subjects: [...config.subjects, 'orders.*'] })
    await assert.rejects(open(), { name: 'NatsMisconfigured', message: /orders\.\*.*choose another name/ })
  })

  test('a consumer that gives up or reads no contents is repaired', async () => {
    await withConsumer({ max_deliver: 3, backoff: [1_000_000_000, 2_000_000_000], headers_only: true })
    await open()
    const { config } = await manager.consumers.info(name, 'drainer')
    assert.equal(config.max_deliver, -1)
    assert.equal(config.headers_only ?? false, false)
    assert.deepEqual(config.backoff ?? [], [])
  })

  test('a consumer of another kind is refused with what to do', async () => {
    await withConsumer({ filter_subject: `${name}.aside` })
    await assert.rejects(open(), { name: 'NatsMisconfigured', message: /filter_subject.*nats consumer rm/ })
    await manager.consumers.delete(name, 'drainer')
    await open()
  })
})
