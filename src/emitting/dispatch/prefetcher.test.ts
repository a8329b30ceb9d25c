import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Row } from '../../storage/tables.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { Endpoint, Endpoints } from './endpoints.ts'
import type { SubscriberQueue } from './subscriber-queue.ts'
import type { DueDelivery, DeliveryStore, CommittedDelivery } from '../store.ts'
import { Prefetcher } from './prefetcher.ts'

/** A prefetcher of one subscriber, `s`, that has `table` in the table. Each read waits until it is let go. */
function supplied(due = ['s'], table: readonly DueDelivery[] = [], rate?: number) {
  const reads: string[] = []
  const answers: (() => void)[] = []
  let now = 0
  const read = <T>(what: string, answer: T): Promise<T> => {
    reads.push(what)
    return new Promise((resolve) => answers.push(() => resolve(answer)))
  }
  const row = { id: 's', updated_at: 1 } as Row<'subscribers'>
  const errors: unknown[] = []
  const store: Partial<DeliveryStore> = {
    acquireSession: async () => undefined,
    subscribersDue: async () => {
      others.scans += 1
      return { ids: due, next: undefined }
    },
    claim: async (ids) => (others.taken ? [] : [...ids]),
    release: async () => undefined,
    activeSubscribers: () => read('subscribers', [row]),
    readDue: () => read('deliveries', [...table]),
    readPayloads: async () => new Map(),
  }
  const endpoint = { concurrency: 10, ordered: false, rate } as Endpoint
  const endpoints: Pick<Endpoints, 'open'> = {
    async open() {
      if (others.unreadable) throw new Error('wrong key')
      if (others.away) throw new StorageUnavailable(new Error('no secrets'))
      return endpoint
    },
  }
  let queue: SubscriberQueue | undefined
  /**
   * What other processes are told, whether one of them has the queue, how often all subscribers were looked through, and whether the
   * secrets cannot be decrypted, or not be read.
   */
  const others = { taken: false, told: [] as string[], scans: 0, unreadable: false, away: false }
  const prefetcher = new Prefetcher({
    store: store as DeliveryStore,
    endpoints,
    clock: { now: () => now, after: () => () => undefined },
    random: Math.random,
    log: {
      error: (error: unknown) => (others.unreadable || others.away ? errors.push(error) : assert.fail()),
    } as never,
    onFilled: (some) => (queue = some),
    notifyOwner: (id) => others.told.push(id),
    onLost: () => undefined,
    onRegained: () => undefined,
  })
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const fresh = (id: number): CommittedDelivery => ({
    delivery: { id, event: id, subscriberId: 's', number: 1, begun: 1, dueAt: 0, nonce: id },
    payload: {
      event_id: `e-${id}`,
      type: 'a',
      payload: Buffer.from('{}'),
      audience: null,
      nonce: id,
      headers: null,
    },
    generation: prefetcher.generation,
  })
  /** Lets reads go that were begun, and what follows from them. */
  async function letGo(count = 1): Promise<void> {
    for (let read = 0; read < count; read += 1) {
      await turn()
      answers.shift()!()
    }
    await turn()
  }
  async function start(): Promise<void> {
    prefetcher.scan()
    await letGo(2)
    reads.length = 0
  }
  return {
    prefetcher,
    reads,
    errors,
    row,
    others,
    offer: (id: number) => prefetcher.offer([fresh(id)]),
    /** How many attempts may begin. */
    room: () => queue?.capacity(now),
    pass: (milliseconds: number) => void (now += milliseconds),
    letGo,
    start,
  }
}

test('a new delivery of an idle subscriber waits only for the next read', async () => {
  const { prefetcher, reads, others, offer, room, pass, letGo, start } = supplied()
  await start()
  pass(5_000)
  offer(1)
  offer(2)
  assert.deepEqual(others.told, [], 'nobody else has to be told')
  assert.equal(room(), 0, 'it may be paused by now')
  await letGo()
  assert.equal(room(), 10)
  assert.deepEqual(reads, ['subscribers'])
  await prefetcher.stop()
})

test('secrets that cannot be decrypted are logged once for each change of the subscriber', async () => {
  const { prefetcher, errors, row, others, letGo } = supplied()
  others.unreadable = true
  prefetcher.scan()
  await letGo()
  for (const version of [1, 2]) {
    row.updated_at = version
    prefetcher.changed('s')
    await letGo()
    assert.equal(errors.length, version)
  }
  await prefetcher.stop()
})

test('while the secrets of a changed subscriber cannot be read, no attempt starts with the old ones', async () => {
  const { prefetcher, others, offer, room, pass, letGo } = supplied([])
  prefetcher.changed('s')
  await letGo(2)
  offer(1)
  assert.equal(room(), 10)
  pass(1_000)
  others.away = true
  prefetcher.refresh()
  await letGo()
  assert.equal(room(), 0)
  others.away = false
  prefetcher.refresh()
  await letGo()
  assert.equal(room(), 10)
  await prefetcher.stop()
})

test('a subscriber that was read recently is not read again', async () => {
  const { prefetcher, reads, offer, room, start } = supplied()
  await start()
  offer(1)
  assert.deepEqual([room(), reads], [10, []])
  await prefetcher.stop()
})

test("a delivery for another process's queue is announced, and its queue is requested only occasionally", async () => {
  const { prefetcher, reads, others, offer, pass, letGo } = supplied([])
  others.taken = true
  offer(1)
  await letGo(0)
  assert.deepEqual(others.told, ['s'], 'once it is known that the queue is not ours')
  offer(2)
  offer(3)
  assert.deepEqual(others.told, ['s', 's', 's'])
  others.taken = false
  pass(5_000)
  offer(4)
  await letGo(2)
  assert.deepEqual(reads, ['subscribers', 'deliveries'], 'it was let go, and is ours now')
  assert.equal(others.told.length, 3)
  prefetcher.markDueIfOwned('another')
  await letGo(0)
  assert.equal(reads.length, 2, 'it is not ours')
  await prefetcher.stop()
})

test('a change during a read stops the subscriber until the next read', async () => {
  const { prefetcher, reads, offer, room, letGo, start } = supplied()
  await start()
  offer(1)
  prefetcher.changed('s')
  assert.equal(room(), 0)
  await new Promise((resolve) => setImmediate(resolve))
  prefetcher.changed('s')
  await letGo()
  assert.equal(room(), 0)
  await letGo()
  assert.equal(room(), 10)
  assert.deepEqual(reads, ['subscribers', 'subscribers'])
  await prefetcher.stop()
})

test('a changed subscriber is read without a poll; other subscribers are not searched', async () => {
  const { prefetcher, reads, others, letGo } = supplied([])
  prefetcher.scan()
  await letGo(0)
  assert.deepEqual(reads, [])
  assert.equal(others.scans, 1)
  prefetcher.changed('s')
  await letGo(2)
  assert.deepEqual(reads, ['subscribers', 'deliveries'])
  assert.equal(others.scans, 1)
  prefetcher.refresh()
  await letGo(0)
  assert.equal(others.scans, 2)
  await prefetcher.stop()
})

test('after a restore of the database, buffered deliveries are dropped, and queues are acquired and read again', async () => {
  const { prefetcher, reads, offer, room, letGo, start } = supplied()
  await start()
  offer(1)
  assert.equal(room(), 10)
  const { generation } = prefetcher
  prefetcher.databaseRestored()
  assert.deepEqual([...prefetcher.queues], [])
  await letGo()
  assert.ok(prefetcher.generation > generation, 'the queue is another one')
  assert.deepEqual(reads, ['subscribers', 'deliveries'])
  assert.equal(waitingIn(prefetcher), 0)
  await letGo()
  await prefetcher.stop()
})

test('a queue that is claimed again after all were dropped keeps the rate limit', async () => {
  const { prefetcher, offer, room, letGo, start } = supplied(['s'], [], 0.01)
  await start()
  offer(1)
  assert.equal(room(), 1)
  const [queue] = prefetcher.queues
  queue!.startNext(0)
  prefetcher.databaseRestored()
  await letGo(2)
  offer(2)
  assert.notEqual([...prefetcher.queues][0], queue)
  assert.equal(room(), 0)
  await prefetcher.stop()
})

test('after a restore during a read, the deliveries are read again', async () => {
  const table: DueDelivery[] = []
  const { prefetcher, reads, letGo, start } = supplied(['s'], table)
  await start()
  table.push({ id: 5, event: 5, nonce: 5, subscriberId: 's', number: 1, begun: 1, dueAt: 0 })
  prefetcher.markDue('s')
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(reads, ['deliveries'])
  prefetcher.databaseRestored()
  table.pop()
  await letGo(3)
  assert.deepEqual(reads, ['deliveries', 'subscribers', 'deliveries'])
  assert.equal(waitingIn(prefetcher), 0)
  await prefetcher.stop()
})

function waitingIn({ queues }: Prefetcher): number {
  return [...queues].reduce((sum, { waiting }) => sum + waiting, 0)
}
