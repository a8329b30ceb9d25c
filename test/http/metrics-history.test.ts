// GET /metrics/history on a running service.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, startedService, startTestService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'

type History = AnswerTo<'GET /metrics/history'>

onEachEngine('GET /metrics/history', (engine) => {
  const service = startedService(engine, () => ({
    env: { HANDLER_RETRY_SCHEDULE: '0,3600', EMIT_RETRY_SCHEDULE: '0', ALLOW_PRIVATE_NETWORK: 'true' },
    config: {
      receiving: {
        handlers: {
          'order.*': (event) => {
            if (event.type === 'order.broken') throw new Error('not today')
          },
        },
      },
    },
  }))

  const read = async (query: string): Promise<History> => {
    const response = await service.admin(`/metrics/history?${query}`)
    assert.equal(response.status, 200)
    return (await response.json()) as History
  }

  test('counts what happens, at once', async () => {
    for (const id of ['one', 'two', 'two']) await postWebhook(service, { id, type: 'order.paid' })
    await postWebhook(service, { id: 'three', type: 'order.broken' })
    await service.fetch('/webhooks/provider', { method: 'POST', body: '{}' })
    // Nothing listens there.
    const subscriber = { url: 'http://127.0.0.1:9/', eventTypes: ['shop.told'] }
    await service.admin('/subscribers', { method: 'POST', json: subscriber })
    await service.admin('/events', { method: 'POST', json: { id: 'told', type: 'shop.told', data: 1 } })

    const found = await eventually(async () => {
      // Each range has its own answer, and an answer is given again for two seconds.
      for (const range of ['1h', '6h', '24h']) {
        const { series } = await read(`range=${range}`)
        const done = series['handlers']!.total.ok === 2 && series['handlers']!.total.failed === 1
        if (done && series['deliveries']!.total.failed > 0) return series
      }
      return undefined
    })
    const { webhooks, handlers, deliveries, signIns } = found
    assert.deepEqual([webhooks!.total.ok, webhooks!.total.failed, webhooks!.total.duplicates], [4, 1, 1])
    assert.ok(webhooks!.total.p99! > 0 && handlers!.total.p50! > 0)
    assert.equal(deliveries!.total.ok, 0)
    assert.deepEqual([signIns!.total.ok, signIns!.total.p50], [0, null])
    assert.equal(
      webhooks!.ok.reduce((sum, count) => sum + count, 0),
      4,
    )
    const { series } = await read('series=webhooks&source=provider&range=1h')
    assert.deepEqual([series['webhooks']!.total.ok, series['webhooks']!.total.p99], [4, null])
  })

  test('chooses steps, of which all arrays have one entry', async () => {
    for (const [range, step] of [
      ['1h', 60],
      ['6h', 120],
      ['24h', 600],
      ['7d', 3_600],
      ['30d', 10_800],
    ] as const) {
      const answer = await read(`series=webhooks,deliveries&range=${range}`)
      assert.equal(answer.step, step)
      const { ok, p50 } = answer.series['webhooks']!
      const count = Math.ceil((Date.parse(answer.until) - Date.parse(answer.from)) / (step * 1000))
      assert.deepEqual([ok.length, p50.length], [count, count])
      assert.ok(count <= 241)
      assert.deepEqual(Object.keys(answer.series), ['webhooks', 'deliveries'])
    }
    const now = Date.now()
    const from = new Date(now - 30 * 60_000).toISOString()
    const to = new Date(now - 20 * 60_000).toISOString()
    const answer = await read(`from=${from}&to=${to}`)
    assert.ok(Date.parse(answer.from) <= Date.parse(from) && Date.parse(answer.until) >= Date.parse(to))
  })

  test('refuses parameters that it does not know', async () => {
    for (const [query, parameter] of [
      ['range=2h', 'range'],
      ['series=webhooks,users', 'series'],
      ['source=%00', 'source'],
      ['from=yesterday', 'from'],
      ['from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', 'from'],
    ]) {
      const response = await service.admin(`/metrics/history?${query}`)
      assert.equal(response.status, 400)
      const problem = (await response.json()) as { code: string; source: { parameter: string } }
      assert.deepEqual([problem.code, problem.source.parameter], ['invalid-parameter', parameter])
    }
  })

  test('a process that stops writes what it has', async () => {
    const first = await startTestService(engine, {
      databaseUrl: service.databaseUrl,
      parts: { migrate: false },
    }).catch(() => undefined)
    // SQLite has one process.
    if (!first) return assert.equal(engine.name, 'sqlite')
    await postWebhook(first, { id: 'of-the-other', type: 'order.paid' })
    await first.close()
    const { series } = await read('series=webhooks&range=6h')
    assert.equal(series['webhooks']!.total.ok, 5)
  })
})
