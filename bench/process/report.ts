import { engineTitles, type EngineName } from '../harness/databases.ts'
import { figure, ratio, type Outcome } from '../measure/outcome.ts'

/** Events per second that SQLite is to reach on two cores. */
const least: Partial<Record<EngineName, number>> = { sqlite: 10_000 }

/** @param results the rates of every side by its name: Postern first. */
export function report(engine: EngineName, results: ReadonlyMap<string, readonly number[]>): Outcome {
  const title = engineTitles[engine]
  const rates = [...results].map(([name, rounds]) => figure(`${title}: ${name}`, 'events/s', rounds))
  const [ours, ...others] = rates
  ours!.atLeast = least[engine]
  return {
    figures: rates,
    ratios: others.map((other) =>
      ratio(`${ours!.name} / ${other.name.slice(title.length + 2)}`, ours!, other),
    ),
    notes: [],
  }
}
