import { engineTitles, type EngineName } from '../harness/databases.ts'
import type { LoadResult } from '../load/load.ts'
import { figure, ratio, type Figure, type Outcome } from '../measure/outcome.ts'

const bounds: Record<EngineName, { bound: number; hope: number }> = {
  sqlite: { bound: 0.65, hope: 0.8 },
  postgres: { bound: 0.5, hope: 0.6 },
}
/** The time within which the bare server answers 99 of 100 is at least half of ours. */
const slowest = { bound: 0.5 }

/** The rounds of one variant, and those of the bare server between them. */
export interface Measured {
  title: string
  /** Whether the bounds are about it. */
  bounded: boolean
  bare: readonly LoadResult[]
  rounds: readonly LoadResult[]
  /** None, unless the generator was measured too. */
  sockets: readonly LoadResult[]
}

interface Figures {
  rate: Figure
  half: Figure
  most: Figure
}

function figuresOf(name: string, rounds: readonly LoadResult[]): Figures {
  const of = (what: string, unit: string, read: (result: LoadResult) => number): Figure =>
    figure(`${name}${what}`, unit, rounds.map(read))
  return {
    rate: of('', 'acknowledgements/s', ({ perSecond }) => perSecond),
    half: of(', half answered within', 'ms', ({ p50 }) => p50),
    most: of(', 99 of 100 answered within', 'ms', ({ p99 }) => p99),
  }
}

export function report(engine: EngineName, measured: readonly Measured[]): Outcome {
  const title = engineTitles[engine]
  const compared = measured.map((variant, index) => {
    const beside = index === 0 ? '' : ` (beside ${variant.title})`
    return {
      bare: figuresOf(`${title}: ${bareName}${beside}`, variant.bare),
      ours: figuresOf(`${title}: ${variant.title}`, variant.rounds),
      sockets:
        variant.sockets.length > 0 ? figuresOf(`${title}: ${socketsName}`, variant.sockets) : undefined,
      bounded: variant.bounded,
    }
  })
  const figures = compared.flatMap(({ bare, sockets, ours }) => [bare, ...(sockets ? [sockets] : []), ours])
  const all = measured.flatMap(({ bare, rounds, sockets }) => [...bare, ...rounds, ...sockets])
  const busiest = Math.max(...all.map(({ generatorCpu }) => generatorCpu))
  return {
    figures: [...figures.map(({ rate }) => rate), ...figures.flatMap(({ half, most }) => [half, most])],
    ratios: [
      ...compared.map(({ bare, ours, bounded }) =>
        ratio(`${ours.rate.name} / ${bareName}`, ours.rate, bare.rate, bounded ? bounds[engine] : {}),
      ),
      ...compared
        .filter(({ bounded }) => bounded)
        .map(({ bare, ours }) =>
          ratio(`${ours.rate.name}: 99 of 100 within, ${bareName} / Postern`, bare.most, ours.most, slowest),
        ),
    ],
    notes: [
      `${title}: the load generator used at most ${Math.round(busiest * 100)} % of a core; "${socketsName}" is the rate that it reaches when the other side does no work.`,
    ],
  }
}

export const bareName = 'bare server'
export const socketsName = 'nothing but sockets'
