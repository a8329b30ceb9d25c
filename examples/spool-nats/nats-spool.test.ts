import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import type { Spool } from 'postern'
import { startNats, withoutNats, type NatsServer } from './nats-server.ts'
import { natsSpool } from './nats-spool.ts'

const contents = (from: number, count: number): Uint8Array[] =>
  Array.from({ length: count }, (_, index) => Buffer.from(`webhook ${from + index}`))

describe('a spool in NATS JetStream', { skip: withoutNats }, () => {
  let nats: NatsServer
  let streams = 0
  let stream: string
  let opened: Spool[]
  before(async () => (nats = await startNats()))
  after(() => nats?.close())
  beforeEach(() => {
    stream = `SPOOL_${(streams += 1)}`
    opened = []
  })
  afterEach(async () => {
    for (const spool of opened) await spool.close?.()
  })

  function open(): Spool {
    const spool = natsSpool({ connection: { servers: nats.server }, stream, replicas: 1, maxBytes: 2 ** 27 })
    opened.push(spool)
    return spool
  }
  async function read(spool: Spool, limit: number): Promise<{ ids: string[]; texts: string[] }> {
    const entries = await spool.read(limit)
    return {
      ids: entries.map(({ id }) => id),
      texts: entries.map(({ content }) => Buffer.from(content).toString()),
    }
  }

  test('returns what was appended, in order, again until it is removed', async () => {
    const spool = open()
    assert.deepEqual(await spool.read(10), [])
    await spool.append(contents(0, 3))
    await spool.append(contents(3, 2))
    const size = await spool.size()
    assert.equal(size.entries, 5)
    assert.equal(size.full, false)
    assert.ok(Math.abs(Date.now() - size.oldest!.getTime()) < 60_000)
    const all = [0, 1, 2, 3, 4].map((number) => `webhook ${number}`)
    assert.deepEqual((await read(spool, 3)).texts, all.slice(0, 3))
    const { ids, texts } = await read(spool, 10)
    assert.deepEqual(texts, all)
    await spool.remove(ids.slice(0, 2))
    assert.deepEqual((await read(spool, 10)).texts, all.slice(2))
    assert.equal((await spool.size()).entries, 3)
  })

  test('stores rejected entries under a subject of their own, with the reason', async () => {
    const spool = open()
    await spool.append(contents(0, 2))
    const { ids } = await read(spool, 10)
    await spool.remove([ids[0]!], 'a\nconstraint')
    assert.deepEqual((await read(spool, 10)).texts, ['webhook 1'])
    assert.equal((await spool.size()).entries, 1)
    const connection = await connect({ servers: nats.server })
    const manager = await jetstreamManager(connection)
    const found = await manager.streams.getMessage(stream, { last_by_subj: `${stream}.rejected` })
    await connection.close()
    assert.equal(Buffer.from(found!.data).toString(), 'webhook 0')
    assert.equal(found!.header.get('Postern-Reason'), 'a constraint')
  })

  test('two processes read different entries, and a third one reads what they left', async () => {
    const [one, other] = [open(), open()]
    await one.append(contents(0, 6))
    const [first, second] = [await read(one, 3), await read(other, 3)]
    assert.equal(new Set([...first.ids, ...second.ids]).size, 6)
    await one.remove(first.ids)
    await other.close?.()
    assert.equal((await open().size()).entries, 3)
  })

  test('a server that was killed has all that was appended', async () => {
    const spool = open()
    await spool.append(contents(0, 3))
    await nats.kill()
    await assert.rejects(spool.append(contents(3, 1)))
    await nats.restart()
    for (let tries = 0; ; tries += 1) {
      const size = await spool.size().catch(() => undefined)
      if (size) break
      assert.ok(tries < 50)
      await sleep(200)
    }
    assert.deepEqual((await read(spool, 3)).texts, ['webhook 0', 'webhook 1', 'webhook 2'])
  })

  test('an entry above max_payload is a RangeError, with which Postern stores the others of the batch', async () => {
    const spool = open()
    await assert.rejects(spool.append([new Uint8Array(10), new Uint8Array(1_100_000)]), RangeError)
    assert.equal((await spool.size()).entries, 0)
  })

  test('a full stream rejects, and stores again when there is room', async () => {
    const spool = open()
    const large = new Uint8Array(900_000)
    let stored = 0
    await assert.rejects(async () => {
      for (; stored < 200; stored += 1) await spool.append([large])
    }, /maximum bytes/)
    assert.ok(stored > 100)
    assert.equal((await spool.size()).full, true)
    const { ids } = await read(spool, 100)
    assert.ok(ids.length < 20, 'a read is limited by bytes, too')
    await spool.remove(ids)
    await spool.append([large])
    assert.equal((await spool.size()).full, false)
  })

  test('settings of an existing stream that lose webhooks are corrected', async () => {
    await open().size()
    const connection = await connect({ servers: nats.server })
    const manager = await jetstreamManager(connection)
    const { config } = await manager.streams.info(stream)
    await manager.streams.update(stream, { ...config, max_age: 600_000_000_000, max_msgs: 5 })
    await open().size()
    const corrected = (await manager.streams.info(stream)).config
    await connection.close()
    assert.deepEqual([corrected.max_age, corrected.max_msgs], [0, -1])
  })
})
