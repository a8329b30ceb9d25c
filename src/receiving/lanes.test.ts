import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lanes } from './lanes.ts'
import { plansOver, type Plan } from './plan.ts'
import type { RegisteredHandler } from './declared-handlers.ts'

const planOn = (engine: 'sqlite' | 'postgres', concurrency?: number): Plan => {
  const handler: RegisteredHandler = {
    key: 'order.paid',
    handle: () => {},
    timeout: 30_000,
    concurrency,
    orderBy: undefined,
  }
  const handlers = [handler]
  return plansOver(engine, () => handlers)('shop', 'order.paid')
}

function after(plan: Plan, ...lasted: number[]): Lanes {
  const lanes = new Lanes()
  for (const ms of lasted) lanes.succeeded(plan, ms, 1)
  return lanes
}

test('a lane has more places while its handlers hardly take any time, on PostgreSQL', () => {
  const plan = planOn('postgres')
  assert.equal(new Lanes().room(plan, false), 8, 'nothing is known of them')
  assert.equal(after(plan, 5, 5, 5).room(plan, false), 8)
  assert.equal(after(plan, 5, 5, 5, 50).room(plan, false), 64)
  assert.equal(after(plan, 5, 5, 5, 5, 51).room(plan, false), 8, 'one took longer')
  const failed = after(plan, 5, 5, 5, 5)
  failed.failed(plan)
  assert.equal(failed.room(plan, false), 8, 'one failed')
  assert.equal(after(plan, 5, 5, 5, 5).room(plan, true), 1, 'places are scarce')
})

test('on SQLite, and with a concurrency of its own, a lane has as many as ever', () => {
  for (const [plan, places] of [
    [planOn('sqlite'), 8],
    [planOn('postgres', 3), 3],
    [planOn('postgres', 100), 100],
  ] as const)
    assert.equal(after(plan, 1, 1, 1, 1).room(plan, false), places)
})
