import { slots } from '../receiving/activity/activity.ts'
import type { Database } from '../storage/database.ts'
import type { ReceivingActivityTable } from '../storage/tables.ts'
import { rollUp } from '../telemetry/history/roll-up.ts'
import { hour, steps, Tallies } from '../telemetry/history/rows.ts'
import { partSeries } from '../telemetry/history/series.ts'
import type { HistoryStore } from '../telemetry/history/store.ts'
import { sampleSource } from './sample-events.ts'
import type { SampleRefusal } from './sample-refusals.ts'

/** Milliseconds before the start that get samples, by the step of the rows. */
const spans = [
  { step: steps.hour, length: 30 * 24 * hour },
  { step: steps.tenMinutes, length: 48 * hour },
  { step: steps.minute, length: 8 * hour },
] as const

/** A sign-in that is counted in the samples. */
export interface CountedSignIn {
  /** Milliseconds since 1970. */
  at: number
  failed: boolean
}

/** What the charts have in common with the lists. */
export interface CountedSamples {
  signIns: readonly CountedSignIn[]
  refusals: readonly Pick<SampleRefusal, 'at' | 'reason'>[]
}

/**
 * Counts the sample sign-ins and refusals of the last month in the charts, and nothing else: each figure of a new installation in demo mode is that
 * of the list that it opens.
 * @param now milliseconds since 1970
 */
export function sampleHistory(now: number, { signIns, refusals }: CountedSamples): Map<number, Tallies> {
  const history = new Map<number, Tallies>()
  for (const { step, length } of spans) {
    const width = step * 1_000
    const tallies = new Tallies()
    const end = now - (now % width)
    const isWithin = ({ at }: { at: number }): boolean => at >= startOf(now - length) && at < end
    for (const { at, failed } of signIns.filter(isWithin))
      tallies.of('sign_ins', at - (at % width))[failed ? 'failed' : 'ok'] += 1
    for (const { at } of refusals.filter(isWithin))
      for (const series of ['webhooks', partSeries('webhooks', sampleSource)])
        tallies.of(series, at - (at % width)).failed += 1
    history.set(step, tallies)
  }
  return history
}

/** Longer steps are computed from the minutes anew, so these begin with an hour. */
const startOf = (time: number): number => time - (time % hour)

/** What the page of the source shows of the last day. */
export function sampleActivity(now: number, refusals: CountedSamples['refusals']): ReceivingActivityTable[] {
  const { length, retention } = slots.source
  const first = now - (now % length) - retention + length
  const row = { kind: 'source', name: sampleSource } as const
  const refused = new Map<string, ReceivingActivityTable>()
  for (const { at, reason } of refusals) {
    const slot = at - (at % length)
    if (slot < first) continue
    const key = `${slot} ${reason}`
    const count = (refused.get(key)?.count ?? 0) + 1
    refused.set(key, { ...row, slot, counter: reason, count, last_at: at })
  }
  return [...refused.values()]
}

/** Writes the samples into a history that is empty; otherwise does nothing. */
export async function insertSampleHistory(
  store: HistoryStore,
  database: Database,
  now: number,
  counted: CountedSamples,
): Promise<void> {
  if ((await store.edge(steps.minute, 'asc')) !== undefined) return
  for (const [step, tallies] of sampleHistory(now, counted)) await store.replace(step, tallies)
  await rollUp(store, now)
  const activity = sampleActivity(now, counted.refusals)
  if (activity.length === 0) return
  await database.transaction((tx) =>
    tx
      .insertInto('receiving_activity')
      .values(activity)
      .onConflict((conflict) => conflict.doNothing())
      .execute(),
  )
}
