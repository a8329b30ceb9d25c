// A handler that failed was mended: its events are run now, not when their next attempt is due.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { hmac } from '../../src/index.ts'
import { findRow, onEachEngine, started, startReceiver } from '../harness/index.ts'
import { startTestService, webhookSecret } from '../harness/service.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { createEffects, eventually, postWebhook, readEffects, writeEffect } from './harness.ts'
import { dataOf } from '../emitting/harness.ts'

/** Far longer than any test: what runs earlier does so because somebody said so. */
const hour = 3600

type Detail = AnswerTo<'GET /events/{id}'>

type DryRun = AnswerTo<'POST /events/{id}/dry-run'>

onEachEngine('an event whose handler failed', (engine) => {
  const broken = new Set<string>()
  let running = 0
  let mostRunning = 0
  let held: PromiseWithResolvers<void> | undefined

  const receiver = started(() => startReceiver(200))
  const service = started(async () => {
    const source = (forwardTo?: string) =>
      hmac({ header: 'x-signature', secret: webhookSecret, ...(forwardTo !== undefined && { forwardTo }) })
    return startTestService(engine, {
      env: { HANDLER_RETRY_SCHEDULE: `0,${hour},${hour}`, HANDLER_TIMEOUT: '600' },
      receiving: {
        sources: { onward: source(`${receiver.url}?token=of-the-operator`) },
        handlers: {
          'order.*': async (event, { tx, emit }) => {
            running += 1
            mostRunning = Math.max(mostRunning, running)
            try {
              // Before the transaction: on SQLite it keeps others from writing.
              if (event.type === 'order.held') await held?.promise
              await writeEffect(tx, event.id, event.attempt)
              emit({ type: 'shop.told', data: { of: event.id } })
              if (broken.has(event.type)) throw new Error('the shop is closed')
            } finally {
              running -= 1
            }
          },
          'order.unsent': (_event, { emit }) => emit({ type: 'not told', data: 1n }),
        },
      },
    })
  })
  before(async () => {
    await createEffects(service.database)
  })

  const rowOf = (eventId: string) => findRow(service, 'event_queue', { event_id: eventId })
  async function failed(id: string, type: string): Promise<number> {
    broken.add(type)
    await postWebhook(service, { id, type })
    return eventually(async () => {
      const row = await rowOf(id)
      return row && row.failed_at !== null ? row.event : undefined
    })
  }
  const reprocess = (event: number, json?: object): Promise<Response> =>
    service.admin(`/events/${event}/reprocess`, { method: 'POST', ...(json && { json }) })
  const detailOf = async (event: number): Promise<Detail> =>
    (await (await service.admin(`/events/${event}`)).json()) as Detail
  const isProcessed = (eventId: string) =>
    eventually(async () => (await rowOf(eventId))?.status === 'processed')
  const dryRun = async (event: number): Promise<DryRun> => {
    const answer = await reprocess(event, { dryRun: true })
    assert.equal(answer.status, 200)
    return (await answer.json()) as DryRun
  }

  test('is retrying, and is run now as often as somebody asks; its schedule does not move', async () => {
    const event = await failed('now', 'order.now')
    const waiting = await detailOf(event)
    assert.equal(waiting.status, 'retrying')
    assert.ok(Date.parse(waiting.processing!.nextAttemptAt!) > Date.now() + (hour / 2) * 1000)
    // More often than the schedule has attempts.
    for (const failures of [2, 3, 4, 5]) {
      const still = await reprocess(event)
      assert.equal(still.status, 202)
      assert.equal(((await still.json()) as { status: string }).status, 'retrying')
      const again = await eventually(async () => {
        const detail = await detailOf(event)
        const processing = detail.processing!
        return processing.failures.length === failures && processing.nextAttemptAt !== null
          ? detail
          : undefined
      })
      assert.equal(again.status, 'retrying')
      assert.equal(again.processing!.attempts, failures)
      assert.equal(again.processing!.nextAttemptAt, waiting.processing!.nextAttemptAt)
    }
    // The attempts of the schedule: two are left.
    const atItsTime = async (failures: number) => {
      await service.database.transaction((tx) =>
        tx.updateTable('event_queue').set({ due_at: 0 }).where('event', '=', event).execute(),
      )
      service.database.signal('event_queue')
      // The failure is shown before the event is released, and the release decides the status.
      await eventually(async () => {
        const processing = (await detailOf(event)).processing!
        return processing.failures.length === failures && (await rowOf('now'))?.claim === null
      })
      return detailOf(event)
    }
    assert.equal((await atItsTime(6)).status, 'retrying', 'the second of three attempts failed')
    assert.equal((await atItsTime(7)).status, 'failed', 'the third of three attempts failed')
    broken.clear()
    assert.equal((await reprocess(event)).status, 202)
    await isProcessed('now')
    assert.deepEqual(await readEffects(service.database), ['now'])
    assert.equal((await detailOf(event)).status, 'processed')
    assert.equal((await reprocess(event)).status, 409, 'a processed one is not run again')
    assert.equal((await reprocess(event, { dryRun: true })).status, 409)
  })

  test('is not run twice concurrently', async () => {
    held = Promise.withResolvers()
    mostRunning = 0
    await postWebhook(service, { id: 'held', type: 'order.held' })
    await eventually(() => running === 1)
    const { event } = (await rowOf('held'))!
    for (let times = 0; times < 3; times += 1) {
      const answer = await reprocess(event)
      assert.equal(answer.status, 202)
      assert.equal(((await answer.json()) as { status: string }).status, 'pending')
    }
    const refused = await reprocess(event, { dryRun: true })
    assert.equal(refused.status, 409)
    assert.match(((await refused.json()) as { detail: string }).detail, /being handled/)
    held.resolve()
    await isProcessed('held')
    assert.equal(mostRunning, 1)
    assert.equal((await rowOf('held'))!.attempts, 1)
  })

  test('reports in a dry run if its emitted events could not be stored', async () => {
    const event = await failed('unsent', 'order.unsent')
    broken.clear()
    const told = await dryRun(event)
    assert.equal(told.outcome, 'failed')
    assert.equal((await detailOf(event)).status, 'retrying')
    assert.equal((await reprocess(event)).status, 202)
  })

  test('has one dry run at a time, during which it is not processed', async () => {
    const event = await failed('fenced', 'order.held')
    broken.clear()
    held = Promise.withResolvers()
    mostRunning = 0
    const first = dryRun(event)
    await eventually(() => running === 1)
    assert.equal((await reprocess(event, { dryRun: true })).status, 409)
    assert.equal((await reprocess(event)).status, 202)
    held.resolve()
    assert.equal((await first).outcome, 'processed')
    await isProcessed('fenced')
    assert.equal(mostRunning, 1)
  })

  test('of a forwarding source: a dry run names the target and sends nothing', async () => {
    const calls = receiver.calls.length
    await postWebhook(service, { id: 'onward', type: 'a' }, {}, 'onward')
    const event = await eventually(async () => (await rowOf('onward'))?.event)
    await isProcessed('onward')
    assert.equal(receiver.calls.length, calls + 1)
    await service.database.transaction((tx) =>
      tx
        .updateTable('event_queue')
        .set({ status: 'failed', processed_at: null })
        .where('event', '=', event)
        .execute(),
    )
    const sent = receiver.calls.length
    const told = await dryRun(event)
    assert.deepEqual([told.outcome, told.forwardTo], ['forwarded', receiver.url])
    assert.equal(receiver.calls.length, sent)
  })

  test('is found with others of its handler and error, and all of them are run now', async () => {
    for (const [id, type] of [
      ['many-1', 'order.many'],
      ['many-2', 'order.many'],
      ['other', 'order.other'],
    ] as const)
      await failed(id, type)
    broken.delete('order.many')
    const list = async (query: string): Promise<string[]> => {
      const path = `/events/failed?${query}`
      const data = await dataOf<{ eventId: string; status: string; nextAttemptAt: string | null }>(
        service,
        path,
      )
      assert.ok(data.every(({ status, nextAttemptAt }) => status === 'retrying' && nextAttemptAt !== null))
      return data.map(({ eventId }) => eventId)
    }
    assert.deepEqual(await list('status=retrying&handler=order.*&error=the+shop+is+closed'), [
      'other',
      'many-2',
      'many-1',
    ])
    const filter = { status: 'retrying', handler: 'order.*', type: 'order.many', error: 'closed' }
    const again = (json: object): Promise<Response> =>
      service.admin('/events/reprocess', { method: 'POST', json })
    assert.deepEqual(await (await again({ ...filter, dryRun: true })).json(), { total: 2 })
    const begun = await again(filter)
    assert.equal(begun.status, 202)
    assert.equal(((await begun.json()) as { total: number }).total, 2)
    await isProcessed('many-1')
    await isProcessed('many-2')
    assert.deepEqual(await list('status=retrying&type=order.other'), ['other'])
    assert.equal((await rowOf('other'))!.attempts, 1)
  })
})
