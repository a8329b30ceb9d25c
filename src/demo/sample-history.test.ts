import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { migrate } from '../storage/migrate.ts'
import { openDatabase } from '../storage/open.ts'
import { HistoryStore } from '../telemetry/history/store.ts'
import { insertSampleHistory, sampleHistory } from './sample-history.ts'

const now = Date.UTC(2026, 0, 31, 8, 30, 12)

test('the samples are hours of webhooks and sign-ins, all before now', () => {
  const entries = [...sampleHistory(now).entries()]
  assert.ok(entries.every(({ at }) => at < now && at > now - 9 * 3_600_000 && at % 60_000 === 0))
  assert.deepEqual([...new Set(entries.map(({ series }) => series))].toSorted(), [
    'sign_ins',
    'webhooks',
    'webhooks:provider',
  ])
  assert.ok(entries.every(({ tally }) => tally.ok >= 0 && tally.failed <= tally.ok + 1))
})

test('they are written once, also for longer steps, and tick off no step of an installation', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'postern-sample-history-'))
  const database = await openDatabase(`sqlite:${join(folder, 'postern.db')}`)
  try {
    await migrate(database)
    const store = new HistoryStore(database)
    await insertSampleHistory(store, now)
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
    await insertSampleHistory(store, now + 86_400_000)
    assert.deepEqual(await count(), first)
    assert.equal(await store.hasSucceeded('handlers'), false)
    assert.equal(await store.hasSucceeded('deliveries'), false)
  } finally {
    await database.close()
    await rm(folder, { recursive: true, force: true })
  }
})
