import { engineTitles, type EngineName } from '../harness/databases.ts'
import type { LoadResult } from '../load/load.ts'
import { figure, ratio, type Figure, type Outcome } from '../measure/outcome.ts'

const bounds: Record<EngineName, { bound: number; hope: number }> = {
  sqlite: { bound: 0.65, hope: 0.8 },
  postgres: { bound: 0.4, hope: 0.6 },
}

/** @param results of every side, by name: the bare server, the sockets, then Postern in its variants. */
export function report(engine: EngineName, results: ReadonlyMap<string, readonly LoadResult[]>): Outcome {
  const title = engineTitles[engine]
  const rates: Figure[] = []
  const latencies: Figure[] = []
  for (const [name, rounds] of results) {
    const of = (read: (result: LoadResult) => number): number[] => rounds.map(read)
    rates.push(
      figure(
        `${title}: ${name}`,
        'acknowledgements/s',
        of(({ perSecond }) => perSecond),
      ),
    )
    latencies.push(
      figure(
        `${title}: ${name}, half answered within`,
        'ms',
        of(({ p50 }) => p50),
      ),
    )
    latencies.push(
      figure(
        `${title}: ${name}, 99 of 100 answered within`,
        'ms',
        of(({ p99 }) => p99),
      ),
    )
  }
  const [bare, , ...ours] = rates
  const busiest = Math.max(...[...results.values()].flat().map(({ generatorCpu }) => generatorCpu))
  return {
    figures: [...rates, ...latencies],
    ratios: ours.map((rate, index) =>
      ratio(`${rate.name} / ${bareName}`, rate, bare!, index === 0 ? bounds[engine] : {}),
    ),
    notes: [
      `${title}: the load generator used at most ${Math.round(busiest * 100)} % of a core; "${socketsName}" is the rate that it reaches when the other side does no work.`,
    ],
  }
}

export const bareName = 'bare server'
export const socketsName = 'nothing but sockets'
