import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plan } from './plan.ts'
import { PlanPaces } from './store.postgres.ts'

const planNamed = (name: string): Plan => ({ name, sql: 'select 1', slots: [] })

test('a plan is quick once its statements took milliseconds, and slow after one that took seconds', () => {
  const paces = new PlanPaces()
  const plan = planNamed('one')
  assert.equal(paces.isQuick(plan), false, 'before it was measured')
  paces.record(plan, 3)
  assert.equal(paces.isQuick(plan), true)
  assert.equal(paces.isQuick(planNamed('another')), false)
  paces.record(plan, 10_000)
  assert.equal(paces.isQuick(plan), false, 'after a slow statement')
  for (let statements = 0; statements < 20; statements += 1) paces.record(plan, 3)
  assert.equal(paces.isQuick(plan), false, 'an average follows slowly')
  for (let statements = 0; statements < 20; statements += 1) paces.record(plan, 3)
  assert.equal(paces.isQuick(plan), true, 'it was quick for long')
})
