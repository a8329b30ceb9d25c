// The worker over a simulated database: see simulation.ts. Thousands of other seeds: npm run simulate.
import { test } from 'node:test'
import { simulate } from './simulation.ts'
import { assertRepeatable, assertRunsPass } from '../runs.ts'

test('with any kills, losses and failures, each event is processed once, in order, and none is left', () =>
  assertRunsPass(simulate, 120))

test('a seed gives the same run each time', () => assertRepeatable(simulate, [4, 5, 6, 7]))
