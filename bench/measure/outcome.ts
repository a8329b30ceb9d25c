import type { Rounds } from './rounds.ts'

/** One thing that was measured, with the value of each round. */
export interface Figure {
  name: string
  unit: string
  median: number
  min: number
  max: number
  rounds: number[]
  /** Limits that the median must keep. */
  atMost?: number | undefined
  atLeast?: number | undefined
}

/** What one side reaches of another in the same run: the median over the rounds' own ratios. */
export interface Ratio {
  name: string
  median: number
  min: number
  max: number
  /** At least this is promised. */
  bound?: number | undefined
  /** At least this is hoped for. */
  hope?: number | undefined
}

export interface Outcome {
  figures: Figure[]
  ratios: Ratio[]
  /** What was checked or must be known to read the figures. */
  notes: string[]
}

export function figure(name: string, unit: string, rounds: readonly number[], atMost?: number): Figure {
  return { name, unit, ...summary(rounds), rounds: [...rounds], atMost }
}

/** One value of each round of a side. @param what put behind its name */
export function figureOf<T>(
  { name, rounds }: Rounds<T>,
  unit: string,
  read: (round: T) => number,
  what = '',
): Figure {
  return figure(name + what, unit, rounds.map(read))
}

/** @param of and @param to the figures whose rounds were measured side by side. */
export function ratio(
  name: string,
  of: Figure,
  to: Figure,
  bounds: Pick<Ratio, 'bound' | 'hope'> = {},
): Ratio {
  return { name, ...summary(of.rounds.map((value, round) => value / to.rounds[round]!)), ...bounds }
}

function summary(values: readonly number[]): { median: number; min: number; max: number } {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) }
}

/** The middle value; of two middle ones their mean. NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The value that `share` (0 to 1) of the sorted values do not exceed. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}
