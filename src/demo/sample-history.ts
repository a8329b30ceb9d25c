import { slots } from '../receiving/activity/activity.ts'
import type { Database } from '../storage/database.ts'
import type { ReceivingActivityTable } from '../storage/tables.ts'
import { Durations } from '../telemetry/history/durations.ts'
import { rollUp } from '../telemetry/history/roll-up.ts'
import { hour, minute, steps, Tallies } from '../telemetry/history/rows.ts'
import { partSeries, type SeriesName } from '../telemetry/history/series.ts'
import type { HistoryStore } from '../telemetry/history/store.ts'
import { noise } from './noise.ts'
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
 * Gives the charts of a new installation in demo mode a month to show, which did not happen. All of it is older than `now`, so that it
 * ticks off no step of the checklist.
 * @param now milliseconds since 1970
 */
export function sampleHistory(now: number, { signIns, refusals }: CountedSamples): Map<number, Tallies> {
  const history = new Map<number, Tallies>()
  for (const { step, length } of spans) {
    const width = step * 1_000
    const tallies = new Tallies()
    const end = now - (now % width)
    for (let at = startOf(now - length); at < end; at += width)
      addTraffic(tallies, at, { width, isOld: at < now - rejectedRetention })
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

/** Milliseconds after which refused webhooks are deleted: newer ones are those of sample-refusals.ts, which the list of the source has. */
const rejectedRetention = 7 * 24 * hour

/** Quiet nights, and no two hours alike. */
function webhooksIn(at: number, width: number): number {
  const perMinute = 4 + 3 * Math.sin((at / hour) * (Math.PI / 12)) + 2 * noise(Math.floor(at / width))
  return Math.max(0, Math.round((perMinute * width) / minute))
}

/** Webhooks, handlers and deliveries of one span. */
function addTraffic(tallies: Tallies, at: number, { width, isOld }: { width: number; isOld: boolean }): void {
  const webhooks = webhooksIn(at, width)
  const refused = isOld ? share(webhooks, 0.004, at) : 0
  const ofSource = tallies.of(partSeries('webhooks', sampleSource), at)
  ofSource.ok = webhooks
  ofSource.failed = refused
  add(tallies, 'webhooks', at, { ok: webhooks, failed: refused, typical: 3 })
  tallies.of('webhooks', at).duplicates = share(webhooks, 0.008, at + 1)
  add(tallies, 'handlers', at, { ok: webhooks, failed: share(webhooks, 0.01, at + 2), typical: 14 })
  // A subscriber is down on some evenings.
  const isDown = noise(Math.floor(at / (6 * hour)) * 7) > 0.85
  const deliveries = Math.round(webhooks * 1.4)
  add(tallies, 'deliveries', at, {
    ok: deliveries,
    failed: share(deliveries, isDown ? 0.2 : 0.01, at + 3),
    typical: 80,
  })
}

/** @param typical milliseconds that most of them took */
function add(
  tallies: Tallies,
  series: SeriesName,
  at: number,
  { ok, failed, typical }: { ok: number; failed: number; typical: number },
): void {
  const tally = tallies.of(series, at)
  tally.ok = ok
  tally.failed = failed
  const durations = new Durations()
  for (let each = 0; each < Math.min(ok, mostDurations); each += 1)
    durations.observe(typical * (0.6 + 4 * noise(at / minute + each * 31) ** 6))
  const buckets = durations.drain()
  if (buckets) tally.addBuckets(buckets)
}

/** Durations that one row counts: enough for a p99. */
const mostDurations = 100

/** A part of `count`, rounded so that small numbers have some as well. */
const share = (count: number, part: number, seed: number): number =>
  Math.floor(count * part + noise(seed / minute))

/** What the page of the source shows of the last day. */
export function sampleActivity(now: number, refusals: CountedSamples['refusals']): ReceivingActivityTable[] {
  const { length, retention } = slots.source
  const begin = now - (now % length)
  const first = begin - retention + length
  const row = { kind: 'source', name: sampleSource } as const
  const rows: ReceivingActivityTable[] = []
  for (let slot = first; slot < begin; slot += length)
    rows.push({
      ...row,
      slot,
      counter: 'accepted',
      count: webhooksIn(slot, length),
      last_at: slot + length - 1,
    })
  const refused = new Map<string, ReceivingActivityTable>()
  for (const { at, reason } of refusals) {
    const slot = at - (at % length)
    if (slot < first) continue
    const key = `${slot} ${reason}`
    const count = (refused.get(key)?.count ?? 0) + 1
    refused.set(key, { ...row, slot, counter: reason, count, last_at: at })
  }
  return [...rows, ...refused.values()]
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
  await database.transaction((tx) =>
    tx
      .insertInto('receiving_activity')
      .values(sampleActivity(now, counted.refusals))
      .onConflict((conflict) => conflict.doNothing())
      .execute(),
  )
}
