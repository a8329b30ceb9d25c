import type { BenchContext, Scale } from './bench.ts'
import { takeHostMemory } from './host-memory.ts'

/** One of the things that are measured against each other. */
export interface Side<T> {
  name: string
  /** @param round unique to this call, for ids that must not repeat. */
  run(round: string): Promise<T>
}

/** What a side's rounds brought. */
export interface Rounds<T> {
  name: string
  rounds: T[]
}

export function countSteps(sides: number, { rounds, warmUp }: Scale): number {
  return sides * (rounds + warmUp)
}

/**
 * Runs the sides in turn, A B A B …, so that whatever slows the machine down for a while slows all of them down. Every
 * second round begins with the last side, so the sides at both ends follow themselves equally often when the number of rounds
 * is even. The results are in the order of the sides.
 * @param title put before the names of the sides
 */
export async function interleave<T>(
  sides: readonly Side<T>[],
  { scale: { rounds, warmUp, size }, step }: BenchContext,
  title?: string,
): Promise<Rounds<T>[]> {
  const results = sides.map(({ name }): Rounds<T> => ({
    name: title === undefined ? name : `${title}: ${name}`,
    rounds: [],
  }))
  for (let round = 1 - warmUp; round <= rounds; round += 1) {
    const order = [...sides.entries()]
    if (round % 2 === 0) order.reverse()
    for (const [index, side] of order) {
      step(`${results[index]!.name}, ${round < 1 ? 'warm-up' : `round ${round} of ${rounds}`}`)
      // In a trial nobody looks at the figures.
      if (size >= 1) await takeHostMemory()
      const result = await side.run(`${index}r${round + warmUp}`)
      if (round >= 1) results[index]!.rounds.push(result)
    }
  }
  return results
}
