import { periodicWorker } from '../../runtime/periodic-worker.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Worker } from '../../runtime/worker.ts'
import type { Log } from '../log.ts'
import { hour, minute, steps } from './rows.ts'
import type { HistoryStore } from './store.ts'

/** Milliseconds after which the rows of each step are deleted. */
export const retention = {
  [steps.minute]: 48 * hour,
  [steps.tenMinutes]: 8 * 24 * hour,
  [steps.hour]: 35 * 24 * hour,
} as const
/** Milliseconds between two rounds. */
const interval = 10 * minute
/** Milliseconds that are rolled up again: a process may have added minutes late. */
const again = 2 * hour

/**
 * The worker that rolls minutes up and deletes old rows. Several processes may run it at once: each row is computed anew each
 * time, so a repetition changes nothing.
 */
export function rollUpWorker(store: HistoryStore, clock: Clock, log: Log): Worker {
  return periodicWorker('metrics-history', clock, interval, async () => {
    try {
      await rollUp(store, clock.now())
    } catch (error) {
      log.debug({ err: error }, 'the history of metrics could not be rolled up; the next round tries again')
    }
  })
}

/** Writes the ten minutes and the hours that have ended, and deletes rows that are too old. */
export async function rollUp(store: HistoryStore, now: number): Promise<void> {
  const first = await store.edge(steps.minute, 'asc')
  for (const step of [steps.tenMinutes, steps.hour]) {
    if (first === undefined) break
    const last = await store.edge(step, 'desc')
    const width = step * 1000
    const from = last === undefined ? first : Math.max(first, firstAgain(width, last, now))
    // An hour of minutes at a time. The span of now has not ended.
    const until = startOf(width, now)
    for (let at = startOf(width, from); at < until; at += hour)
      await store.rollUp(step, { from: at, until: Math.min(at + hour, until) })
  }
  for (const step of Object.values(steps))
    while (await store.deleteBefore(step, now - retention[step])) continue
}

/** When the first span begins that is rolled up once more, or for the first time. @param last the last span that was written */
function firstAgain(width: number, last: number, now: number): number {
  // Some minutes of a span before that may be deleted. Those of spans that were not written yet are not: they are deleted afterwards.
  const complete = startOf(width, now - retention[steps.minute] - 1) + width
  return Math.max(last - again, Math.min(last + width, complete))
}

function startOf(width: number, time: number): number {
  return Math.floor(time / width) * width
}
