import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '../../src/crypto/ids.ts'
import { openDeliveryStore } from '../../src/emitting/parts.ts'
import {
  startPosition,
  subscribersPerScan,
  type DueDelivery,
  type Completion,
  type DeliveryStore,
} from '../../src/emitting/store.ts'
import type { Database, PostgresDatabase } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine, rowsOf, type TestDatabase, each, fields } from '../harness/index.ts'
import { scoped } from '../harness/scoped.ts'
import { deliveryRow, subscriberRow } from './harness.ts'

const listener = { lost: () => undefined, freed: () => undefined }

onEachEngine('store', (engine) => {
  let testDatabase: TestDatabase
  let database: Database
  let store: DeliveryStore

  before(async () => {
    testDatabase = await engine.createMigratedDatabase()
    database = await openDatabase(testDatabase.url)
    store = open()
    await store.acquireSession(listener)
  })

  const open = (on = database): DeliveryStore => openDeliveryStore(on, () => undefined)

  after(async () => {
    await store.releaseSession()
    await database.close()
    await testDatabase.drop()
  })

  /** A subscriber with deliveries that are due at the given times. */
  async function subscriberWith(...due: number[]): Promise<{ id: string; deliveries: number[] }> {
    const id = newId(1)
    const deliveries = await database.transaction(async (tx) => {
      await tx.insertInto('subscribers').values(subscriberRow(id)).execute()
      if (due.length === 0) return []
      const rows = due.map((due_at) => deliveryRow(id, { due_at }))
      return tx.insertInto('deliveries').values(rows).returning('id').execute()
    })
    return { id, deliveries: deliveries.map((row) => row.id) }
  }

  const read = (
    subscriberId: string,
    now: number,
    { count = 10, retries = false, behind = startPosition } = {},
  ): Promise<DueDelivery[]> => store.readDue([{ subscriberId, ordered: false, retries, behind, count }], now)

  const ids = (claimed: readonly DueDelivery[]): number[] => claimed.map(({ id }) => id)

  const completion = (delivery: DueDelivery, change: Partial<Completion> = {}): Completion => ({
    delivery,
    status: 'delivered',
    dueAt: 50,
    finishedAt: 50,
    attempt: {
      at: 40,
      durationMs: 5,
      status: 200,
      error: null,
      failure: null,
      phases: null,
      requestHeaders: '{}',
      responseHeaders: '{"a":"\\u0000"}',
      responseBody: Buffer.from([0, 255]),
    },
    ...change,
  })

  const rowOf = (id: number) =>
    database.reader.selectFrom('deliveries').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

  test('reads due deliveries only, the oldest first, up to the limit, and continues there', async () => {
    const { id, deliveries } = await subscriberWith(30, 10, 20, 10, 99)
    const [d30, d10, d20, also10] = deliveries
    const first = await read(id, 30, { count: 1 })
    assert.deepEqual(ids(first), [d10])
    const second = await read(id, 30, { count: 2, behind: first[0]! })
    assert.deepEqual(ids(second), [also10, d20])
    assert.deepEqual(ids(await read(id, 30, { behind: second[1]! })), [d30])
    assert.deepEqual(ids(await read(id, 30)), [d10, also10, d20, d30])
  })

  test('first attempts and retries are read separately', async () => {
    const { id, deliveries } = await subscriberWith(10, 10)
    const [first] = await read(id, 10)
    assert.deepEqual([first!.number, first!.begun], [1, 1])
    await store.complete([completion(first!, { status: 'pending', dueAt: 20, finishedAt: null })])
    assert.deepEqual(ids(await read(id, 20)), [deliveries[1]])
    assert.deepEqual(await read(id, 19, { retries: true }), [])
    const [again] = await read(id, 20, { retries: true })
    assert.deepEqual([again!.id, again!.number, again!.begun], [deliveries[0], 2, 2])
  })

  test('an attempt that another process recorded first changes nothing', async () => {
    const { id, deliveries } = await subscriberWith(10)
    const [ours] = await read(id, 10)
    const [theirs] = await read(id, 10)
    await store.complete([completion(ours!)])
    await store.complete([completion(theirs!, { status: 'pending', dueAt: 99, finishedAt: null })])
    const row = await rowOf(deliveries[0]!)
    assert.deepEqual([row.status, row.attempts, row.finished_at], ['delivered', 1, 50])
    const attempts = await rowsOf({ database }, 'attempts', { delivery: row.id })
    assert.equal(attempts.length, 1)
    assert.deepEqual([...attempts[0]!.response_body!], [0, 255])
  })

  test('nothing is recorded if the id now belongs to another delivery', async () => {
    const { id, deliveries } = await subscriberWith(10, 10, 10)
    const setNonces = (nonces: readonly (number | null)[]) =>
      database.transaction(async (tx) => {
        for (const [index, nonce] of nonces.entries())
          await tx.updateTable('deliveries').set({ nonce }).where('id', '=', deliveries[index]!).execute()
      })
    await setNonces([1, null, 3])
    const read1 = await read(id, 10)
    assert.deepEqual(each(read1, 'nonce'), [1, null, 3])
    // As if the database had been taken back, and the ids had been given out again.
    await setNonces([99, 99, 3])
    await store.complete(read1.map((one) => completion(one)))
    const within = await database.transaction((tx) =>
      store.completeWithin(
        tx,
        read1.slice(0, 2).map((one) => completion(one)),
      ),
    )
    assert.deepEqual([...within], [])
    const rows = await Promise.all(deliveries.map(rowOf))
    assert.deepEqual(fields(rows, 'status', 'attempts'), [
      ['pending', 0],
      ['pending', 0],
      ['delivered', 1],
    ])
    const attempts = await database.reader
      .selectFrom('attempts')
      .select('delivery')
      .where('delivery', 'in', deliveries)
      .execute()
    assert.deepEqual(each(attempts, 'delivery'), [deliveries[2]])
  })

  test('a success counts, even if another attempt was recorded first', async () => {
    const { id, deliveries } = await subscriberWith(10)
    const [ours] = await read(id, 10)
    const [theirs] = await read(id, 10)
    await store.complete([completion(theirs!, { status: 'pending', dueAt: 99, finishedAt: null })])
    await store.complete([completion(ours!)])
    const row = await rowOf(deliveries[0]!)
    assert.deepEqual([row.status, row.attempts], ['delivered', 2])
    const attempts = await database.reader
      .selectFrom('attempts')
      .select('number')
      .where('delivery', '=', row.id)
      .orderBy('number')
      .execute()
    assert.deepEqual(each(attempts, 'number'), [1, 2])
  })

  test('a delivery that is replayed during its attempt stays due, and the attempt is recorded', async () => {
    const { id, deliveries } = await subscriberWith(10)
    const [first] = await read(id, 10)
    await database.transaction((tx) =>
      tx.updateTable('deliveries').set({ status: 'dead' }).where('id', '=', deliveries[0]!).execute(),
    )
    await store.complete([completion(first!)])
    const row = await rowOf(deliveries[0]!)
    assert.deepEqual([row.status, row.attempts], ['dead', 1])
  })

  test('ordered: returns only the first pending delivery, and only when it is due', async () => {
    const { id, deliveries } = await subscriberWith(50, 10, 10)
    const next = (now: number) => store.readDue([{ subscriberId: id, ordered: true }], now)
    assert.deepEqual(await next(20), [], 'the first one waits, so all wait')
    const [first] = await next(60)
    assert.equal(first!.id, deliveries[0])
    await store.complete([completion(first!, { status: 'dead' })])
    assert.deepEqual(ids(await next(70)), [deliveries[1]])
  })

  test('completions of deleted deliveries do not affect others in their batch', async () => {
    const { id, deliveries } = await subscriberWith(10)
    const gone = await subscriberWith(10)
    const [kept] = await read(id, 10)
    const [lost] = await read(gone.id, 10)
    await database.transaction((tx) =>
      tx.deleteFrom('deliveries').where('subscriber_id', '=', gone.id).execute(),
    )
    await store.complete([completion(lost!), completion(kept!)])
    assert.equal((await rowOf(deliveries[0]!)).status, 'delivered')
    const attempts = await rowsOf({ database }, 'attempts', { delivery: gone.deliveries[0]! })
    assert.deepEqual(attempts, [])
  })

  const removeAll = (): Promise<void> =>
    database.transaction(async (tx) => {
      await tx.deleteFrom('deliveries').execute()
      await tx.deleteFrom('subscribers').execute()
    })

  test('finds active subscribers with due deliveries by id, and the oldest due time', async () => {
    await removeAll()
    const one = await subscriberWith(30, 20)
    const two = await subscriberWith(10)
    await subscriberWith(90)
    const found = async (after: string) => (await store.subscribersDue(40, after)).ids
    assert.deepEqual(await found(''), [one.id, two.id])
    assert.deepEqual(await found(one.id), [two.id])
    const oldest = (now: number, busy: string[] = []) => store.oldestDue(now, new Set(busy))
    assert.equal(await oldest(40), 10)
    assert.equal(await oldest(40, [two.id]), 20, 'what waits behind a running attempt is not overdue')
    await database.transaction((tx) =>
      tx.updateTable('subscribers').set({ status: 'paused' }).where('id', '=', two.id).execute(),
    )
    assert.deepEqual(await found(''), [one.id])
    assert.equal(await oldest(40), 20)
    assert.equal(await oldest(15), undefined)
    assert.equal(await oldest(40, [one.id]), undefined)
    const [first] = await read(one.id, 40, { count: 1 })
    await store.complete([completion(first!, { status: 'pending', dueAt: 10, finishedAt: null })])
    assert.equal(await oldest(40), 10, 'a retry counts as well')
  })

  test('of an ordered subscriber, only the first pending delivery counts as due', async () => {
    await removeAll()
    const { id } = await subscriberWith(50, 10)
    await database.transaction((tx) =>
      tx.updateTable('subscribers').set({ ordered: 1 }).where('id', '=', id).execute(),
    )
    const oldest = (now: number) => store.oldestDue(now, new Set())
    assert.deepEqual((await store.subscribersDue(40, '')).ids, [])
    assert.equal(await oldest(40), undefined)
    assert.equal((await store.subscribersDue(50, '')).ids.length, 1)
    assert.equal(await oldest(50), 50)
  })

  test('one poll takes a bounded number of steps for any number of subscribers, and the next one continues', async () => {
    await removeAll()
    const made = []
    for (let n = 0; n < subscribersPerScan + 5; n += 1) made.push((await subscriberWith(10)).id)
    const sorted = made.toSorted()
    const first = await store.subscribersDue(20, '')
    assert.deepEqual(first.ids, sorted.slice(0, subscribersPerScan))
    const second = await store.subscribersDue(20, first.next!)
    assert.deepEqual([second.ids, second.next], [sorted.slice(subscribersPerScan), undefined])
  })

  const setStatus = (ids: readonly string[], status: 'paused' | 'disabled') =>
    database.transaction((tx) =>
      tx.updateTable('subscribers').set({ status }).where('id', 'in', ids).execute(),
    )

  test('one poll finds the active subscriber behind any number of paused ones', async () => {
    await removeAll()
    const idle = await subscriberWith()
    const paused = []
    for (let n = 0; n < subscribersPerScan + 5; n += 1) paused.push((await subscriberWith(10)).id)
    await setStatus(paused, 'paused')
    const active = await subscriberWith(10)
    assert.ok(idle.id < paused[0]! && paused.at(-1)! < active.id)
    assert.deepEqual(await store.subscribersDue(20, ''), { ids: [active.id], next: undefined })
    await setStatus([idle.id, active.id], 'disabled')
    assert.deepEqual(await store.subscribersDue(20, ''), { ids: [], next: undefined })
  })

  test('polls find active subscribers with due deliveries among others', async () => {
    await removeAll()
    const expected: string[] = []
    for (let n = 0; n < 300; n += 1) {
      // In runs and alone: 0 active with something due, 1 with nothing due yet, 2 with nothing, 3 paused, 4 disabled.
      const kind = [0, 3, 2, 1, 4, 3, 0, 2, 3, 3][n % 10 < 7 ? (n * 7 + (n >> 3)) % 10 : (n >> 4) % 10]!
      const { id } = await (kind === 2 ? subscriberWith() : subscriberWith(kind === 1 ? 99 : 10))
      if (kind >= 3) await setStatus([id], kind === 3 ? 'paused' : 'disabled')
      if (kind === 0) expected.push(id)
    }
    const found: string[] = []
    for (let after: string | undefined = ''; after !== undefined;) {
      const { ids: some, next } = await store.subscribersDue(20, after)
      found.push(...some)
      after = next
    }
    assert.deepEqual(found, expected)
  })

  if (engine.name === 'postgres') {
    test('a dispatcher owns a queue until it releases it or ends', async () => {
      const { id } = await subscriberWith(10)
      const paused = await subscriberWith(10)
      await database.transaction((tx) =>
        tx.updateTable('subscribers').set({ status: 'paused' }).where('id', '=', paused.id).execute(),
      )
      await using elsewhere = scoped((await openDatabase(testDatabase.url)) as PostgresDatabase)
      const other = open(elsewhere)
      await other.acquireSession(listener)
      // The other process goes on claiming events.
      const leave = await elsewhere.claimer.join({ ...listener })
      assert.deepEqual(await store.claim([id, paused.id]), [id])
      assert.deepEqual(await other.claim([id]), [])
      assert.ok(!(await other.subscribersDue(20, '')).ids.includes(id), 'nothing for anybody else to see')
      assert.deepEqual(await store.claim([id]), [id], 'ours stays ours')
      await store.release([id])
      const rivals = await Promise.all([store.claim([id]), other.claim([id]), store.claim([id])])
      assert.equal(new Set([rivals[0].length > 0 || rivals[2].length > 0, rivals[1].length > 0]).size, 2)
      await Promise.all([store.release([id]), other.release([id])])
      assert.deepEqual(await other.claim([id]), [id])
      await other.releaseSession()
      assert.deepEqual(await store.claim([id]), [id])
      await leave(true)
    })

    test('a release waits for no queue that a take-over is deleting', async () => {
      const [taken, released] = [await subscriberWith(10), await subscriberWith(10)]
      const ids = [taken.id, released.id]
      const owners = (db: Pick<Database['reader'], 'selectFrom'>) =>
        db.selectFrom('queue_owners').select('subscriber_id').where('subscriber_id', 'in', ids).execute()
      assert.deepEqual((await store.claim(ids)).toSorted(), ids.toSorted())
      await database.transaction(async (tx) => {
        await tx.deleteFrom('queue_owners').where('subscriber_id', '=', taken.id).execute()
        // It would wait for the deletion until the test ends.
        await store.release(ids)
        assert.deepEqual(await owners(tx), [])
      })
      assert.deepEqual(await owners(database.reader), [])
    })

    test('a dispatcher that finds a queue owned by another locks no subscriber', async () => {
      const { id } = await subscriberWith(10)
      await using elsewhere = scoped((await openDatabase(testDatabase.url)) as PostgresDatabase)
      const other = open(elsewhere)
      await other.acquireSession(listener)
      assert.deepEqual(await store.claim([id]), [id])
      await database.transaction(async (tx) => {
        await tx.selectFrom('subscribers').select('id').where('id', '=', id).forUpdate().execute()
        // It would wait for the lock until the test ends.
        assert.deepEqual(await other.claim([id]), [])
      })
      await other.releaseSession()
    })
  }
})
