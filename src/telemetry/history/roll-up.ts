import { periodicWorker } from '../../runtime/periodic-worker.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Worker } from '../../runtime/worker.ts'
import type { Log } from '../log.ts'
import { hour, minute, steps } from './rows.ts'
import type { HistoryStore } from './store.ts'

/** Milliseconds that minutes and hours are kept. */
export const kept = { minutes: 48 * hour, hours: 35 * 24 * hour }
/** Milliseconds between two rounds. */
const interval = 10 * minute
/** Hours that are written again: a process may have added minutes late. */
const again = 2

/**
 * The worker that writes the hours from the minutes and deletes old rows. Several processes may run it at once: an hour is
 * computed anew each time, so a repetition changes nothing.
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

/** Writes the hours that have ended, and deletes rows that are too old. */
export async function rollUp(store: HistoryStore, now: number): Promise<void> {
  const first = await store.edge(steps.minute, 'asc')
  if (first !== undefined) {
    const last = await store.edge(steps.hour, 'desc')
    const from = Math.max(startOfHour(first), (last ?? -Infinity) - again * hour)
    // The hour of now has not ended.
    for (let at = from; at < startOfHour(now); at += hour) await store.writeHour(at)
  }
  while (await store.deleteBefore(steps.minute, now - kept.minutes)) continue
  while (await store.deleteBefore(steps.hour, now - kept.hours)) continue
}

export function startOfHour(time: number): number {
  return Math.floor(time / hour) * hour
}
