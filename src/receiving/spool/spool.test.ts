import assert from 'node:assert/strict'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { incomingEvent } from '#test/receiving/incoming-event.ts'
import { MemorySpool } from '#test/receiving/memory-spool.ts'
import { Keyring } from '../../crypto/keyring.ts'
import { systemClock } from '../../runtime/clock.ts'
import { createLog } from '../../telemetry/log.ts'
import type { IncomingEvent } from '../queue/store.ts'
import { openSpool } from './file-spool.ts'
import type { Spool } from './spool.ts'
import { temporaryFolder } from '#test/harness/temporary-folder.ts'

/** Each spool that an implementation of the interface opens. */
const spools: Record<string, (folder: string) => Parameters<typeof openSpool>[0]> = {
  'the file': (folder) => ({
    settings: { file: join(folder, 'spool.db'), maxBytes: 2 ** 27 },
    custom: undefined,
  }),
  'a custom spool': () => ({ settings: undefined, custom: new MemorySpool() }),
}
const parts = { keyring: new Keyring(['a'.repeat(32)]), clock: systemClock, log: createLog('silent') }

for (const [name, choose] of Object.entries(spools))
  describe(name, () => {
    let folder: string
    let spool: Spool<IncomingEvent>
    beforeEach(async () => {
      folder = temporaryFolder()
      spool = (await openSpool(choose(folder), parts))!.spool
    })
    afterEach(async () => {
      await spool.close?.()
    })

    const fill = (count: number, first = 0): Promise<void> =>
      spool.append(Array.from({ length: count }, (_, index) => incomingEvent(`evt_${first + index}`)))
    const read = async (limit: number): Promise<string[]> =>
      (await spool.read(limit)).map(({ content }) => content.eventId)

    test('returns what was appended, in order, again until it is removed', async () => {
      await fill(3)
      await fill(2, 3)
      assert.deepEqual(await read(4), ['evt_0', 'evt_1', 'evt_2', 'evt_3'])
      const entries = await spool.read(9)
      assert.deepEqual(
        entries.map(({ content }) => Object.assign({}, content, { payload: Buffer.from(content.payload) })),
        [0, 1, 2, 3, 4].map((n) => Object.assign(incomingEvent(`evt_${n}`), { payload: Buffer.alloc(1) })),
      )
      await spool.remove(entries.slice(0, 2).map(({ id }) => id))
      assert.deepEqual(await read(9), ['evt_2', 'evt_3', 'evt_4'])
      assert.equal((await spool.size()).entries, 3)
    })

    test('removes any of the entries, and ignores those that are no longer there', async () => {
      await fill(4)
      const ids = (await spool.read(9)).map(({ id }) => id)
      await spool.remove([ids[1]!, ids[3]!])
      await spool.remove([ids[1]!, ids[3]!])
      assert.deepEqual(await read(9), ['evt_0', 'evt_2'])
      await spool.remove([ids[0]!, ids[2]!])
      assert.deepEqual(await read(9), [])
      assert.equal((await spool.size()).entries, 0)
      await fill(1, 9)
      assert.deepEqual(await read(9), ['evt_9'], 'an emptied spool stores again')
    })

    test('a rejected entry is gone from the others', async () => {
      await fill(2)
      const [first] = await spool.read(1)
      await spool.remove([first!.id], 'a constraint')
      assert.deepEqual(await read(9), ['evt_1'])
      assert.equal((await spool.size()).entries, 1)
    })
  })
