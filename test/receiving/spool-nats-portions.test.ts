// Portions of a stream: each message is in one of them, over all processes, until it is given back.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { IncomingEvent } from '../../src/receiving/queue/incoming.ts'
import { Keyring } from '../../src/crypto/keyring.ts'
import { NatsSpool } from '../../src/receiving/spool/nats-spool.ts'
import type { Portion } from '../../src/receiving/spool/spool.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { startNats, withoutNats, type NatsServers } from '../harness/nats.ts'
import { eventually } from './harness.ts'

const event = (id: string): IncomingEvent => ({
  source: 'provider',
  eventId: id,
  type: 'work',
  contentType: 'application/json',
  headers: '{}',
  payload: new Uint8Array(10),
  receivedAt: 1_700_000_000_000,
  dueAt: 1_700_000_000_000,
  status: 'pending',
  orderKey: null,
})
const masterSecret = 'a'.repeat(32)
const idsOf = (...portions: Portion[]): string[] =>
  portions.flatMap(({ events }) => events.map(({ eventId }) => eventId)).toSorted()
const range = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => String(index)).toSorted()

describe('batches of a stream', { skip: withoutNats }, () => {
  let nats: NatsServers
  let streams = 0
  let stream: string
  before(async () => (nats = await startNats(1)))
  after(() => nats?.close())
  beforeEach(() => void (stream = `PORTIONS_${(streams += 1)}`))

  const open = (...secrets: readonly string[]): NatsSpool =>
    new NatsSpool(
      {
        kind: 'nats',
        servers: nats.servers,
        credentials: undefined,
        tls: undefined,
        stream,
        replicas: 1,
        maxBytes: 2 ** 27,
      },
      { keyring: new Keyring(secrets.length > 0 ? secrets : [masterSecret]), log: createLog('silent') },
    )

  /** Each in a message of its own. */
  async function fill(spool: NatsSpool, count: number): Promise<void> {
    for (const id of range(count)) await spool.append([event(id)])
  }

  test('two may be read before the first is removed, and the later one is removed first', async () => {
    const spool = open()
    try {
      await fill(spool, 6)
      const first = await spool.read(3)
      const second = await spool.read(3)
      assert.deepEqual(idsOf(first, second), range(6))
      assert.deepEqual((await spool.read(3)).events, [], 'all are held')
      await second.remove()
      await first.remove()
      assert.equal((await spool.state()).events, 0)
    } finally {
      await spool.close()
    }
  })

  test('released batches are read again, also while others are claimed', async () => {
    const spool = open()
    try {
      await fill(spool, 6)
      const first = await spool.read(2)
      const second = await spool.read(2)
      await first.release()
      await spool.append([event('later')])
      const rest: Portion[] = []
      const readAnother = async (): Promise<number> => {
        const portion = await spool.read(2)
        if (portion.events.length > 0) rest.push(portion)
        return idsOf(...rest).length
      }
      await eventually(async () => (await readAnother()) >= 3, 'some are read beside those that are held')
      await second.remove()
      await eventually(async () => (await readAnother()) === 5, 'the others are read')
      assert.deepEqual(idsOf(second, ...rest), [...range(6), 'later'].toSorted())
      for (const portion of rest) await portion.remove()
      assert.equal((await spool.state()).events, 0)
    } finally {
      await spool.close()
    }
  })

  test('two processes read different messages, and each removes its own', async () => {
    const [one, other] = [open(), open()]
    try {
      await fill(one, 8)
      const portions = [await one.read(2), await other.read(2), await one.read(2), await other.read(2)]
      assert.deepEqual(idsOf(...portions), range(8))
      await Promise.all(portions.map((portion) => portion.remove()))
      assert.equal((await other.state()).events, 0)
      assert.equal((await one.state()).events, 0)
    } finally {
      await Promise.all([one.close(), other.close()])
    }
  })

  test('a close during a read leaves all messages in the stream', async () => {
    const spool = open()
    await fill(spool, 4)
    const reading = spool.read(4)
    await spool.close()
    await reading.catch(() => undefined)
    const next = open()
    try {
      assert.equal((await next.state()).events, 4)
    } finally {
      await next.close()
    }
  })
})
