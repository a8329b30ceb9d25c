// The history of metrics: what processes add, how minutes become hours, what is deleted, and what GET /metrics/history answers.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import type { Clock } from '../../src/runtime/clock.ts'
import type { Database } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { quantiles, Tallies } from '../../src/telemetry/history/tally.ts'
import { mostPoints, Recorder, stepOf } from '../../src/telemetry/history/recorder.ts'
import { HistoryStore, hour, minute, retention, steps } from '../../src/telemetry/history/store.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { each, fields, onEachEngine, type TestDatabase } from '../harness/index.ts'

const start = Date.UTC(2026, 4, 10, 9)
const log = createLog('silent')

/** A clock that stands still until it is set. */
class StoppedClock implements Clock {
  time = start
  now(): number {
    return this.time
  }
  after(): () => void {
    return () => undefined
  }
}

/** A process: its metrics and its recorder. */
function newProcess(database: Database, clock: Clock) {
  const metrics = new Metrics()
  const webhooks = metrics.counter('postern_webhooks_total', 'test', ['source', 'outcome'])
  const store = new HistoryStore(database)
  const recorder = new Recorder({ metrics, store, clock, log })
  return {
    recorder,
    store,
    receive: (source: string, outcome: string, ms?: number): void => {
      webhooks.inc({ source, outcome })
      if (ms !== undefined) metrics.durations.webhooks.observe(ms)
    },
  }
}

onEachEngine('the history of metrics', (engine) => {
  let home: TestDatabase
  /** Of two processes; SQLite is served by one. */
  let databases: Database[]

  before(async () => {
    home = await engine.createMigratedDatabase()
    const count = engine.name === 'postgres' ? 2 : 1
    databases = await Promise.all(Array.from({ length: count }, () => openDatabase(home.url)))
  })
  beforeEach(() => databases[0]!.transaction((tx) => tx.deleteFrom('metric_history').execute()))
  after(async () => {
    for (const database of databases) await database.close()
    await home.drop()
  })

  test('several processes add to the same minute', async () => {
    const clock = new StoppedClock()
    const processes = Array.from({ length: 4 }, (_, index) =>
      newProcess(databases[index % databases.length]!, clock),
    )
    const durations: number[] = []
    for (let round = 0; round < 5; round += 1) {
      for (const [index, { receive }] of processes.entries()) {
        for (let one = 0; one < 20; one += 1) {
          const ms = 1 + ((round * 37 + index * 11 + one * 3) % 90)
          durations.push(ms)
          receive('github', 'accepted', ms)
        }
        receive('stripe', 'signature-wrong')
        receive('stripe', 'answered')
      }
      await Promise.all(processes.map(({ recorder }) => recorder.flush()))
    }
    const [{ store, recorder }] = processes as [(typeof processes)[number]]
    const names = ['webhooks', 'webhooks:github', 'webhooks:stripe']
    const found = await recorder.read(names, { from: start, until: start + minute }, 60)
    const [all] = found.get('webhooks')!
    assert.deepEqual([all!.ok, all!.failed], [400, 20])
    assert.deepEqual(
      [found.get('webhooks:github')![0]!.ok, found.get('webhooks:stripe')![0]!.failed],
      [400, 20],
    )
    const sorted = durations.toSorted((a, b) => a - b)
    for (const share of [0.5, 0.99]) {
      const direct = sorted[Math.ceil(sorted.length * share) - 1]!
      assert.ok(Math.abs(quantiles(all!.buckets!, [share])[0]! / direct - 1) < 0.05)
    }
    const rows = await store.rows(steps.minute, ['webhooks'], { from: start, until: start + hour })
    assert.equal(rows.length, 1)
  })

  test('what is not written yet is read, and counts once', async () => {
    const clock = new StoppedClock()
    const { recorder, receive } = newProcess(databases[0]!, clock)
    const count = async () =>
      (await recorder.read(['webhooks'], { from: start, until: start + hour }, 60))
        .get('webhooks')!
        .map(({ ok }) => ok)
        .slice(0, 2)
    receive('github', 'accepted')
    assert.deepEqual(await count(), [1, 0])
    clock.time += minute
    const flushed = recorder.flush()
    assert.deepEqual(await count(), [1, 0])
    await flushed
    receive('github', 'accepted')
    assert.deepEqual(await count(), [1, 1])
    await recorder.close()
    assert.deepEqual(await count(), [1, 1])
  })

  test('minutes wait in memory while the database is away', async () => {
    const clock = new StoppedClock()
    const { receive, recorder } = newProcess(databases[0]!, clock)
    const metrics = new Metrics()
    const webhooks = metrics.counter('postern_webhooks_total', 'test', ['source', 'outcome'])
    let away = true
    const interrupted = new Recorder({
      metrics,
      clock,
      log,
      store: new (class extends HistoryStore {
        override async addMinutes(tallies: Tallies, aboutToCommit: () => void) {
          if (away) throw new Error('away')
          await super.addMinutes(tallies, aboutToCommit)
        }
      })(databases[0]!),
    })
    webhooks.inc({ source: 'github', outcome: 'unavailable' })
    clock.time += minute
    for (const one of [interrupted, recorder]) await one.flush()
    webhooks.inc({ source: 'github', outcome: 'unavailable' })
    away = false
    await interrupted.flush()
    receive('github', 'accepted')
    await recorder.flush()
    const found = await recorder.read(['webhooks'], { from: start, until: start + 2 * minute }, 60)
    assert.deepEqual(fields(found.get('webhooks')!, 'ok', 'failed'), [
      [0, 1],
      [1, 1],
    ])
  })

  test('hours have the sums of their minutes, also after a repetition and late minutes', async () => {
    const clock = new StoppedClock()
    const { store, recorder } = newProcess(databases[0]!, clock)
    const add = async (at: number, ok: number) => {
      const tallies = new Tallies()
      const tally = tallies.of('handlers', at)
      tally.ok = ok
      const buckets = new Float64Array(265)
      buckets[80] = ok
      tally.addBuckets(buckets)
      await store.addMinutes(tallies, () => undefined)
    }
    for (let past = 0; past < 4 * 60; past += 7) await add(start + past * minute, 2)
    const now = start + 4 * hour + 30 * minute
    await add(now, 5)
    const sums = async () =>
      (await recorder.read(['handlers'], { from: start, until: start + 5 * hour }, 3_600))
        .get('handlers')!
        .map(({ ok }) => ok)
    const expected = [18, 18, 16, 18, 5]
    const before = await sums()
    await store.rollUp(now)
    assert.deepEqual(await sums(), before)
    await store.rollUp(now)
    assert.deepEqual(await sums(), expected)
    await add(start + 3 * hour, 100)
    await store.rollUp(now)
    const rows = await store.rows(steps.hour, ['handlers'], { from: start, until: now })
    assert.deepEqual(
      each(
        rows.toSorted((a, b) => a.at - b.at),
        'ok',
      ),
      [18, 18, 16, 118],
    )
    const [first] = (await recorder.read(['handlers'], { from: start, until: start + hour }, 3_600)).get(
      'handlers',
    )!
    assert.equal(first!.buckets![80], 18)
  })

  test('hours stay as they are while their minutes are deleted', async () => {
    const { store } = newProcess(databases[0]!, new StoppedClock())
    const tallies = new Tallies()
    for (let at = 0; at < 60; at += 1) tallies.of('webhooks', start + at * minute).ok = 1
    await store.addMinutes(tallies, () => undefined)
    await store.rollUp(start + 2 * hour)
    // Nothing came since, so the hour is still the last one.
    for (const later of [25, 35, 45]) await store.rollUp(start + retention[60] + later * minute)
    const rows = await store.rows(steps.hour, ['webhooks'], { from: start, until: start + hour })
    assert.deepEqual(each(rows, 'ok'), [60])
  })

  test('minutes are deleted after two days and hours after 35', async () => {
    const { store } = newProcess(databases[0]!, new StoppedClock())
    for (const days of [0, 1, 3, 20, 36]) {
      const tallies = new Tallies()
      for (let at = 0; at < 700; at += 1)
        tallies.of('webhooks', start - days * 24 * hour - at * minute).ok = 1
      await store.addMinutes(tallies, () => undefined)
    }
    await store.rollUp(start + minute)
    const everything = { from: 0, until: start + hour }
    const minutes = await store.rows(steps.minute, ['webhooks'], everything)
    const hours = await store.rows(steps.hour, ['webhooks'], everything)
    assert.ok(minutes.every(({ at }) => at >= start + minute - retention[60]))
    assert.ok(hours.every(({ at }) => at >= start + minute - retention[3600]))
    assert.equal(minutes.length, 1_400)
    assert.equal(
      hours.reduce((sum, { ok }) => sum + ok, 0),
      // The hour that has begun is not written yet.
      4 * 700 - 1,
    )
  })
})

test('an answer has at most 240 steps, or one more for its edges', () => {
  const now = start + 12_345
  for (const length of [1, 61 * minute, 6 * hour, 24 * hour, 47 * hour, 7 * 24 * hour, retention[3600]]) {
    const step = stepOf({ from: now - length, until: now }, now)
    assert.ok(length / (step * 1000) <= mostPoints)
    assert.ok(length <= retention[60] || step >= 3_600)
  }
  const anHour = (days: number) => ({ from: now - days * 24 * hour, until: now - days * 24 * hour + hour })
  assert.deepEqual(
    [1, 3, 9].map((days) => stepOf(anHour(days), now)),
    [60, 3_600, 3_600],
  )
})
