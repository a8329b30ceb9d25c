// Due events for which this process has no handler: another process may have one, so they wait before they are marked.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { receivedStatus } from '../../src/events/store.ts'
import type { Database } from '../../src/storage/database.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { hmac } from '../../src/index.ts'
import { onEachEngine, startReceiver, startTestService, webhookSecret } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually, postWebhook, settled } from './harness.ts'
import { insertReceived } from './insert-received.ts'

const minute = 60_000

onEachEngine('events without a handler in this process', (engine) => {
  test('wait for one that has it, then are unhandled, or failed if they failed before', async () => {
    let time = 1_700_000_000_000
    const clock = { ...systemClock, now: () => time }
    await using home = await engine.createMigratedDatabase()
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
        // Its process was killed: the attempt left nothing behind.
        { id: 'old-cut-off', due: time - 15 * minute, attempts: 1 },
        { id: 'fresh', due: time - 14 * minute },
        { id: 'fresh-failed', due: time - 14 * minute, failedAt: time - 20 * minute },
      ])
      service.database.signal('event_queue')
      await eventually(async () => (await statuses(service.database))['old'] !== 'pending')
      assert.deepEqual(await statuses(service.database), {
        old: 'unhandled',
        'old-failed': 'failed',
        'old-again': 'failed',
        'old-cut-off': 'unhandled',
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
    }
  })
})

onEachEngine('an event that no handler takes', (engine) => {
  test('is unhandled in lists, its page, search and metrics, also at a source without handlers; a forwarded one is processed', async () => {
    await using receiver = await startReceiver(200)
    const source = (forwardTo?: string) =>
      hmac({ header: 'x-signature', secret: webhookSecret, ...(forwardTo !== undefined && { forwardTo }) })
    await using service = await startTestService(engine, {
      receiving: {
        sources: { idle: source(), onward: source(receiver.url) },
        handlers: { 'order.payed': () => undefined },
      },
    })
    const post = async (to: string, id: string, type: string): Promise<void> => {
      assert.equal((await postWebhook(service, { id, type }, {}, to)).status, 200)
    }
    await post('provider', 'mistyped', 'order.paid')
    await post('provider', 'matched', 'order.payed')
    await post('idle', 'idle', 'anything')
    await post('onward', 'forwarded', 'anything')
    await post('provider', 'mistyped', 'order.paid')
    await settled(service.database)
    const read = async <Answer>(path: string): Promise<Answer> =>
      (await (await service.admin(path)).json()) as Answer
    type Item = AnswerTo<'GET /events'>['data'][number]
    const { data } = await read<{ data: Item[] }>('/events')
    assert.deepEqual(Object.fromEntries(data.map(({ eventId, status }) => [eventId, status])), {
      mistyped: 'unhandled',
      matched: 'processed',
      idle: 'unhandled',
      forwarded: 'processed',
    })
    const { id } = data.find(({ eventId }) => eventId === 'mistyped')!
    const detail = await read<Item & { processing: { attempts: number; processedAt: string | null } }>(
      `/events/${id}`,
    )
    assert.equal(detail.status, 'unhandled')
    assert.equal(detail.processing.attempts, 0)
    assert.ok(detail.processing.processedAt, 'the marker is written')
    const searched = await (await service.admin('/events/search?text=order.&status=unhandled')).text()
    assert.match(searched, /"eventId":"mistyped"[^\n]*"status":"unhandled"/)
    assert.doesNotMatch(searched, /matched/)
    const again = await service.admin(`/events/${id}/reprocess`, { method: 'POST' })
    assert.equal(again.status, 409)
    assert.match(((await again.json()) as { detail: string }).detail, /^No handler took the event/)
    // An attempt is counted after its commit.
    const metrics = await eventually(async () => {
      const text = await (await service.admin('/metrics')).text()
      return /^postern_handler_attempts_total\{outcome="processed"\} 2$/m.test(text) ? text : undefined
    }, 'both attempts are counted')
    assert.match(metrics, /^postern_webhooks_unhandled_total\{source="idle"\} 1$/m)
    assert.match(metrics, /^postern_webhooks_unhandled_total\{source="provider"\} 2$/m)
    assert.doesNotMatch(metrics, /^postern_webhooks_unhandled_total\{source="onward"\}/m)
  })
})

async function statuses({ reader }: Database): Promise<Record<string, string>> {
  const rows = await reader
    .selectFrom('event_queue')
    .select(['event_id', 'status', 'attempts'])
    .where('type', '=', 'gone')
    .orderBy('event')
    .execute()
  return Object.fromEntries(rows.map((row) => [row.event_id, receivedStatus(row)]))
}

interface Row {
  id: string
  due: number
  failedAt?: number
  /** Whether it had failed and was given all attempts again. */
  again?: boolean
  /** Default: 1 if it failed, else 0. */
  attempts?: number
}

function insert(database: Database, events: readonly Row[]): Promise<void> {
  return database.transaction(async (tx) => {
    for (const { id, due, failedAt = null, again = false, ...row } of events)
      await insertReceived(tx, {
        event_id: id,
        source: 'provider',
        type: 'gone',
        attempts: row.attempts ?? (again || failedAt !== null ? 1 : 0),
        attempts_before: again ? 1 : 0,
        due_at: due,
        failed_at: failedAt,
      })
  })
}
