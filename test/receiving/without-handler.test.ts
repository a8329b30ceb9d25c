// Due events for which this process has no handler: another process may have one, so they wait before they are marked.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '../../src/storage/database.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { onEachEngine } from '../harness/engines.ts'
import { startTestService } from '../harness/service.ts'
import { eventually, postWebhook, settled } from './harness.ts'
import { insertReceived } from './insert-received.ts'

const minute = 60_000

onEachEngine('events without a handler in this process', (engine) => {
  test('wait for one that has it, then are processed, or failed if they failed before', async () => {
    let time = 1_700_000_000_000
    const clock = { ...systemClock, now: () => time }
    const home = await engine.createMigratedDatabase()
    const handled: string[] = []
    const start = (handlers: Record<string, () => void>) =>
      startTestService(engine, {
        databaseUrl: home.url,
        env: { INBOX_MAX_AGE: '60' },
        config: { receiving: { handlers } },
        parts: { clock },
      })
    let service = await start({ known: () => void handled.push('known') })
    try {
      await insert(service.database, [
        { id: 'old', due: time - 15 * minute },
        { id: 'old-failed', due: time - 15 * minute, failedAt: time - 20 * minute },
        { id: 'old-again', due: time - 15 * minute, again: true },
        { id: 'fresh', due: time - 14 * minute },
        { id: 'fresh-failed', due: time - 14 * minute, failedAt: time - 20 * minute },
      ])
      service.database.signal('event_queue')
      await eventually(async () => (await statuses(service.database))['old'] !== 'pending')
      assert.deepEqual(await statuses(service.database), {
        old: 'processed',
        'old-failed': 'failed',
        'old-again': 'failed',
        fresh: 'pending',
        'fresh-failed': 'pending',
      })
      const json = { status: 'failed', dryRun: true }
      const counted = await service.admin('/events/reprocess', { method: 'POST', json })
      assert.deepEqual(await counted.json(), { total: 2 })
      const ready = await service.fetch('/readyz')
      assert.equal(ready.status, 200, await ready.clone().text())
      // The age of the backlog is read in the background: one of the later webhooks would be refused.
      for (const id of ['1', '2', '3', '4', '5']) {
        time += 1_100
        assert.equal((await postWebhook(service, { id, type: 'known' })).status, 200)
      }
      await eventually(() => handled.length === 5)
      await service.close()
      service = await start({ gone: () => void handled.push('gone') })
      await settled(service.database)
      assert.deepEqual(handled.slice(5), ['gone', 'gone'])
      assert.equal((await service.admin('/events/reprocess', { method: 'POST', json: {} })).status, 202)
      await eventually(() => handled.length === 9)
    } finally {
      await service.close()
      await home.drop()
    }
  })
})

async function statuses({ reader }: Database): Promise<Record<string, string>> {
  const rows = await reader
    .selectFrom('event_queue')
    .select(['event_id', 'status'])
    .where('type', '=', 'gone')
    .orderBy('event')
    .execute()
  return Object.fromEntries(rows.map((row) => [row.event_id, row.status]))
}

interface Row {
  id: string
  due: number
  failedAt?: number
  /** Whether it had failed and was given all attempts again. */
  again?: boolean
}

function insert(database: Database, events: readonly Row[]): Promise<void> {
  return database.transaction(async (tx) => {
    for (const { id, due, failedAt = null, again = false } of events)
      await insertReceived(tx, {
        event_id: id,
        source: 'provider',
        type: 'gone',
        attempts: again || failedAt !== null ? 1 : 0,
        attempts_before: again ? 1 : 0,
        due_at: due,
        failed_at: failedAt,
      })
  })
}
