import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SubscribersTable } from '../storage/tables.ts'
import type { Destination, Destinations } from './destinations.ts'
import type { Lane } from './lanes.ts'
import type { DeliveryQueue, FreshDelivery } from './store.ts'
import { Supply } from './supply.ts'

/** A supply of one subscriber, `s`, that has nothing in the table. Each read waits until it is let go. */
function supplied(due = ['s']) {
  const reads: string[] = []
  const answers: (() => void)[] = []
  let now = 0
  const read = <T>(what: string, answer: T): Promise<T> => {
    reads.push(what)
    return new Promise((resolve) => answers.push(() => resolve(answer)))
  }
  const row = { id: 's' } as SubscribersTable
  const queue: Partial<DeliveryQueue> = {
    attend: async () => undefined,
    due: async () => ({ ids: due, next: undefined }),
    take: async (ids) => [...ids],
    release: async () => undefined,
    subscribers: () => read('subscribers', [row]),
    read: () => read('deliveries', []),
    payloads: async () => new Map(),
  }
  const destination = { concurrency: 10, ordered: false } as Destination
  const destinations: Pick<Destinations, 'open'> = { open: async () => destination }
  let lane: Lane | undefined
  const supply = new Supply({
    queue: queue as DeliveryQueue,
    destinations,
    clock: { now: () => now, after: () => () => undefined },
    random: Math.random,
    log: { error: assert.fail } as never,
    filled: (some) => (lane = some),
    lost: () => undefined,
    regained: () => undefined,
  })
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const fresh = (id: number): FreshDelivery => ({
    delivery: { id, event: id, subscriberId: 's', number: 1, begun: 1, dueAt: 0 },
    payload: { event_id: `e-${id}`, type: 'a', payload: Buffer.from('{}') },
    generation: supply.generation,
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
    supply.look()
    await letGo(2)
    reads.length = 0
  }
  return {
    supply,
    reads,
    offer: (id: number) => supply.offer([fresh(id)]),
    /** How many attempts may begin. */
    room: () => lane?.room(now),
    pass: (milliseconds: number) => void (now += milliseconds),
    letGo,
    start,
  }
}

test('what comes for a subscriber that was idle waits until it was read again, and for nothing else', async () => {
  const { supply, reads, offer, room, pass, letGo, start } = supplied()
  await start()
  pass(5_000)
  assert.equal(offer(1), true, 'nobody else has to be told')
  assert.equal(offer(2), true)
  assert.equal(room(), 0, 'it may be paused by now')
  await letGo()
  assert.equal(room(), 10)
  assert.deepEqual(reads, ['subscribers'])
  await supply.stop()
})

test('a subscriber that was read lately is not read again', async () => {
  const { supply, reads, offer, room, start } = supplied()
  await start()
  assert.equal(offer(1), true)
  assert.deepEqual([room(), reads], [10, []])
  await supply.stop()
})

test('a change that comes while its subscriber is being read holds it up until it is read once more', async () => {
  const { supply, reads, offer, room, letGo, start } = supplied()
  await start()
  offer(1)
  supply.changed('s')
  assert.equal(room(), 0)
  await new Promise((resolve) => setImmediate(resolve))
  supply.changed('s')
  await letGo()
  assert.equal(room(), 0)
  await letGo()
  assert.equal(room(), 10)
  assert.deepEqual(reads, ['subscribers', 'subscribers'])
  await supply.stop()
})

test('a subscriber that was changed is read, though a look would find it late', async () => {
  const { supply, reads, letGo } = supplied([])
  supply.look()
  await letGo(0)
  assert.deepEqual(reads, [])
  supply.changed('s')
  await letGo(2)
  assert.deepEqual(reads, ['subscribers', 'deliveries'])
  await supply.stop()
})
