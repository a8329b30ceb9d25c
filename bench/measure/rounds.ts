import { randomBytes } from 'node:crypto'
import { open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { diskFolder } from '../harness/databases.ts'
import type { BenchContext, Scale } from './bench.ts'

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

/** Bytes: more than a round writes. */
const taken = 450 * 1024 * 1024
const piece = Buffer.alloc(1024 * 1024, 1)

/**
 * Takes memory from the host of a virtual machine and gives it back to the kernel, which uses it for the next writes. A machine that returns free
 * memory to its host (https://docs.kernel.org/mm/free_page_reporting.html) gets it again page by page: 10 µs for every 4 KiB, measured on
 * one. Only the variants that write files would pay for that. On other machines this call takes a tenth of a second.
 */
async function takeHostMemory(): Promise<void> {
  const name = join(diskFolder(), `postern-bench-${randomBytes(6).toString('hex')}`)
  const file = await open(name, 'wx')
  try {
    // It is gone whatever ends this process.
    await unlink(name)
    for (let written = 0; written < taken; written += piece.length) await file.write(piece)
  } finally {
    await file.close()
  }
}
