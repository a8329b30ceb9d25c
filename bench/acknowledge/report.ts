import { engineTitles, type EngineName } from '../harness/databases.ts'
import type { LoadResult } from '../load/load.ts'
import { figure, ratio, type Outcome } from '../measure/outcome.ts'

const bounds: Record<EngineName, { bound: number; hope: number }> = {
  sqlite: { bound: 0.65, hope: 0.8 },
  postgres: { bound: 0.5, hope: 0.6 },
}
/** The time within which the bare server answers 99 of 100 is at least half of ours. */
const slowest = { bound: 0.5 }

/** @param results of every side, by name: the bare server, the sockets, then Postern in its variants. */
export function report(engine: EngineName, results: ReadonlyMap<string, readonly LoadResult[]>): Outcome {
  const title = engineTitles[engine]
  const figures = [...results].map(([name, rounds]) => ({
    rate: figure(
      `${title}: ${name}`,
      'acknowledgements/s',
      rounds.map(({ perSecond }) => perSecond),
    ),
    half: figure(
      `${title}: ${name}, half answered within`,
      'ms',
      rounds.map(({ p50 }) => p50),
    ),
    most: figure(
      `${title}: ${name}, 99 of 100 answered within`,
      'ms',
      rounds.map(({ p99 }) => p99),
    ),
  }))
  const [bare, , ...ours] = figures
  const busiest = Math.max(...[...results.values()].flat().map(({ generatorCpu }) => generatorCpu))
  return {
    figures: [...figures.map(({ rate }) => rate), ...figures.flatMap(({ half, most }) => [half, most])],
    ratios: [
      ...ours.map(({ rate }, index) =>
        ratio(`${rate.name} / ${bareName}`, rate, bare!.rate, index === 0 ? bounds[engine] : {}),
      ),
      ratio(`${title}: 99 of 100 within, ${bareName} / Postern`, bare!.most, ours[0]!.most, slowest),
    ],
    notes: [
      `${title}: the load generator used at most ${Math.round(busiest * 100)} % of a core; "${socketsName}" is the rate that it reaches when the other side does no work.`,
    ],
  }
}

export const bareName = 'bare server'
export const socketsName = 'nothing but sockets'
