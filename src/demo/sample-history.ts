import { Durations } from '../telemetry/history/durations.ts'
import { rollUp } from '../telemetry/history/roll-up.ts'
import { minute, steps, Tallies } from '../telemetry/history/rows.ts'
import { partSeries } from '../telemetry/history/series.ts'
import type { HistoryStore } from '../telemetry/history/store.ts'

/** Minutes before the start that get samples: eight hours. */
const minutes = 8 * 60
/** The source whose webhooks are in the samples: the one that is always there. */
const source = 'provider'

/**
 * Gives the charts of a new installation in demo mode something to show: received webhooks and sign-ins of the last hours, which did not
 * happen. Handlers and deliveries have no samples here, because the checklist of a new installation counts those.
 * @param now milliseconds since 1970
 */
export function sampleHistory(now: number): Tallies {
  const tallies = new Tallies()
  const end = now - (now % minute)
  for (let index = 1; index <= minutes; index += 1) {
    const at = end - index * minute
    const webhooks = Math.round(4 + 3 * Math.sin(index / 40) + 2 * noise(index))
    const refused = index % 47 === 0 ? 1 : 0
    const durations = new Durations()
    for (let each = 0; each < webhooks; each += 1) durations.observe(2 + 9 * noise(index * 31 + each) ** 4)
    const buckets = durations.take()
    for (const series of ['webhooks', partSeries('webhooks', source)] as const) {
      const tally = tallies.of(series, at)
      tally.ok = webhooks
      tally.failed = refused
      // Durations are kept for the whole series only.
      if (series === 'webhooks' && buckets) tally.addBuckets(buckets)
    }
    tallies.of('webhooks', at).duplicates = index % 29 === 0 ? 1 : 0
    if (index % 11 === 0) tallies.of('sign_ins', at).ok = 1 + (index % 2)
  }
  return tallies
}

/** Writes the samples into a history that is empty; otherwise does nothing. */
export async function insertSampleHistory(store: HistoryStore, now: number): Promise<void> {
  if ((await store.edge(steps.minute, 'asc')) !== undefined) return
  await store.addMinutes(sampleHistory(now), () => undefined)
  await rollUp(store, now)
}

/** A number in [0, 1) that looks random and is the same at each start. */
function noise(seed: number): number {
  const value = Math.sin(seed * 12.9898) * 43_758.5453
  return value - Math.floor(value)
}
