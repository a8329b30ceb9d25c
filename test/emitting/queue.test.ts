import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '../../src/crypto/ids.ts'
import {
  oldestDue,
  openQueue,
  subscribersDue,
  type Claimed,
  type Completion,
  type DeliveryQueue,
} from '../../src/emitting/store.ts'
import type { Database } from '../../src/storage/database.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine, type TestDatabase } from '../harness/engines.ts'

const lease = 10_000

onEachEngine('queue', (engine) => {
  let testDatabase: TestDatabase
  let database: Database
  let queue: DeliveryQueue

  before(async () => {
    testDatabase = await engine.createDatabase()
    database = await openDatabase(testDatabase.url)
    await migrate(database)
    queue = openQueue(database)
  })

  after(async () => {
    await database.close()
    await testDatabase.drop()
  })

  /** A subscriber with deliveries that are due at the given times. */
  async function subscriberWith(...due: number[]): Promise<{ id: string; deliveries: number[] }> {
    const id = newId(1)
    const subscriber = {
      id,
      url: 'http://127.0.0.1:9/',
      description: null,
      event_types: '["*"]',
      status: 'active' as const,
      disabled_reason: null,
      retry_schedule: null,
      timeout_ms: null,
      rate_limit: null,
      concurrency: null,
      headers: null,
      ordered: 0,
      signing: 'v1' as const,
      http_signature: 0,
      operational: 0,
      created_at: 1,
      updated_at: 1,
    }
    const deliveries = await database.transaction(async (tx) => {
      await tx.insertInto('subscribers').values(subscriber).execute()
      const rows = due.map((due_at) => ({
        event: 1,
        subscriber_id: id,
        status: 'pending' as const,
        attempts: 0,
        attempts_before: 0,
        due_at,
        claim: null,
        created_at: 1,
        finished_at: null,
      }))
      return tx.insertInto('deliveries').values(rows).returning('id').execute()
    })
    return { id, deliveries: deliveries.map((row) => row.id) }
  }

  const claim = (
    subscriberId: string,
    now: number,
    { count = 10, ordered = false } = {},
  ): Promise<Claimed[]> =>
    queue.claim([{ subscriberId, count, ordered, leaseUntil: now + lease }], now, newId(now))

  const ids = (claimed: readonly Claimed[]): number[] => claimed.map(({ id }) => id).toSorted((a, b) => a - b)

  const completion = (delivery: Claimed, change: Partial<Completion> = {}): Completion => ({
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

  test('only what is due is claimed, the oldest first, no more than wanted', async () => {
    const { id, deliveries } = await subscriberWith(30, 10, 20, 99)
    assert.deepEqual(ids(await claim(id, 30, { count: 2 })), [deliveries[1], deliveries[2]])
    assert.deepEqual(ids(await claim(id, 30)), [deliveries[0]])
    assert.deepEqual(await claim(id, 30), [])
  })

  test('what is claimed is nobody else’s until its lease ends; then its old holder can change nothing', async () => {
    const { id, deliveries } = await subscriberWith(10)
    const [first] = await claim(id, 10)
    assert.deepEqual([first!.number, first!.begun], [1, 1])
    assert.deepEqual(await claim(id, 10 + lease - 1), [])
    const [second] = await claim(id, 10 + lease)
    assert.deepEqual([second!.number, second!.begun], [2, 2])
    await queue.complete([completion(first!)])
    assert.equal((await rowOf(deliveries[0]!)).status, 'pending', 'fenced')
    await queue.giveBack([first!], 1)
    assert.equal((await rowOf(deliveries[0]!)).claim, second!.claim)
    await queue.complete([completion(second!)])
    const row = await rowOf(deliveries[0]!)
    assert.deepEqual([row.status, row.finished_at, row.claim], ['delivered', 50, null])
    const attempts = await database.reader
      .selectFrom('attempts')
      .selectAll()
      .where('delivery', '=', row.id)
      .orderBy('number')
      .execute()
    assert.deepEqual(
      attempts.map(({ number }) => number),
      [1, 2],
      'both attempts were made, so both are shown',
    )
    assert.deepEqual([...attempts[1]!.response_body!], [0, 255])
  })

  test('fifty claims at the same time give every delivery to one of them', async () => {
    const { id, deliveries } = await subscriberWith(...Array.from({ length: 200 }, () => 10))
    const claims = await Promise.all(Array.from({ length: 50 }, () => claim(id, 20, { count: 7 })))
    const claimed = ids(claims.flat())
    assert.equal(new Set(claimed).size, claimed.length)
    const rest = ids(await claim(id, 20, { count: 1000 }))
    assert.deepEqual(
      [...claimed, ...rest].toSorted((a, b) => a - b),
      deliveries,
    )
  })

  test('ordered: only the first pending one, and only when it is due', async () => {
    const { id, deliveries } = await subscriberWith(50, 10, 10)
    const next = (now: number) => claim(id, now, { ordered: true, count: 1 })
    assert.deepEqual(await next(20), [], 'the first one waits, so all wait')
    const rivals = await Promise.all(Array.from({ length: 10 }, () => next(60)))
    assert.deepEqual(ids(rivals.flat()), [deliveries[0]])
    assert.deepEqual(await next(70), [], 'the first one is under way')
    await queue.complete([completion(rivals.flat()[0]!, { status: 'dead' })])
    assert.deepEqual(ids(await next(70)), [deliveries[1]])
  })

  test('what is given back is due again, and its attempt does not count', async () => {
    const { id } = await subscriberWith(10)
    const [first] = await claim(id, 10)
    await queue.giveBack([first!], 20)
    const [again] = await claim(id, 20)
    assert.equal(again!.number, 1)
  })

  test('completions of deliveries that are gone do no harm to the others of their batch', async () => {
    const { id, deliveries } = await subscriberWith(10)
    const gone = await subscriberWith(10)
    const [kept] = await claim(id, 10)
    const [lost] = await claim(gone.id, 10)
    await database.transaction((tx) => tx.deleteFrom('subscribers').where('id', '=', gone.id).execute())
    await queue.complete([completion(lost!), completion(kept!)])
    assert.equal((await rowOf(deliveries[0]!)).status, 'delivered')
    const attempts = await database.reader
      .selectFrom('attempts')
      .select('number')
      .where('delivery', '=', gone.deliveries[0]!)
      .execute()
    assert.deepEqual(attempts, [])
  })

  test('subscribers with due work, by id; the oldest of it; paused and disabled ones do not count', async () => {
    await database.transaction((tx) => tx.deleteFrom('subscribers').execute())
    const one = await subscriberWith(30, 20)
    const two = await subscriberWith(10)
    await subscriberWith(90)
    const found = async (after: string) =>
      (await subscribersDue(database, 40, after, 10)).map((row) => row.id)
    assert.deepEqual(await found(''), [one.id, two.id])
    assert.deepEqual(await found(one.id), [two.id])
    assert.equal(await oldestDue(database, 40), 10)
    await database.transaction((tx) =>
      tx.updateTable('subscribers').set({ status: 'paused' }).where('id', '=', two.id).execute(),
    )
    assert.deepEqual(await found(''), [one.id])
    assert.equal(await oldestDue(database, 40), 20)
    assert.equal(await oldestDue(database, 15), undefined)
    await claim(one.id, 40, { count: 1 })
    assert.equal(
      await oldestDue(database, 40),
      undefined,
      'what waits behind a running attempt is not overdue',
    )
  })

  test('of an ordered subscriber only the first pending delivery counts as due', async () => {
    await database.transaction((tx) => tx.deleteFrom('subscribers').execute())
    const { id } = await subscriberWith(50, 10)
    await database.transaction((tx) =>
      tx.updateTable('subscribers').set({ ordered: 1 }).where('id', '=', id).execute(),
    )
    assert.deepEqual(await subscribersDue(database, 40, '', 10), [])
    assert.equal(await oldestDue(database, 40), undefined)
    assert.equal((await subscribersDue(database, 50, '', 10)).length, 1)
    assert.equal(await oldestDue(database, 50), 50)
  })
})
