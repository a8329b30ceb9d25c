// The viewers of one process, with a clock that the test moves.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { LiveHub, Viewer } from '../../src/events/live/hub.ts'
import { openEventLog } from '../../src/events/log.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { onEachEngine, started } from '../harness/index.ts'
import { ManualClock } from '../harness/manual-clock.ts'
import { eventually } from '../receiving/harness.ts'
import { insertReceived } from '../receiving/insert-received.ts'

onEachEngine('viewers', (engine) => {
  let clock: ManualClock
  let hub: LiveHub
  const viewers: Viewer[] = []

  const join = async (
    credential: string,
    isAllowed: () => Promise<boolean>,
    lastEvent?: number,
  ): Promise<Viewer> => {
    const viewer = new Viewer({ person: credential, credential, isAllowed })
    viewers.push(viewer)
    await hub.add(viewer, lastEvent)
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

  test('what is cut off anywhere resumes behind the last event that came', async () => {
    const first = await insertPending('first')
    const viewer = await join('reader', async () => true)
    const greeting = viewer.stream.readableLength
    const second = await insertPending('second')
    await database.transaction((tx) =>
      tx
        .updateTable('event_queue')
        .set({ status: 'processed', processed_at: 1 })
        .where('event', '=', first)
        .execute(),
    )
    clock.pass(1_000)
    await eventually(() => viewer.stream.readableLength > greeting)
    const messages = readMessages(viewer)
    assert.deepEqual(messages, [
      ['hello', first, undefined],
      ['event', second, second],
      ['event', second, first],
    ])

    // The greeting must not count as the events that follow it.
    const again = await join('again', async () => true, first)
    assert.deepEqual(readMessages(again), [
      ['hello', undefined, undefined],
      ['event', second, second],
      ['changed', undefined, undefined],
    ])
  })

  function insertPending(event_id: string): Promise<number> {
    return database.transaction((tx) => insertReceived(tx, { event_id, source: 'shop', type: 'order' }))
  }
})

/** The messages that wait for a viewer. */
function readMessages({
  stream,
}: Viewer): [name: string, id: number | undefined, event: number | undefined][] {
  const text = String(stream.read(stream.readableLength) as Buffer)
  return text
    .split('\n\n')
    .filter(Boolean)
    .map((message) => {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(message)?.[1]
      const id = field('id')
      const { id: event } = JSON.parse(field('data')!) as { id?: number }
      return [field('event')!, id === undefined ? undefined : Number(id), event]
    })
}
