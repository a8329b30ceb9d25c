import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { registeredHandler } from '#test/harness/handled-events.ts'
import { ManualClock } from '#test/harness/manual-clock.ts'
import { fields } from '#test/harness/fields.ts'
import { createLog } from '../../telemetry/log.ts'
import { plansOver } from '../handlers/plan.ts'
import type { ShareSlots, SlotRequest } from '../queue/store.ts'
import { ConcurrencyGroups } from './concurrency-groups.ts'
import { HandlerSlots } from './handler-slots.ts'

test('a clock that is set back makes neither a need nor a share nor a pause longer', async () => {
  const clock = new ManualClock()
  let renew = (): void => undefined
  clock.after = (_ms, callback) => {
    renew = callback
    return () => undefined
  }
  const asked: SlotRequest[] = []
  const groups = new ConcurrencyGroups()
  const share: ShareSlots = async (requests) => {
    asked.push(...requests)
    return requests.map(({ key }) => ({ key, held: 2, share: 2, freed: false }))
  }
  const slots = new HandlerSlots(share, {
    clock,
    groups,
    log: createLog('silent'),
    wakeUps: { now: () => undefined },
  } as unknown as ConstructorParameters<typeof HandlerSlots>[1])
  const handlers = [registeredHandler('paid', { concurrency: 4 })]
  const plan = plansOver('postgres', () => handlers)('shop', 'paid')
  clock.time = 10 * 3_600_000
  const request = async (): Promise<number> => {
    slots.request(plan)
    await nextTurn()
    return asked.length
  }
  assert.equal(await request(), 1)
  assert.equal(slots.allowed({ key: 'paid' }), 2)
  // Both slots are used, and there is work for more.
  groups.takeSlot(plan)
  groups.takeSlot(plan)
  assert.equal(await request(), 1, 'it pauses')
  clock.time -= 3_600_000
  assert.equal(slots.allowed({ key: 'paid' }), 0)
  assert.equal(await request(), 2)
  clock.time -= 3_600_000
  renew()
  await nextTurn()
  assert.deepEqual(fields(asked, 'keeps', 'wants'), [
    [0, 4],
    [2, 4],
    [2, 2],
  ])
  await slots.stop()
})
