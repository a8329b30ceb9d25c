// What follows from a completion is written with it, or not at all.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { systemClock } from '../../src/runtime/clock.ts'
import { newId } from '../../src/crypto/ids.ts'
import {
  Completions,
  type SideEffects,
  type OperationalEvent,
} from '../../src/emitting/dispatch/completions.ts'
import { openDeliveryStore } from '../../src/emitting/parts.ts'
import type { Completion, DeliveryStore } from '../../src/emitting/store.ts'
import type { Database, Tx } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { StorageUnavailable } from '../../src/storage/unavailable.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { onEachEngine, rowIn, type TestDatabase, each } from '../harness/index.ts'
import { deliveryRow, subscriberRow } from './harness.ts'

onEachEngine('completions', (engine) => {
  let testDatabase: TestDatabase
  let database: Database
  let store: DeliveryStore
  let completions: Completions
  /** Of each commit, also of those that failed. */
  const told: (readonly OperationalEvent[])[] = []

  before(async () => {
    testDatabase = await engine.createMigratedDatabase()
    database = await openDatabase(testDatabase.url)
    store = openDeliveryStore(database, () => undefined)
    completions = new Completions({
      store,
      database,
      clock: systemClock,
      log: createLog('silent'),
      publish: async (_tx, notices) => void told.push(notices),
    })
  })

  after(async () => {
    await store.releaseSession()
    await database.close()
    await testDatabase.drop()
  })

  async function newDelivery(): Promise<{ id: number; subscriberId: string }> {
    const subscriberId = newId(1)
    const id = await database.transaction(async (tx) => {
      await tx.insertInto('subscribers').values(subscriberRow(subscriberId)).execute()
      const row = deliveryRow(subscriberId)
      return (await tx.insertInto('deliveries').values(row).returning('id').executeTakeFirstOrThrow()).id
    })
    return { id, subscriberId }
  }

  const dead = (id: number, number = 1): Completion => ({
    delivery: { id, number, nonce: null },
    status: 'dead',
    dueAt: 5,
    finishedAt: 5,
    attempt: {
      at: 4,
      durationMs: 1,
      status: 500,
      error: 'returned HTTP 500',
      failure: 'server-error',
      phases: null,
      requestHeaders: '{}',
      responseHeaders: null,
      responseBody: null,
    },
  })

  /** Marks the subscriber, and fails behind that so often. */
  function marking(subscriberId: string, fails: Error[] = []): SideEffects & { commits: number } {
    return {
      commits: 0,
      async apply(tx) {
        await tx
          .updateTable('subscribers')
          .set({ description: 'told' })
          .where('id', '=', subscriberId)
          .execute()
        const error = fails.shift()
        if (error) throw error
        return [{ type: subscriberId, data: { subscriber: { id: subscriberId } } }]
      },
      onCommitted() {
        this.commits += 1
      },
    }
  }

  async function state({ id, subscriberId }: { id: number; subscriberId: string }): Promise<unknown[]> {
    const { reader } = database
    const { status, attempts } = await rowIn({ database: { reader } }, 'deliveries', { id })
    const { description } = await rowIn({ database: { reader } }, 'subscribers', { id: subscriberId })
    const kept = await reader.selectFrom('attempts').select('number').where('delivery', '=', id).execute()
    return [status, attempts, kept.length, description]
  }

  test('side effects commit with their completions, for many at once', async () => {
    const some = await Promise.all(Array.from({ length: 60 }, newDelivery))
    const plain = await newDelivery()
    const following = some.map(({ subscriberId }) => marking(subscriberId))
    told.length = 0
    await Promise.all([
      ...some.map(({ id }, index) => completions.add(dead(id), following[index])),
      completions.add(dead(plain.id)),
    ])
    for (const one of some) assert.deepEqual(await state(one), ['dead', 1, 1, 'told'])
    assert.deepEqual(await state(plain), ['dead', 1, 1, null])
    assert.ok(following.every(({ commits }) => commits === 1))
    assert.deepEqual(each(told.flat(), 'type'), each(some, 'subscriberId'))
    assert.ok(told.length < 5, `told in ${told.length} steps`)
    assert.equal(completions.unrecorded, 0)
  })

  test('a completion that another process recorded has no side effects', async () => {
    const delivery = await newDelivery()
    await store.complete([dead(delivery.id)])
    await completions.add(dead(delivery.id), marking(delivery.subscriberId))
    assert.deepEqual(await state(delivery), ['dead', 1, 1, null])
  })

  test('after a short outage of the database both are written', async () => {
    const delivery = await newDelivery()
    const away = new StorageUnavailable(new Error('away'))
    await completions.add(dead(delivery.id), marking(delivery.subscriberId, [away]))
    assert.deepEqual(await state(delivery), ['dead', 1, 1, 'told'])
  })

  test('a failing side effect prevents neither the recording of attempts nor other side effects', async () => {
    const [bad, good] = await Promise.all([newDelivery(), newDelivery()])
    const wrong = new Error('wrong')
    const following = marking(bad.subscriberId, [wrong, wrong])
    await Promise.all([
      completions.add(dead(good.id), marking(good.subscriberId)),
      completions.add(dead(bad.id), following),
    ])
    assert.deepEqual(await state(bad), ['dead', 1, 1, null])
    assert.deepEqual(await state(good), ['dead', 1, 1, 'told'])
    assert.equal(following.commits, 0)
  })

  test('completions without side effects do not wait for those with side effects', async () => {
    const [slow, next, plain] = await Promise.all([newDelivery(), newDelivery(), newDelivery()])
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const waiting: SideEffects = {
      async apply() {
        begin()
        await ended
        return []
      },
      onCommitted: () => undefined,
    }
    // Outside a transaction: SQLite has one at a time, and this one would wait for it.
    const beside = new Completions({
      store: { ...store, completeWithin: async () => new Set([slow.id, next.id]) },
      database: { inBackground: (work) => work(undefined as unknown as Tx) },
      clock: systemClock,
      log: createLog('silent'),
      publish: () => Promise.resolve(),
    })
    const first = beside.add(dead(slow.id), waiting)
    await begun
    const second = beside.add(dead(next.id), waiting)
    await beside.add(dead(plain.id))
    assert.deepEqual(await state(plain), ['dead', 1, 1, null])
    assert.equal(beside.unrecorded, 2)
    end()
    await Promise.all([first, second])
    assert.equal(beside.unrecorded, 0)
  })

  test('a record with text that the database refuses is stored without it, and the others as they are', async () => {
    const [bad, ...good] = await Promise.all(Array.from({ length: 20 }, newDelivery))
    const wrong = dead(bad!.id)
    // PostgreSQL has no such character in texts.
    wrong.attempt.error = 'before\0after'
    await Promise.all([wrong, ...good.map(({ id }) => dead(id))].map((one) => completions.add(one)))
    for (const one of [bad!, ...good]) assert.deepEqual(await state(one), ['dead', 1, 1, null])
    assert.equal(completions.unrecorded, 0)
  })

  test('a record that is always refused is repeated until the end, and the others do not wait for it', async () => {
    const [bad, good] = await Promise.all([newDelivery(), newDelivery()])
    let refused = 0
    const refusing = new Completions({
      store: {
        ...store,
        async complete(some) {
          if (!some.some(({ delivery }) => delivery.id === bad.id)) return store.complete(some)
          refused += 1
          throw Object.assign(new Error('refused'), { code: '22021' })
        },
      },
      database,
      clock: systemClock,
      log: createLog('silent'),
      publish: () => Promise.resolve(),
    })
    const waiting = refusing.add(dead(bad.id))
    await refusing.add(dead(good.id))
    assert.deepEqual(await state(good), ['dead', 1, 1, null])
    assert.equal(refusing.unrecorded, 1)
    refusing.abandon()
    await waiting
    assert.equal(refusing.unrecorded, 0)
    assert.ok(refused >= 2)
    assert.deepEqual(await state(bad), ['pending', 0, 0, null])
  })
})
