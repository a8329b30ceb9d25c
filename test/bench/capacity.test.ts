// The simulation behind `npm run capacity`: no event appears or vanishes in it, and its answers move the right way.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limitOf, mixOf } from '../../bench/capacity/cost.ts'
import { simulate, type Simulation } from '../../bench/capacity/simulate.ts'
import { curveOf, defaults, sharesOf } from '../../bench/capacity/workload.ts'

const small: Simulation = {
  workload: { ...defaults, eventsPerDay: 1e7, owners: 500, bursts: 20 },
  cells: 2,
  perSecond: 300,
  outage: 20,
  seed: 7,
}

test('a day has the events that were asked for, its busiest minute the peak, and all owners together everything', () => {
  const curve = curveOf({ ...defaults, peak: 3 })
  assert.ok(Math.abs(Math.max(...curve) - 3) < 1e-6)
  assert.ok(Math.abs(curve.reduce((sum, value) => sum + value, 0) / curve.length - 1) < 1e-9)
  assert.ok(Math.abs(sharesOf(defaults).reduce((sum, share) => sum + share, 0) - 1) < 1e-9)
  const quiet = simulate({ ...small, workload: { ...small.workload, bursts: 0 } })
  assert.ok(Math.abs(quiet.arrived / 1e7 - 1) < 0.01, String(quiet.arrived))
})

test('what arrived is done or left, and the same seed gives the same day', () => {
  const day = simulate(small)
  assert.ok(Math.abs(day.arrived - day.done - day.left) < 1e-3)
  assert.deepEqual(simulate(small), day)
  assert.notDeepEqual(simulate({ ...small, seed: 8 }), day)
})

test('more cells wait less; too few have events left; an outage is waited for', () => {
  const two = simulate(small)
  const four = simulate({ ...small, cells: 4 })
  assert.ok(four.waited.p99 <= two.waited.p99 && four.busiest < two.busiest)
  assert.ok(two.waited.longest >= 19, 'the outage of 20 s')
  const overloaded = simulate({ ...small, cells: 1, perSecond: 100 })
  assert.ok(overloaded.left > 0 && overloaded.waited.p99 > 60)
})

test('a primary ends by what it has least of', () => {
  const cost = { posternMs: 0.2, postgresMs: 0.1, walBytes: 1_500, syncs: 0.03 }
  const primary = { cores: 16, walBytesPerSecond: 150e6, syncsPerSecond: 10_000 }
  assert.deepEqual(limitOf(cost, primary), { of: 'write-ahead log', perSecond: 100_000 })
  assert.deepEqual(limitOf(cost, { ...primary, cores: 1 }), { of: 'CPU', perSecond: 10_000 })
  assert.equal(mixOf(cost, { ...cost, walBytes: 500 }, 0.5).walBytes, 1_000)
})
