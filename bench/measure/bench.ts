import type { EngineName } from '../harness/databases.ts'
import type { Profile } from '../harness/postern.ts'
import type { Outcome } from './outcome.ts'

/** How much is measured. */
export interface Scale {
  /** Rounds that count, and rounds before them that do not. */
  rounds: number
  warmUp: number
  /** A factor on the requests of a round: 1 for figures, next to nothing for a trial. */
  size: number
  engines: readonly EngineName[]
  /** Whether other products are measured too, where a bench compares Postern with any. */
  rivals: boolean
  /** A regular expression: only the calls of `pages` with such names. */
  only?: string
}

export interface BenchContext {
  scale: Scale
  /** A PostgreSQL server whose commits are durable. */
  postgresServer: string | undefined
  /** Shows what is done now; called once per step. */
  step: (what: string) => void
  /** Where a CPU profile of the service goes, when one is asked for. */
  profile: (name: string) => Profile | undefined
}

export interface Bench {
  name: string
  /** In one line: what is compared with what. */
  about: string
  /** How often `step` will be called, and how many seconds all of it takes, roughly. */
  plan(scale: Scale): { steps: number; seconds: number }
  run(context: BenchContext): Promise<Outcome>
}

/** `count` at full scale; at least 1. */
export function scaled(count: number, { size }: Scale): number {
  return Math.max(1, Math.round(count * size))
}

/** What is measured on each engine, one after the other. @param notes about all of them */
export async function onEachEngine(
  context: BenchContext,
  measure: (engine: EngineName, context: BenchContext) => Promise<Partial<Outcome>>,
  notes: readonly string[],
): Promise<Outcome> {
  const outcome: Outcome = { figures: [], ratios: [], notes: [...notes] }
  for (const engine of context.scale.engines) {
    const { figures = [], ratios = [], notes: more = [] } = await measure(engine, context)
    outcome.figures.push(...figures)
    outcome.ratios.push(...ratios)
    outcome.notes.push(...more)
  }
  return outcome
}
