import type { BenchDatabase } from '../harness/databases.ts'
import type { Postern } from '../harness/postern.ts'
import type { Expectation, Sunk } from '../load/sink.ts'
import { emitPaced, type Paced } from './paced.ts'

const limit = 120_000

export interface Dispatching {
  postern: Postern
  database: BenchDatabase
  sink: { ask(expectation: Expectation): Promise<Sunk> }
  origin: string
}

/** Sorted milliseconds from the calls to the arrivals at paths that begin so, and how many hung at the end. */
export async function delaysOf(
  { postern, sink }: Dispatching,
  arrivals: number,
  paced: Paced,
  path = '/',
): Promise<{ delays: number[]; hanging: number }> {
  const waiting = sink.ask({ distinct: paced.count * arrivals, limit, each: true })
  const calledAt = await emitPaced(postern.port, paced)
  const { each = {}, distinct, hanging } = await waiting
  if (distinct !== paced.count * arrivals) throw new Error(`${distinct} deliveries came`)
  const delays = Object.entries(each)
    .filter(([place]) => place.startsWith(path))
    .map(([place, at]) => {
      const called = calledAt.get(place.split(' ')[1]!)
      if (called === undefined) throw new Error(`${place} came late, from a round before`)
      return at - called
    })
    .toSorted((a, b) => a - b)
  return { delays, hanging }
}
