// The worker over a simulated database: see simulation.ts. Thousands of other seeds: npm run simulate.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulate } from './simulation.ts'

const seeds = 120

test('with any kills, losses and failures, each event is processed once, in order, and none is left', async () => {
  for (let seed = 1; seed <= seeds; seed += 1) {
    const { failure } = await simulate(seed)
    if (failure === undefined) continue
    const lines: string[] = []
    await simulate(seed, (line) => lines.push(line))
    assert.fail(`seed ${seed}: ${failure}\n${lines.slice(-200).join('\n')}`)
  }
})

test('a seed gives the same run each time', async () => {
  const traced = async (seed: number): Promise<string[]> => {
    const lines: string[] = []
    await simulate(seed, (line) => lines.push(line))
    return lines
  }
  for (const seed of [4, 5, 6, 7]) assert.deepEqual(await traced(seed), await traced(seed))
})
