import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { migrate } from '../storage/migrate.ts'
import { openDatabase } from '../storage/open.ts'
import { HistoryStore } from '../telemetry/history/store.ts'
import { insertSampleHistory, sampleActivity, sampleHistory } from './sample-history.ts'

const now = Date.UTC(2026, 0, 31, 8, 30, 12)

const signIns = [
  { at: now - 3_600_000, failed: false },
  { at: now - 20 * 86_400_000, failed: true },
]
const refusals = [{ at: now - 2 * 3_600_000, reason: 'signature-wrong' }] as const
const counted = { signIns, refusals }

test('only what the lists have is counted, all of it before now', () => {
  for (const [step, tallies] of sampleHistory(now, counted)) {
    const entries = [...tallies.entries()]
    assert.ok(entries.every(({ at }) => at + step * 1_000 <= now && at % (step * 1_000) === 0))
    assert.deepEqual(
      [...new Set(entries.map(({ series }) => series))].toSorted(),
      ['sign_ins', 'webhooks', 'webhooks:shop'],
      `step ${step}`,
    )
    const webhooks = entries.filter(({ series }) => series === 'webhooks')
    assert.deepEqual(
      webhooks.map(({ tally: { ok, failed } }) => [ok, failed]),
      [[0, refusals.length]],
      `step ${step}`,
    )
  }
})

test('the counts of the source are those of its refusals', () => {
  assert.deepEqual(
    sampleActivity(now, refusals).map(({ name, counter, count }) => [name, counter, count]),
    [['shop', 'signature-wrong', 1]],
  )
})

test('longer steps have the sign-ins of shorter ones, and those before', () => {
  const counts = [...sampleHistory(now, counted).values()].map((tallies) =>
    [...tallies.entries()]
      .filter(({ series }) => series === 'sign_ins')
      .map(({ tally: { ok, failed } }) => [ok, failed]),
  )
  assert.deepEqual(counts, [
    [
      [1, 0],
      [0, 1],
    ],
    [[1, 0]],
    [[1, 0]],
  ])
})

test('the refused webhooks of the list, and no others, are in the charts of the last week', () => {
  for (const [step, tallies] of sampleHistory(now, counted))
    for (const series of ['webhooks', 'webhooks:shop'])
      assert.deepEqual(
        [...tallies.entries()]
          .filter((one) => one.series === series && one.tally.failed > 0 && one.at > now - 7 * 86_400_000)
          .map(({ at, tally }) => [at, tally.failed]),
        [[refusals[0].at - (refusals[0].at % (step * 1_000)), 1]],
        `step ${step}`,
      )
})

test('they are written once', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'postern-sample-history-'))
  const database = await openDatabase(`sqlite:${join(folder, 'postern.db')}`)
  try {
    await migrate(database)
    const store = new HistoryStore(database)
    await insertSampleHistory(store, database, now, counted)
    const count = async () =>
      (
        await database.reader
          .selectFrom('metric_history')
          .select(['step', (eb) => eb.fn.countAll<number>().as('rows')])
          .groupBy('step')
          .orderBy('step')
          .execute()
      ).map(({ step, rows }) => [step, rows])
    const first = await count()
    assert.deepEqual(
      first.map(([step]) => step),
      [60, 600, 3_600],
    )
    await insertSampleHistory(store, database, now + 86_400_000, counted)
    assert.deepEqual(await count(), first)
    assert.equal(await store.hasSucceeded('handlers', now), false)
    assert.equal(await store.hasSucceeded('deliveries', now), false)
  } finally {
    await database.close()
    await rm(folder, { recursive: true, force: true })
  }
})
