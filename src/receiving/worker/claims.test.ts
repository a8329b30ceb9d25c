import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '#test/harness/manual-clock.ts'
import { createLog } from '../../telemetry/log.ts'
import { Claims, type ClaimsParts } from './claims.ts'

test('a clock that is set back does not delay the search for a claim whose answer was lost', async () => {
  const clock = new ManualClock()
  let looks = 0
  const database = { transaction: async () => ((looks += 1), 0) } as unknown as ClaimsParts['database']
  const claims = new Claims({ database, clock, log: createLog('silent') } as unknown as ClaimsParts)
  clock.time = 10 * 3_600_000
  claims.unanswered({
    claim: 'claim',
    kinds: [{ source: 'shop', type: 'order.paid' }],
    dueBy: clock.now(),
  })
  await claims.settle()
  await claims.settle()
  assert.equal(looks, 1, 'not again at once')
  clock.time -= 3_600_000
  await claims.settle()
  assert.equal(looks, 2)
})

test('a claim whose release keeps failing is tried again every 30 seconds at least', async () => {
  const clock = new ManualClock()
  let fails = true
  const database = {
    transaction: () => (fails ? Promise.reject(new Error('no permission')) : Promise.resolve(1)),
  } as unknown as ClaimsParts['database']
  const claims = new Claims({ database, clock, log: createLog('silent') } as unknown as ClaimsParts)
  claims.unanswered({ claim: 'claim', kinds: [], dueBy: clock.now() })
  for (let minutes = 0; minutes < 60; minutes += 1) {
    await claims.settle()
    clock.time += 60_000
  }
  await claims.settle()
  assert.equal(claims.anyUnsettled, true)
  fails = false
  clock.time += 30_000
  await claims.settle()
  assert.equal(claims.anyUnsettled, false)
})
