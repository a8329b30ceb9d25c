// A program that may write to the stream of the spool forges webhooks: what lies there is taken for verified.
import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { Keyring } from '../../src/crypto/keyring.ts'
import { encodeEvents } from '../../src/receiving/queue/event-rows.ts'
import type { IncomingEvent } from '../../src/receiving/queue/incoming.ts'
import { foreignFiles, openAbandoned, openFileSpool } from '../../src/receiving/spool/file-spool.ts'
import { contentsOf } from '../../src/receiving/spool/stream-contents.ts'
import { NatsSpool } from '../../src/receiving/spool/nats-spool.ts'
import { SpoolFile } from '../../src/receiving/sqlite/spool-file.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { startNats, withoutNats, type NatsServers } from '../harness/nats.ts'
import { createEffects } from '../receiving/harness.ts'
import { deliver, drained, oneEffectEach, plain, skip, stage } from '../receiving/nats-scene.ts'

const event = (eventId: string): IncomingEvent => ({
  source: 'provider',
  eventId,
  type: 'work',
  contentType: 'application/json',
  headers: '{}',
  payload: Buffer.from('{"type":"work"}'),
  receivedAt: 1_700_000_000_000,
  dueAt: 1_700_000_000_000,
  status: 'pending',
  orderKey: null,
})
const [a, b] = ['a'.repeat(32), 'b'.repeat(32)]

describe('entries of a stream that another program wrote', { skip: withoutNats }, () => {
  let nats: NatsServers
  let attacker: NatsConnection
  let streams = 0
  let stream: string
  let lines: string[]
  before(async () => {
    nats = await startNats(1)
    attacker = await connect({ servers: [...nats.servers] })
  })
  after(async () => {
    await attacker?.close()
    nats?.close()
  })
  beforeEach(() => {
    stream = `FORGED_${(streams += 1)}`
    lines = []
  })

  function open(secrets: readonly string[], name = stream): NatsSpool {
    const log = createLog('info', { write: (line) => lines.push(line) })
    const settings = { servers: nats.servers, credentials: undefined, tls: undefined, maxBytes: 2 ** 27 }
    return new NatsSpool(
      { kind: 'nats', stream: name, replicas: 1, ...settings },
      { keyring: new Keyring(secrets), log },
    )
  }

  async function idsIn(spool: NatsSpool): Promise<string[]> {
    const portion = await spool.read(2_000)
    await portion.remove()
    return portion.events.map(({ eventId }) => eventId)
  }

  /** The bytes of the newest message of a stream. */
  async function newest(name: string): Promise<Uint8Array> {
    const { streams: all } = await jetstreamManager(attacker)
    const { state } = await all.info(name)
    return (await all.getMessage(name, { seq: state.last_seq }))!.data
  }

  test('they are refused, set aside and logged, and the others are read', async () => {
    const other = open([a], `${stream}_OTHER`)
    await other.append([event('of-another-stream')])
    const spool = open([a])
    try {
      await spool.append([event('first')])
      const genuine = await newest(stream)
      const changed = Buffer.from(genuine)
      changed[changed.indexOf('first')]! ^= 1
      const forgeries = [
        encodeEvents([event('unsigned')]),
        changed,
        await newest(`${stream}_OTHER`),
        Buffer.from('noise'),
        new Uint8Array(0),
      ]
      const client = jetstream(attacker)
      for (const data of forgeries) await client.publish(`${stream}.events.1`, data)
      await spool.append([event('last')])
      assert.deepEqual(await idsIn(spool), ['first', 'last'])
      const { events, setAside } = await contentsOf(await jetstreamManager(attacker), stream)
      assert.deepEqual([events, setAside], [0, forgeries.length])
      const told = lines.filter((line) => line.includes('another program has written to the spool'))
      assert.equal(told.length, 1)
      assert.equal((JSON.parse(told[0]!) as { count: number }).count, forgeries.length)
      assert.deepEqual(Buffer.from(await newest(stream)), Buffer.from(forgeries.at(-1)!))
    } finally {
      await Promise.all([spool.close(), other.close()])
    }
  })

  test('many of them do not keep an event of this service from being read', async () => {
    const spool = open([a])
    try {
      await spool.connect()
      const client = jetstream(attacker)
      await Promise.all(
        Array.from({ length: 300 }, () => client.publish(`${stream}.events.100`, Buffer.from('noise'))),
      )
      await spool.append([event('behind')])
      assert.deepEqual(await idsIn(spool), ['behind'])
    } finally {
      await spool.close()
    }
  })

  test('subjects with other counts do not disturb the reading', async () => {
    const spool = open([a])
    try {
      await spool.connect()
      const client = jetstream(attacker)
      for (const count of ['all', '999999999999999', '-1', '0', '1e9'])
        await client.publish(`${stream}.events.${count}`, Buffer.from('noise'))
      await spool.append([event('one'), event('two')])
      assert.equal((await spool.state()).events, 7)
      assert.deepEqual(await idsIn(spool), ['one', 'two'])
    } finally {
      await spool.close()
    }
  })

  test('a rotation of POSTERN_SECRET loses none: what an unknown key signed stays until a process has it', async () => {
    const [before, both, next] = [open([a]), open([b, a]), open([b])]
    try {
      await before.append([event('old')])
      assert.deepEqual(await idsIn(both), ['old'])
      await both.append([event('new')])
      assert.deepEqual(await idsIn(next), ['new'])
      await before.append([event('late')])
      assert.deepEqual(await idsIn(next), [])
      assert.ok(lines.some((line) => line.includes('a key that POSTERN_SECRET does not have')))
      const { events, setAside } = await contentsOf(await jetstreamManager(attacker), stream)
      assert.deepEqual([events, setAside], [1, 0])
    } finally {
      await Promise.all([before.close(), both.close(), next.close()])
    }
  })
})

describe('a service whose stream another program writes to', { skip }, () => {
  test('handles its own webhooks and none that was forged', async () => {
    const nats = await startNats(1)
    const { link, direct, start, close } = await stage(plain(nats, '?replicas=1'))
    const attacker = await connect({ servers: [...nats.servers] })
    try {
      const service = await start()
      await createEffects(direct)
      link.cut()
      const ids = await deliver(service, 'away', 5)
      await jetstream(attacker).publish('POSTERN_SPOOL.events.1', encodeEvents([event('forged')]))
      link.mend()
      await drained(service)
      ids.push(...(await deliver(service, 'back', 5)))
      await oneEffectEach(direct, ids)
      const queued = await direct.reader.selectFrom('event_queue').select('event_id').execute()
      assert.ok(!queued.some(({ event_id }) => event_id === 'forged'))
    } finally {
      await attacker.close()
      await close()
      nats.close()
    }
  })
})

describe(
  'files that another user put beside the file of a spool',
  {
    skip: process.geteuid?.() !== 0 && 'only root can give a file to another user',
  },
  () => {
    test('are read neither as the own file nor as one that a process left behind', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'postern-foreign-'))
      const setting = join(folder, 'spool.db')
      const forge = (name: string): void => {
        const file = new SpoolFile(name)
        file.add([event('forged')])
        file.close()
        chownSync(name, 65_534, 65_534)
        chmodSync(name, 0o666)
      }
      try {
        forge(setting)
        forge(`${setting}.3`)
        const settings = { kind: 'file', file: setting, maxBytes: 2 ** 27 } as const
        const spool = await openFileSpool(settings)
        assert.deepEqual((await spool.read(10)).events, [])
        assert.equal(await openAbandoned(settings), undefined)
        await spool.close()
        assert.deepEqual(foreignFiles(setting), [setting, `${setting}.3`])
        for (const name of foreignFiles(setting)) chownSync(name, 0, 0)
        const left = await openAbandoned(settings)
        assert.equal((await left!.read(10)).events.length, 1)
        await left!.close()
      } finally {
        rmSync(folder, { recursive: true })
      }
    })
  },
)
