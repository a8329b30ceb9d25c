// The viewers of one process, with a clock that the test moves.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { LiveHub } from '../../src/events/live/hub.ts'
import { Viewer } from '../../src/events/live/viewer.ts'
import { openEventLog } from '../../src/events/log.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { onEachEngine } from '../harness/engines.ts'
import { started } from '../harness/started.ts'
import { ManualClock } from '../harness/manual-clock.ts'

onEachEngine('viewers', (engine) => {
  let clock: ManualClock
  let hub: LiveHub
  const viewers: Viewer[] = []

  const join = async (credential: string, isAllowed: () => Promise<boolean>): Promise<Viewer> => {
    const viewer = new Viewer({ person: credential, credential, isAllowed })
    viewers.push(viewer)
    await hub.add(viewer, undefined)
    return viewer
  }
  const checksEnd = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }

  const created = started(() => engine.createMigratedDatabase())
  const database = started(() => openDatabase(created.url))
  beforeEach(() => {
    clock = new ManualClock()
    hub = new LiveHub({ database, log: openEventLog(database), clock, logger: createLog('silent') })
  })
  afterEach(() => {
    hub.close()
    for (const { stream } of viewers.splice(0)) stream.destroy()
  })

  test('one that comes while credentials are checked is not sent what was meant for the others', async () => {
    const check = Promise.withResolvers<boolean>()
    const first = await join('first', () => check.promise)
    const hello = first.stream.readableLength
    clock.pass(15_000)
    const second = await join('second', async () => true)
    check.resolve(true)
    await checksEnd()
    assert.ok(first.stream.readableLength > hello, 'the heartbeat came')
    assert.equal(second.stream.readableLength, hello, 'only the greeting')
  })

  test('those of one credential are checked once, and only those of an ended credential are sent away', async () => {
    let checks = 0
    const count = (allowed: boolean) => async () => {
      checks += 1
      return allowed
    }
    const tabs = [await join('good', count(true)), await join('good', count(true))]
    const ended = await join('ended', count(false))
    const hello = ended.stream.readableLength
    clock.pass(15_000)
    await checksEnd()
    assert.equal(checks, 2)
    for (const { stream } of tabs) assert.ok(stream.readableLength > hello)
    assert.equal(Buffer.concat(await ended.stream.toArray()).length, hello)
  })
})
