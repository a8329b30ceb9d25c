// The viewers of one process, with a clock that the test moves.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LiveHub } from '../../src/events/live/hub.ts'
import { Viewer } from '../../src/events/live/viewer.ts'
import { openEventLog } from '../../src/events/log.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { onEachEngine } from '../harness/engines.ts'
import { ManualClock } from '../harness/manual-clock.ts'

onEachEngine('viewers', (engine) => {
  test('one that comes while credentials are checked is not sent what was meant for the others', async () => {
    const created = await engine.createMigratedDatabase()
    const database = await openDatabase(created.url)
    const clock = new ManualClock()
    const logger = createLog('silent')
    const hub = new LiveHub({ database, log: openEventLog(database), clock, logger })
    try {
      const check = Promise.withResolvers<boolean>()
      const first = new Viewer('first', () => check.promise)
      await hub.add(first, undefined)
      const hello = first.stream.readableLength
      clock.pass(15_000)
      const second = new Viewer('second', async () => true)
      await hub.add(second, undefined)
      check.resolve(true)
      await check.promise
      for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      assert.ok(first.stream.readableLength > hello, 'the heartbeat came')
      assert.equal(second.stream.readableLength, hello, 'only the greeting')
      first.stream.destroy()
      second.stream.destroy()
    } finally {
      hub.close()
      await database.close()
      await created.drop()
    }
  })
})
