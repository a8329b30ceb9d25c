// The dispatcher over a simulated queue: see simulation.ts. Thousands of other seeds: npm run simulate -- --of deliveries.
import { test } from 'node:test'
import { simulateDeliveries } from './simulation.ts'
import { assertRepeatable, assertRunsPass } from '../runs.ts'

test('with any kills, losses and failures, each delivery arrives or is dead-lettered, in order, within bounds, and never after its success', () =>
  assertRunsPass(simulateDeliveries, 100))

test('a seed gives the same run each time', () => assertRepeatable(simulateDeliveries, [4, 5, 6, 7]))
