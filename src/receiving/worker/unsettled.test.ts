import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '#test/harness/manual-clock.ts'
import { createLog } from '../../telemetry/log.ts'
import { Unsettled, type UnsettledParts } from './unsettled.ts'

test('a clock that is set back does not delay the search for a claim whose answer was lost', async () => {
  const clock = new ManualClock()
  let looks = 0
  const database = { transaction: async () => ((looks += 1), 0) } as unknown as UnsettledParts['database']
  const unsettled = new Unsettled({ database, clock, log: createLog('silent') })
  clock.time = 10 * 3_600_000
  unsettled.claimUnanswered({
    claim: 'claim',
    kinds: [{ source: 'shop', type: 'order.paid' }],
    dueBy: clock.now(),
  })
  await unsettled.settle()
  await unsettled.settle()
  assert.equal(looks, 1, 'not again at once')
  clock.time -= 3_600_000
  await unsettled.settle()
  assert.equal(looks, 2)
})
