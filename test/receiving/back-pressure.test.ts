// What a source may send: its own rate, and how long its events may have waited.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock, type Clock } from '../../src/runtime/clock.ts'
import { defineConfig, hmac } from '../../src/index.ts'
import { onEachEngine, rowsOf, startTestService, webhookSecret } from '../harness/index.ts'
import { eventually, postWebhook, settled } from './harness.ts'

const source = hmac({ header: 'x-signature', secret: webhookSecret })
const fixed = (now: () => number): Clock => ({ ...systemClock, now })

onEachEngine('back-pressure', (engine) => {
  test('the rate of a source: 429 with RateLimit and Retry-After, also with RATE_LIMIT=off; other sources are not limited', async () => {
    let now = 1_000_000_000_000
    await using service = await startTestService(engine, {
      config: defineConfig({
        receiving: { sources: { provider: { ...source, rateLimit: 3 }, free: source } },
      }),
      parts: { clock: fixed(() => now) },
    })
    const statuses: number[] = []
    // A stranger takes nothing of what the sender may send.
    for (let index = 0; index < 20; index += 1)
      assert.equal((await postWebhook(service, { id: 'x', type: 'a' }, { 'x-signature': '00' })).status, 401)
    let last: Response | undefined
    for (let index = 0; index < 5; index += 1) {
      last = await postWebhook(service, { id: `${index}`, type: 'a' })
      statuses.push(last.status)
    }
    assert.deepEqual(statuses, [200, 200, 200, 429, 429])
    assert.equal(last!.headers.get('ratelimit-limit'), '3')
    assert.equal(last!.headers.get('ratelimit-remaining'), '0')
    assert.equal(last!.headers.get('retry-after'), '1')
    assert.equal(((await last!.json()) as { code: string }).code, 'too-many-requests')
    const free = await postWebhook(service, { id: 'free', type: 'a' }, {}, 'free')
    assert.equal(free.status, 200)
    assert.equal(free.headers.get('ratelimit-limit'), null)
    now += 1_000
    assert.equal((await postWebhook(service, { id: '4', type: 'a' })).status, 200)
    const rows = await rowsOf(service, 'event_queue', { source: 'provider' })
    assert.deepEqual(rows.map(({ event_id }) => event_id).toSorted(), ['0', '1', '2', '4'])
  })

  test('INBOX_MAX_AGE: a source with an old backlog gets 503 until its events are processed', async () => {
    let ahead = 0
    let release: () => void = () => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    let begun = 0
    await using service = await startTestService(engine, {
      env: { INBOX_MAX_AGE: '60', HANDLER_TIMEOUT: '3600' },
      receiving: {
        sources: { other: source },
        handlers: {
          slow: {
            concurrency: 1,
            handle: async () => {
              begun += 1
              await held
            },
          },
        },
      },
      parts: { clock: { ...systemClock, now: () => Date.now() + ahead } },
    })
    try {
      for (const id of ['one', 'two'])
        assert.equal((await postWebhook(service, { id, type: 'slow' })).status, 200)
      await eventually(() => begun === 1)
      // The second waits for the first. Each request has the event queue looked at, none waits for it.
      ahead = 61_000
      const refused = await eventually(async () => {
        const response = await postWebhook(service, { id: 'three', type: 'other' })
        return response.status === 503 ? response : undefined
      })
      assert.equal(refused.headers.get('retry-after'), '60')
      assert.equal(((await refused.json()) as { code: string }).code, 'overloaded')
      const unsigned = await postWebhook(service, { id: 'x', type: 'slow' }, { 'x-signature': '00' })
      assert.equal(unsigned.status, 401)
      const other = await postWebhook(service, { id: 'elsewhere', type: 'slow' }, {}, 'other')
      assert.equal(other.status, 200, 'another source is not held back')
      release()
      await settled(service.database)
      ahead += 2_000
      await eventually(async () => (await postWebhook(service, { id: 'four', type: 'slow' })).status === 200)
    } finally {
      release()
    }
  })
})
