import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimedEvent, registeredHandler } from '#test/harness/handled-events.ts'
import type { SavepointScope } from '../../storage/sharing/savepoint-scope.ts'
import type { Log } from '../../telemetry/log.ts'
import { attempt, type AttemptParts } from './attempt.ts'
import { HandlerTimeout, WaitedForTransaction } from './interruptions.ts'
import { plansOver } from '../handlers/plan.ts'
import { AbortBroadcast } from '../../runtime/abort-broadcast.ts'
import type { ProcessedMarker } from '../queue/store.ts'

const handler = registeredHandler('order.paid', { handle: () => new Promise<void>(() => {}), timeout: 1_500 })
const plan = plansOver('sqlite', () => [handler])('shop', 'order.paid')

/** What an attempt ends with whose handler does not end, after it has waited for its transaction for so long. */
async function endOf(isWaiting: boolean, waited: number): Promise<unknown> {
  const state = { isWaiting, waited: 0 }
  let timeIsOver = (): void => assert.fail('nothing bounds the handler')
  const scope = {
    released: false,
    took: 0,
    get isWaiting() {
      return state.isWaiting
    },
    get waited() {
      return state.waited
    },
    within: <T>(work: () => T): T => work(),
    rollback: () => Promise.resolve(),
  } as unknown as SavepointScope<ProcessedMarker>
  const parts: AttemptParts = {
    transactions: { begin: () => scope },
    clock: {
      now: () => 0,
      after(_ms, callback) {
        timeIsOver = callback
        return () => {}
      },
    },
    log: { child: () => ({}) } as unknown as Log,
    emitWithin: () => Promise.resolve(() => undefined),
    aborts: new AbortBroadcast(),
    transactionTimeout: undefined,
  }
  const ended = attempt(claimedEvent(), plan, false, parts).catch((error: unknown) => error)
  state.waited = waited
  timeIsOver()
  return ended
}

test('an attempt that mostly waited for its transaction is distinguished from a slow one', async () => {
  assert.ok((await endOf(false, 0)) instanceof HandlerTimeout)
  assert.ok((await endOf(false, 700)) instanceof HandlerTimeout, 'it ran for more than half of its time')
  assert.ok(
    (await endOf(false, 800)) instanceof WaitedForTransaction,
    'its transaction began in the last moment',
  )
  assert.ok((await endOf(true, 10)) instanceof WaitedForTransaction, 'its transaction has not begun')
})
