import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/runtime/clock.ts'
import { Health } from '../../src/emitting/subscribers/health.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { onEachEngine, scoped, startReceiver, type TestService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { untilStatus, emit, expectJson, startEmitting, subscribe, until } from './harness.ts'

type HealthAnswer = AnswerTo<'GET /subscribers/{id}/health'>

const read = async (service: TestService, id: string, query = ''): Promise<HealthAnswer> =>
  await expectJson<HealthAnswer>(service, 200, `/subscribers/${id}/health${query}`)

onEachEngine('health of subscribers', (engine) => {
  test('attempts are counted by hour, and survive a restart', async () => {
    await using database = await engine.createMigratedDatabase()
    await using receiver = await startReceiver(500, 204)
    const first = await startEmitting(engine, { databaseUrl: database.url })
    const { id } = await subscribe(first, { url: receiver.url })
    const other = await subscribe(first, { url: receiver.url, eventTypes: ['never'] })
    await emit(first, { type: 'a', data: 1 })
    await emit(first, { type: 'a', data: 2 })
    await untilStatus(first, id, 'delivered', 2)
    const check = (shown: HealthAnswer): void => {
      assert.deepEqual([shown.delivered, shown.failed, shown.successRate], [2, 1, 2 / 3])
      assert.ok(shown.p50! >= 10 && shown.p99! >= shown.p50!)
      assert.equal(
        shown.hours.reduce((sum, { delivered }) => sum + delivered, 0),
        2,
      )
      assert.match(shown.hours[0]!.hour, /:00:00\.000Z$/)
    }
    check(
      await until(async () => {
        const shown = await read(first, id)
        return shown.delivered + shown.failed === 3 && shown
      }, 'all are counted'),
    )
    const none = await read(first, other.id)
    assert.deepEqual([none.delivered, none.successRate, none.p50, none.hours], [0, null, null, []])
    await first.close()
    await using second = await startEmitting(engine, { databaseUrl: database.url })
    check(await read(second, id))
    const past = await read(second, id, '?until=2020-01-01T00:00:00Z')
    assert.deepEqual([past.delivered, past.hours], [0, []])
    assert.equal((await second.admin(`/subscribers/${id}/health?since=x`)).status, 400)
    await expectJson(second, 404, '/subscribers/nobody/health')
    assert.equal((await second.fetch(`/subscribers/${id}/health`)).status, 401)
    await expectJson(second, 204, `/subscribers/${id}`, { method: 'DELETE' })
    const rows = await second.database.reader.selectFrom('subscriber_hours').selectAll().execute()
    assert.deepEqual(rows, [], 'they go with their subscriber')
  })

  test('hours are stored as long as events', async () => {
    let skipped = 0
    // What waits for seconds is due at once, so that the test need not wait.
    const clock = {
      ...systemClock,
      now: () => Date.now() + skipped,
      after: (ms: number, then: () => void) => systemClock.after(Math.min(ms, 100), then),
    }
    await using receiver = await startReceiver()
    await using service = await startEmitting(engine, {
      env: { PAYLOAD_RETENTION_DAYS: '30' },
      parts: { clock },
    })
    const { id } = await subscribe(service, { url: receiver.url })
    const hoursAre = (count: number): Promise<unknown> =>
      until(async () => {
        const rows = await service.database.reader
          .selectFrom('subscriber_hours')
          .select('hour')
          .where('subscriber_id', '=', id)
          .distinct()
          .execute()
        return rows.length === count
      }, `${count} hours are kept`)
    await emit(service, { type: 'a', data: 1 })
    await hoursAre(1)
    skipped = 86_400_000
    await emit(service, { type: 'a', data: 2 })
    await hoursAre(2)
    skipped = 32 * 86_400_000
    await emit(service, { type: 'a', data: 3 })
    await hoursAre(1)
  })

  test('each attempt is counted once, also during writes of the counts', async () => {
    let flush = (): void => undefined
    const clock = {
      now: () => 1_000,
      after: (_ms: number, then: () => void) => {
        flush = then
        return () => undefined
      },
    }
    await using service = await startEmitting(engine, { parts: { roles: { http: true, workers: false } } })
    const { id } = await subscribe(service, { url: 'http://127.0.0.1:9/' })
    const { database } = service
    await using health = scoped(new Health({ database, clock, log: createLog('fatal'), retention: Infinity }))
    const counted = async (): Promise<number> =>
      (await health.read([id], 0, 1_000)).reduce((sum, { delivered }) => sum + delivered, 0)
    for (let attempts = 1; attempts <= 30; attempts += 1) {
      health.record(id, true, 5)
      const before = counted()
      flush()
      assert.deepEqual(await Promise.all([before, counted(), counted()]), Array(3).fill(attempts))
    }
  })
})
