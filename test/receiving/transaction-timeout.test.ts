// SQLite has one writer: a handler that keeps its transaction open while it waits must not keep the others from writing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { onSqlite, rowIn, rowsOf, sqlite as engine, startTestService } from '../harness/index.ts'
import { createEffects, eventually, postWebhook, readEffects, writeEffect } from './harness.ts'

test('a transaction timeout rolls back at once, with a hint', onSqlite, async () => {
  let open = 0
  let most = 0
  let rolledBack = 0
  await using service = await startTestService(engine!, {
    env: { HANDLER_RETRY_SCHEDULE: '0,0', HANDLER_TRANSACTION_TIMEOUT: '1' },
    handlers: {
      holding: async (event, { tx, signal }) => {
        await writeEffect(tx, event.id)
        most = Math.max(most, ++open)
        // Not even interested in its signal.
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        open -= 1
        rolledBack += 1
      },
      slowly: async (event, { tx }) => {
        // The second of these began after this handler: it lasts longer than a transaction may.
        const before = rolledBack
        await eventually(() => rolledBack >= before + 2)
        await writeEffect(tx, event.id)
      },
      quick: (event, { tx }) => writeEffect(tx, event.id),
    },
  })
  await createEffects(service.database)
  // First, so that enough of the others are rolled back after it began.
  await postWebhook(service, { id: 'slowly', type: 'slowly' })
  for (let index = 0; index < 4; index += 1)
    await postWebhook(service, { id: `holding-${index}`, type: 'holding' })
  await eventually(() => open > 0)
  await postWebhook(service, { id: 'quick', type: 'quick' })
  const emitted = await service.admin('/events', { method: 'POST', json: { type: 'a', data: {} } })
  assert.equal(emitted.status, 202)
  await eventually(async () => {
    const rows = await rowsOf(service, 'event_queue', { status: 'failed' })
    return rows.length === 4
  })
  assert.equal(most, 1)
  assert.deepEqual(await readEffects(service.database), ['quick', 'slowly'])
  // On a busy machine others may be rolled back as well, and are tried again.
  const failures = await service.database.reader
    .selectFrom('handler_failures')
    .innerJoin('event_queue', 'event_queue.event', 'handler_failures.event')
    .select('error')
    .where('type', '=', 'holding')
    .execute()
  assert.equal(failures.length, 8)
  for (const { error } of failures)
    assert.match(error, /open for more than 1000 ms.*before the first use of tx/)
})

test(
  'an attempt whose transaction could not begin in time is repeated and does not count',
  onSqlite,
  async () => {
    const alone = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    let held = 0
    let release = (): void => undefined
    let begun = 0
    let reason: unknown
    // The handler's time limit ends when the test says so: a busy machine takes any time until the handler asks for its transaction.
    let endTime = (): void => undefined
    const after: Clock['after'] = (ms, callback) => {
      if (ms !== 3_600_000) return systemClock.after(ms, callback)
      endTime = callback
      return () => undefined
    }
    await using service = await startTestService(engine!, {
      env: { HANDLER_RETRY_SCHEDULE: '0', HANDLER_TRANSACTION_TIMEOUT: '60' },
      parts: { clock: { ...systemClock, after } },
      handlers: {
        holding: async (event, { tx }) => {
          await writeEffect(tx, event.id)
          // The first time it holds up those with whom it shares a transaction, and is run again in one of its own.
          if (++held === 2) alone.resolve()
          await new Promise<void>((resolve) => (release = resolve))
        },
        waiting: {
          timeout: 3600,
          handle: async (event, { tx, signal }) => {
            begun += 1
            signal.addEventListener('abort', () => (reason = signal.reason))
            await alone.promise
            const written = writeEffect(tx, event.id)
            asked.resolve()
            await written
          },
        },
      },
    })
    try {
      await createEffects(service.database)
      await postWebhook(service, { id: 'waiter', type: 'waiting' })
      // Nothing can be claimed any more once the other one writes.
      await eventually(() => begun > 0)
      await postWebhook(service, { id: 'holder', type: 'holding' })
      await asked.promise
      // Its statement waits for the transaction in the next turn.
      await nextTurn()
      endTime()
      await eventually(() => reason)
      assert.match(String(reason), /waited \d+ of its 3600000 ms for its transaction/)
      release()
      await eventually(async () => (await readEffects(service.database)).length === 2)
      assert.equal(begun, 2)
      const { attempts, status } = await rowIn(service, 'event_queue', { event_id: 'waiter' })
      assert.deepEqual({ attempts, status }, { attempts: 1, status: 'processed' })
      const failures = await service.database.reader.selectFrom('handler_failures').select('error').execute()
      assert.deepEqual(failures, [])
    } finally {
      release()
    }
  },
)

test('readiness reports that writes are impossible', onSqlite, async () => {
  let release = (): void => undefined
  let held = false
  await using service = await startTestService(engine!, {
    env: { HANDLER_TRANSACTION_TIMEOUT: '60' },
    handlers: {
      holding: async (event, { tx }) => {
        await writeEffect(tx, event.id)
        held = true
        await new Promise<void>((resolve) => (release = resolve))
      },
    },
  })
  try {
    await createEffects(service.database)
    await postWebhook(service, { id: 'holder', type: 'holding' })
    await eventually(() => held)
    assert.equal((await service.fetch('/readyz')).status, 200)
    await eventually(async () => (await service.fetch('/readyz')).status === 503)
    release()
    await eventually(async () => (await service.fetch('/readyz')).status === 200)
  } finally {
    release()
  }
})
