// A handler that delays others in a shared transaction runs a second time, in a transaction of its own.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/runtime/clock.ts'
import { onEachEngine, startTestService } from '../harness/index.ts'
import { createEffects, eventually, postWebhook, readEffects, writeEffect } from './harness.ts'

/** Milliseconds that the first run takes before it uses its transaction. */
const firstRun = 300_000
/** Milliseconds that a lease lasts when it begins: the time limit of the handler, and five seconds. */
const wholeLease = 605_000

onEachEngine('the second run of a handler', (engine) => {
  test('has a whole lease, whatever the first one used of it', async () => {
    let runs = 0
    let left = 0
    let passed = 0
    const clock = { ...systemClock, now: () => systemClock.now() + passed }
    await using service = await startTestService(engine, {
      env: { HANDLER_TIMEOUT: '600' },
      parts: { clock },
      handlers: {
        async holding(event, { tx, signal }) {
          runs += 1
          if (runs === 1) {
            passed = firstRun
            await writeEffect(tx, event.id)
            await new Promise((resolve) => signal.addEventListener('abort', resolve))
            return
          }
          const queue = service.database.reader.selectFrom('event_queue').select('leased_until')
          const { leased_until: until } = await queue.executeTakeFirstOrThrow()
          left = until! - clock.now()
          await writeEffect(tx, event.id)
        },
      },
    })
    await createEffects(service.database)
    await postWebhook(service, { id: 'one', type: 'holding' })
    await eventually(async () => (await readEffects(service.database)).length === 1)
    assert.equal(runs, 2)
    assert.ok(left > wholeLease - firstRun, `${left} ms are left of the lease`)
  })
})
