// One slow handler, source or sender delays nobody else.
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { hmac, type HandlerContext, type ReceivedEvent, type ReceivingConfig } from '../../src/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { ServiceParts } from '../../src/service.ts'
import type { Database } from '../../src/storage/database.ts'
import { onEachEngine, rowsOf, startReceiver } from '../harness/index.ts'
import { startTestService, type TestService, webhookSecret } from '../harness/service.ts'
import { createEffects, eventually, postWebhook, readEffects, settled, writeEffect } from './harness.ts'

onEachEngine('fairness between handlers', (engine) => {
  let service: TestService
  let release: () => void
  let held: Promise<void>
  /** What has begun and not ended, by type. */
  let running: Record<string, number>
  let most: Record<string, number>

  async function start(
    receiving: ReceivingConfig,
    env: Record<string, string> = {},
    parts: Partial<ServiceParts> = {},
  ): Promise<void> {
    held = new Promise((resolve) => (release = resolve))
    running = {}
    most = {}
    service = await startTestService(engine, {
      // However slow the machine is: handlers that wait do so until the test lets them go.
      env: { HANDLER_RETRY_SCHEDULE: '0,0', HANDLER_TIMEOUT: '600', ...env },
      config: { receiving },
      parts,
    })
    await createEffects(service.database)
  }
  afterEach(async () => {
    release()
    await service.close()
  })

  const hold = async ({ type }: ReceivedEvent): Promise<void> => {
    running[type] = (running[type] ?? 0) + 1
    most[type] = Math.max(most[type] ?? 0, running[type])
    await held
    running[type] -= 1
  }
  const write = (event: ReceivedEvent, { tx }: HandlerContext): Promise<void> => writeEffect(tx, event.id)
  const post = async (type: string, count: number): Promise<void> => {
    await Promise.all(
      Array.from({ length: count }, (_, index) => postWebhook(service, { id: `${type}-${index}`, type })),
    )
  }
  const leased = async (...types: string[]): Promise<number> => {
    const rows = await service.database.reader
      .selectFrom('event_queue')
      .select('event')
      .where('type', 'in', types)
      .where('status', '=', 'pending')
      .where('leased_until', 'is not', null)
      .execute()
    return rows.length
  }
  const done = (type: string, count: number): Promise<boolean> =>
    eventually(
      async () =>
        (await readEffects(service.database)).filter((id) => id.startsWith(`${type}-`)).length === count,
      `${count} of ${type}`,
    )

  test('waiting handlers delay only their own events, and use at most half of all slots', async () => {
    await start({ handlers: { slow: hold, slower: hold, 'slowest.*': hold, quick: write } })
    for (const type of ['slow', 'slower', 'slowest.a', 'slowest.b']) await post(type, 30)
    const held = () => [
      running['slow'] ?? 0,
      running['slower'] ?? 0,
      (running['slowest.a'] ?? 0) + (running['slowest.b'] ?? 0),
    ]
    await eventually(() => held().every((count) => count >= 8))
    await post('quick', 30)
    await done('quick', 30)
    assert.deepEqual(held(), [8, 8, 8])
    release()
    await settled(service.database)
    assert.ok(most['slowest.b']! > 0)
  })

  test('events that are released because a handler was slow stay due since they were received', async () => {
    // Time that slow handlers take: it passes at once.
    let passed = 0
    const clock = {
      now: () => systemClock.now() + passed,
      after: (ms: number, callback: () => void) => systemClock.after(ms, callback),
    }
    let handled = 0
    await start(
      {
        handlers: {
          sometimes: async (event, { tx }) => {
            await writeEffect(tx, event.id)
            handled += 1
            if (handled % 40 === 0) passed += 1_000
          },
        },
      },
      {},
      { clock },
    )
    await post('sometimes', 400)
    await settled(service.database)
    const { reader } = service.database
    assert.equal(await reader.selectFrom('handler_failures').select('event').executeTakeFirst(), undefined)
    const rows = await reader
      .selectFrom('event_queue')
      .innerJoin('events', 'events.id', 'event_queue.event')
      .select(['event', 'due_at', 'created_at'])
      .execute()
    assert.equal(rows.length, 400)
    assert.deepEqual(
      rows.filter((row) => row.due_at > row.created_at),
      [],
    )
  })

  test('a source that forwards to a silent receiver delays no other source', async () => {
    await using receiver = await startReceiver(() => undefined)
    const away = hmac({ header: 'x-signature', secret: webhookSecret, forwardTo: receiver.url })
    await start({ sources: { away }, handlers: { quick: write } }, { HANDLER_RETRY_SCHEDULE: '0' })
    for (let index = 0; index < 30; index += 1) {
      const body = { id: `forwarded-${index}`, type: 'quick' }
      assert.equal((await postWebhook(service, body, {}, 'away')).status, 200)
    }
    await receiver.waitFor(8)
    await post('quick', 10)
    await done('quick', 10)
    assert.equal(receiver.calls.length, 8)
  })

  test('a handler has its declared concurrency over all sources and types', async () => {
    const other = hmac({ header: 'x-signature', secret: webhookSecret })
    let now = 0
    let peak = 0
    // The first three wait for each other: fewer at a time would not end.
    const three = Promise.withResolvers<void>()
    await start({
      sources: { other },
      handlers: {
        '*': {
          concurrency: 3,
          handle: async () => {
            peak = Math.max(peak, ++now)
            if (now === 3) three.resolve()
            await three.promise
            // A fourth would have begun by the time that a statement takes.
            await service.database.ping()
            now -= 1
          },
        },
      },
    })
    const sent: Promise<Response>[] = []
    for (let index = 0; index < 20; index += 1) {
      sent.push(postWebhook(service, { id: `other-${index}`, type: `type-${index}` }, {}, 'other'))
      sent.push(postWebhook(service, { id: `own-${index}`, type: `type-${index}` }))
    }
    await Promise.all(sent)
    await settled(service.database)
    assert.equal(peak, 3)
  })

  test('within a concurrency group all types get their turn', async () => {
    const order: string[] = []
    await start({
      handlers: {
        'kind.*': {
          concurrency: 1,
          handle: ({ type }) => {
            order.push(type)
          },
        },
      },
    })
    // A sender that floods one type comes before a single event of another.
    await service.database.transaction(async (tx) => {
      await insertPending(tx, [...Array.from({ length: 59 }, () => 'kind.a'), 'kind.b'])
    })
    service.database.signal('event_queue')
    await settled(service.database)
    assert.equal(order.length, 60)
    assert.ok(order.indexOf('kind.b') <= 2, `its turn came at ${order.indexOf('kind.b')}`)
  })

  test('handlers that share a concurrency claim no more than they may start', async () => {
    const each = () => undefined
    await start({ handlers: { a: each, b: each, c: each, '*': { concurrency: 1, handle: hold } } })
    await service.database.transaction(async (tx) => {
      await insertPending(tx, ['a', 'b', 'c', 'a', 'b', 'c'])
    })
    service.database.signal('event_queue')
    await eventually(() => Object.values(running).length > 0)
    assert.equal(await leased('a', 'b', 'c'), 1, 'another process may have a slot for the others')
    release()
    await settled(service.database)
  })

  test('a backlog delays no other handler that shares its concurrency', async () => {
    const order: string[] = []
    const each = () => undefined
    const amongThem = Promise.withResolvers<void>()
    const runs = 50
    await start({
      handlers: {
        a: each,
        b: each,
        '*': {
          concurrency: 1,
          handle: async ({ type }) => {
            if (order.length === runs) {
              amongThem.resolve()
              await held
            }
            order.push(type)
          },
        },
      },
    })
    await service.database.transaction(async (tx) => {
      await insertPending(
        tx,
        Array.from({ length: 500 }, () => 'a'),
      )
    })
    service.database.signal('event_queue')
    await amongThem.promise
    await post('b', 1)
    // It is claimed although events of the backlog are queued, and then has the next turn.
    await eventually(async () => (await leased('b')) === 1)
    assert.ok((await leased('a')) > 1, 'no events of the backlog are queued')
    release()
    await settled(service.database)
    assert.equal(order.length, 501)
    assert.equal(order.indexOf('b'), runs + 1)
  })

  test('events whose handler was removed are marked in batches, and delay no others', async () => {
    await start({ handlers: { quick: write } })
    const many = 2_500
    await service.database.transaction(async (tx) => {
      await insertPending(
        tx,
        Array.from({ length: many }, () => 'gone'),
      )
    })
    service.database.signal('event_queue')
    await post('quick', 5)
    await done('quick', 5)
    await settled(service.database)
    const rows = await rowsOf(service, 'event_queue', { type: 'gone' })
    assert.equal(rows.length, many)
    assert.ok(rows.every((row) => row.status === 'processed' && row.processed_at! > 0 && row.attempts === 0))
    const times = new Set(rows.map((row) => row.processed_at))
    assert.ok(times.size <= 5, `marked in ${times.size} transactions`)
  })

  test('readiness counts groups without a running handler, the metric all groups', async () => {
    await start({ handlers: { slow: hold } })
    await post('slow', 20)
    await eventually(() => running['slow'] === 8)
    const long = Date.now() - 600_000
    await service.database.transaction((tx) =>
      tx.updateTable('event_queue').set({ due_at: long }).where('claim', 'is', null).execute(),
    )
    assert.equal((await service.fetch('/readyz')).status, 200)
    const metrics = await (await service.fetch('/metrics')).text()
    assert.match(metrics, /postern_handler_lag_seconds\{group="provider slow"\} 6\d\d/)
  })

  if (engine.name === 'postgres') {
    test('handlers with open transactions leave connections for others', async () => {
      const open = async (event: ReceivedEvent, context: HandlerContext): Promise<void> => {
        await write(event, context)
        await hold(event)
      }
      await start({ handlers: { slow: open, slower: open, slowest: open, quick: write } })
      for (const type of ['slow', 'slower', 'slowest']) await post(type, 10)
      await eventually(() => running['slow'] && running['slower'] && running['slowest'])
      await post('quick', 20)
      await done('quick', 20)
      const emitted = await service.admin('/events', { method: 'POST', json: { type: 'a', data: {} } })
      assert.equal(emitted.status, 202)
    })
  }
})

/** Inserts an event of each of these types, due in this order. */
async function insertPending(
  tx: Parameters<Parameters<Database['transaction']>[0]>[0],
  types: readonly string[],
): Promise<void> {
  // SQLite takes 32,766 parameters for a statement.
  const atOnce = 500
  for (let first = 0; first < types.length; first += atOnce) {
    const events = types.slice(first, first + atOnce).map((type, index) => ({
      event_id: `${type}-pending-${first + index}`,
      direction: 'received' as const,
      source: 'provider',
      type,
      content_type: 'application/json',
      payload: Buffer.from('{}'),
      headers: null,
      created_at: 0,
    }))
    const inserted = await tx
      .insertInto('events')
      .values(events)
      .returning(['id', 'event_id', 'type'])
      .execute()
    const rows = inserted.map(({ id, event_id, type }) => ({
      event: id,
      source: 'provider',
      event_id,
      type: type,
      status: 'pending' as const,
      attempts: 0,
      attempts_before: 0,
      due_at: Number(event_id.split('-').at(-1)),
      claim: null,
      processed_at: null,
    }))
    await tx.insertInto('event_queue').values(rows).execute()
  }
}
