import assert from 'node:assert/strict'

/** One run of a simulation, in which the seed decides everything. `onTrace` is given each line of what happens. */
type Simulate = (seed: number, onTrace?: (line: string) => void) => Promise<{ failure?: string | undefined }>

/** Runs a simulation. A rejected promise that nobody looks at is a failure of the run. */
export async function runWatched<R>(simulation: {
  fail: (why: string) => void
  run: () => Promise<R>
}): Promise<R> {
  const onRejection = (error: unknown): void =>
    simulation.fail(`a promise that nobody looks at was rejected: ${String(error)}`)
  process.on('unhandledRejection', onRejection)
  try {
    return await simulation.run()
  } finally {
    process.off('unhandledRejection', onRejection)
  }
}

/** Fails with the end of the trace of the first seed whose run fails. */
export async function assertRunsPass(simulate: Simulate, seeds: number): Promise<void> {
  for (let seed = 1; seed <= seeds; seed += 1) {
    const { failure } = await simulate(seed)
    if (failure === undefined) continue
    const lines = await traced(simulate, seed)
    assert.fail(`seed ${seed}: ${failure}\n${lines.slice(-200).join('\n')}`)
  }
}

export async function assertRepeatable(simulate: Simulate, seeds: readonly number[]): Promise<void> {
  for (const seed of seeds) assert.deepEqual(await traced(simulate, seed), await traced(simulate, seed))
}

async function traced(simulate: Simulate, seed: number): Promise<string[]> {
  const lines: string[] = []
  await simulate(seed, (line) => lines.push(line))
  return lines
}
