import { readFileSync } from 'node:fs'

/** A line of the file to which handlers write when they begin and when they have come to their end. */
export interface Mark {
  run: string
  event: string
  pid: number
  end: boolean
  at: number
}

/** A time in which a process was stopped (SIGSTOP). */
export interface Pause {
  pid: number
  from: number
  to: number
}

export interface Overlaps {
  /** Runs that came to their end. */
  runs: number
  /** Pairs of runs of one event that both came to their end, and were under way at the same time. */
  overlaps: string[]
  /** Those of which one was in a process that was stopped meanwhile, and could not know that its time was over. */
  excused: number
}

/** All that handlers have written until now. */
export function readMarks(file: string): Mark[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Mark)
}

/** Finds runs of one event that overlap to the end. `faultAt` names the fault of a time. */
export function findOverlaps(
  file: string,
  pauses: readonly Pause[],
  faultAt: (time: number) => string,
): Overlaps {
  const marks = readMarks(file)
  const begun = new Map(marks.filter(({ end }) => !end).map((mark) => [mark.run, mark]))
  const runs = marks.flatMap(({ run, event, pid, end, at }) => {
    const from = begun.get(run)
    return end && from ? [{ event, pid, from: from.at, to: at }] : []
  })
  const found: Overlaps = { runs: runs.length, overlaps: [], excused: 0 }
  for (const [event, ofOne] of Map.groupBy(runs, ({ event }) => event)) {
    const inOrder = ofOne.toSorted((a, b) => a.from - b.from)
    for (const [index, later] of inOrder.entries()) {
      const earlier = inOrder[index - 1]
      if (!earlier || earlier.to <= later.from) continue
      const both = [earlier, later]
      const stopped = pauses.some((pause) =>
        both.some(({ pid, from, to }) => pid === pause.pid && pause.from < to && pause.to > from),
      )
      if (stopped) found.excused += 1
      else
        found.overlaps.push(
          `${event} at ${faultAt(later.from)}: ${both.map(({ pid, from, to }) => `${pid} ${Math.round(from)} to ${Math.round(to)}`).join(', ')}`,
        )
    }
  }
  return found
}
