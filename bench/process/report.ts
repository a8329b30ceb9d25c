import { engineTitles, type EngineName } from '../harness/databases.ts'
import { figure, ratio, type Outcome } from '../measure/outcome.ts'

/** Events per second that SQLite is to reach on two cores. */
const least: Partial<Record<EngineName, number>> = { sqlite: 10_000 }

/** A side of one engine. */
export interface Rates {
  name: string
  rounds: readonly number[]
  /** What Postern is to reach of it. */
  bound?: number | undefined
}

/** @param sides Postern first. */
export function report(engine: EngineName, sides: readonly Rates[]): Omit<Outcome, 'notes'> {
  const title = engineTitles[engine]
  const rates = sides.map(({ name, rounds }) => figure(`${title}: ${name}`, 'events/s', rounds))
  const [ours, ...others] = rates
  ours!.atLeast = least[engine]
  return {
    figures: rates,
    ratios: others.map((other, index) => {
      const { name, bound } = sides[index + 1]!
      return ratio(`${ours!.name} / ${name}`, ours!, other, bound === undefined ? {} : { bound })
    }),
  }
}
