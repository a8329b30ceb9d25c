// A program that can write to the spool forges webhooks: what is read there is taken for verified.
import assert from 'node:assert/strict'
import { chmodSync, chownSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, test } from 'node:test'
import { Keyring } from '../../src/crypto/keyring.ts'
import { encodeEvents, type IncomingEvent } from '../../src/receiving/queue/store.ts'
import { foreignFiles, openSpool } from '../../src/receiving/spool/file-spool.ts'
import { SignedSpool, type Spool } from '../../src/receiving/spool/spool.ts'
import { SpoolFile } from '../../src/receiving/sqlite/spool-file.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { incomingEvent as event } from '../receiving/incoming-event.ts'
import { MemorySpool } from '../receiving/memory-spool.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'

const [a, b] = ['a'.repeat(32), 'b'.repeat(32)]

describe('entries of a custom spool that another program wrote', () => {
  let stored: MemorySpool
  let lines: string[]
  beforeEach(() => {
    stored = new MemorySpool()
    lines = []
  })

  function open(...secrets: string[]): Spool<IncomingEvent> {
    const log = createLog('info', { write: (line) => lines.push(line) })
    return new SignedSpool(stored, { keyring: new Keyring(secrets), clock: systemClock, log })
  }

  /** Reads and removes. */
  async function idsIn(spool: Spool<IncomingEvent>): Promise<string[]> {
    const entries = await spool.read(2_000)
    await spool.remove(entries.map(({ id }) => id))
    return entries.map(({ content }) => content.eventId)
  }
  const logged = (text: string): string[] => lines.filter((line) => line.includes(text))

  test('they are rejected and logged, and the others are read', async () => {
    const spool = open(a)
    await spool.append([event('first')])
    const entry = Buffer.from([...stored.entries.values()][0]!)
    // In the signature, at both ends of the content, and in its middle.
    const changed = [5, 20, 36, 37, entry.indexOf('first'), entry.length - 1].map((at) => {
      const copy = Buffer.from(entry)
      copy[at]! ^= 1
      return copy
    })
    const shortened = [0, 1, 36, 37].map((length) => entry.subarray(0, length))
    const forgeries = [encodeEvents([event('unsigned')]), ...changed, ...shortened, Buffer.from('noise')]
    await stored.append(forgeries)
    await spool.append([event('last')])
    assert.deepEqual(await idsIn(spool), ['first', 'last'])
    assert.deepEqual(
      [...stored.rejected.values()],
      forgeries.map(() => 'not signed by this service'),
    )
    assert.equal(stored.entries.size, 0)
    const [line, ...more] = logged('another program has written to the spool')
    assert.deepEqual(more, [])
    assert.equal((JSON.parse(line!) as { count: number }).count, forgeries.length)
  })

  test('many of them do not keep an event of this service from being read', async () => {
    const spool = open(a)
    await stored.append(Array.from({ length: 5_000 }, () => Buffer.from('noise')))
    await spool.append([event('behind')])
    assert.deepEqual(await idsIn(spool), ['behind'])
    assert.equal(stored.rejected.size, 5_000)
  })

  test('nor does a spool that cannot remove them', async () => {
    const spool = open(a)
    await stored.append(Array.from({ length: 2_000 }, () => Buffer.from('noise')))
    await spool.append([event('behind')])
    stored.before = (method) => {
      if (method === 'remove') throw new Error('full')
    }
    assert.deepEqual(await spool.read(2_000), [])
    stored.before = () => undefined
    assert.deepEqual(await idsIn(spool), ['behind'])
  })

  test('a rotation of POSTERN_SECRET loses none: an entry with an unknown key stays until a process has that key', async () => {
    const [before, both, next] = [open(a), open(b, a), open(b)]
    await before.append([event('old')])
    assert.deepEqual(await idsIn(both), ['old'])
    await both.append([event('new')])
    assert.deepEqual(await idsIn(next), ['new'])
    await before.append(Array.from({ length: 2_000 }, (_, index) => event(`late-${index}`)))
    await both.append([event('behind')])
    assert.deepEqual(await idsIn(next), [])
    assert.deepEqual(await idsIn(next), ['behind'], 'those with an unknown key are read past')
    assert.equal(logged('a key that POSTERN_SECRET does not have').length, 1)
    assert.equal((await idsIn(both)).length, 2_000)
    assert.equal(stored.rejected.size, 0)
  })

  test('results of another form than the interface says are an error of the spool', async () => {
    const spool = open(a)
    for (const result of [
      undefined,
      [{}],
      [{ id: 1, content: new Uint8Array(1) }],
      [{ id: '1', content: 'text' }],
    ]) {
      stored.read = () => Promise.resolve(result as never)
      await assert.rejects(spool.read(1), { name: 'StorageUnavailable' })
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
      const folder = temporaryFolder()
      const setting = join(folder, 'spool.db')
      const forge = (name: string): void => {
        const file = new SpoolFile(name)
        file.add([event('forged')])
        file.close()
        chownSync(name, 65_534, 65_534)
        chmodSync(name, 0o666)
      }
      forge(setting)
      forge(`${setting}.3`)
      const parts = { keyring: new Keyring([a]), clock: systemClock, log: createLog('silent') }
      const settings = { file: setting, maxBytes: 2 ** 27 }
      const { spool, openAbandoned } = (await openSpool({ settings, custom: undefined }, parts))!
      assert.deepEqual(await spool.read(10), [])
      assert.equal(await openAbandoned!(), undefined)
      await spool.close!()
      assert.deepEqual(foreignFiles(setting), [setting, `${setting}.3`])
      for (const name of foreignFiles(setting)) chownSync(name, 0, 0)
      const left = await openAbandoned!()
      assert.equal((await left!.read(10)).length, 1)
      await left!.close!()
    })
  },
)
