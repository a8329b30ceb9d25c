import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimedEvent, registeredHandler } from '#test/harness/handled-events.ts'
import type { HandlerCall } from '../../runtime/call-context.ts'
import { AbortBroadcast } from '../../runtime/abort-broadcast.ts'
import type { SavepointScope } from '../../storage/sharing/savepoint-scope.ts'
import type { Log } from '../../telemetry/log.ts'
import { plansOver } from '../handlers/plan.ts'
import type { ProcessedMarker } from '../queue/store.ts'
import { attempt, type AttemptParts } from './attempt.ts'
import { BlockedLoop } from './blocked-loop.ts'

/** An event loop in which time passes only when the test says so. */
function startLoop() {
  const lines: object[] = []
  const time = { now: 0 }
  let due = Infinity
  let beat = (): void => assert.fail('no timer is set')
  const clock = {
    elapsed: () => time.now,
    now: () => time.now,
    after(ms: number, callback: () => void) {
      due = time.now + ms
      beat = callback
      return () => (due = Infinity)
    },
  }
  const log = { warn: (line: object, message: string) => void lines.push({ ...line, message }) }
  const loop = new BlockedLoop({ clock, log: log as unknown as Log })
  return {
    lines,
    loop,
    time,
    get isBeating() {
      return due < Infinity
    },
    /** A turn of the event loop: its timer, if that is due. */
    turn: (): void => {
      if (time.now < due) return
      due = Infinity
      beat()
    },
  }
}
const call = (handler: string, event: number): HandlerCall => ({
  handler,
  source: 'shop',
  event,
  type: handler,
  fail: () => true,
})
const shown = (handler: string, event: number) => ({ handler, source: 'shop', event, type: handler })

test('a call that blocks the event loop before its first await is named alone', () => {
  const { lines, loop, time, turn } = startLoop()
  loop.watch(call('waits', 1))
  const blocking = call('blocks', 2)
  const ended = loop.watch(blocking)
  loop.start(blocking, () => (time.now += 40_000))
  ended()
  turn()
  assert.deepEqual(lines, [
    { ...shown('blocks', 2), ms: 40_000, message: 'a handler blocked the event loop' },
  ])
})

test('all that were running are named when the loop is blocked later, also those that ended by then', () => {
  const scene = startLoop()
  const { lines, loop, time, turn } = scene
  const firstEnded = loop.watch(call('first', 1))
  const secondEnded = loop.watch(call('second', 2))
  for (let turns = 0; turns < 10; turns += 1) {
    time.now += 500
    turn()
  }
  assert.deepEqual(lines, [])
  time.now += 3_500
  firstEnded()
  turn()
  assert.deepEqual(lines, [
    {
      handlers: [shown('first', 1), shown('second', 2)],
      running: 2,
      ms: 3_000,
      message: 'the event loop was blocked while handlers were running',
    },
  ])
  secondEnded()
  secondEnded()
  time.now += 500
  turn()
  assert.equal(scene.isBeating, false, 'without running handlers it needs no timer')
  time.now += 60_000
  loop.watch(call('third', 3))
  time.now += 1_400
  turn()
  assert.equal(lines.length, 1, 'neither an idle loop nor a short block is logged')
})

test('an attempt measures the calls of its handlers', async () => {
  const scene = startLoop()
  const { lines, loop, time } = scene
  const handle = async (): Promise<void> => void (time.now += 1_001)
  const plan = plansOver('sqlite', () => [registeredHandler('order.paid', { handle })])('shop', 'order.paid')
  const scope = {
    waited: 0,
    within: <T>(work: () => T): T => work(),
    release: async () => ({ committed: Promise.resolve() }),
  } as unknown as SavepointScope<ProcessedMarker>
  const parts: AttemptParts = {
    transactions: { begin: () => scope },
    clock: { now: () => time.now, after: () => () => {} },
    log: { child: () => ({}) } as unknown as Log,
    emitWithin: () => Promise.resolve(() => undefined),
    aborts: new AbortBroadcast(),
    transactionTimeout: undefined,
    loop,
  }
  await attempt(claimedEvent(), plan, false, parts)
  assert.equal(lines.length, 1)
  assert.equal((lines[0] as { ms: number }).ms, 1_001)
  time.now += 500
  scene.turn()
  assert.equal(scene.isBeating, false, 'the call has ended')
})
