// The dispatcher over a simulated queue: see simulation.ts. Thousands of other seeds: npm run simulate -- --of deliveries.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateDeliveries } from './simulation.ts'

const seeds = 100

test('with any kills, losses and failures, each delivery arrives or is dead-lettered, in order, within bounds, and never after its success', async () => {
  for (let seed = 1; seed <= seeds; seed += 1) {
    const { failure } = await simulateDeliveries(seed)
    if (failure === undefined) continue
    const lines: string[] = []
    await simulateDeliveries(seed, (line) => lines.push(line))
    assert.fail(`seed ${seed}: ${failure}\n${lines.slice(-200).join('\n')}`)
  }
})

test('a seed gives the same run each time', async () => {
  const traced = async (seed: number): Promise<string[]> => {
    const lines: string[] = []
    await simulateDeliveries(seed, (line) => lines.push(line))
    return lines
  }
  for (const seed of [4, 5, 6, 7]) assert.deepEqual(await traced(seed), await traced(seed))
})
