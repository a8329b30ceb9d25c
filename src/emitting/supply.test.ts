import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SubscribersTable } from '../storage/tables.ts'
import type { Destination, Destinations } from './destinations.ts'
import type { Lane } from './lanes.ts'
import type { Claimed, DeliveryQueue, FreshDelivery } from './store.ts'
import { Supply } from './supply.ts'

/** A supply of one subscriber, `s`, that has `table` in the table. Each read waits until it is let go. */
function supplied(due = ['s'], table: readonly Claimed[] = []) {
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
    take: async (ids) => (others.taken ? [] : [...ids]),
    release: async () => undefined,
    subscribers: () => read('subscribers', [row]),
    read: () => read('deliveries', [...table]),
    payloads: async () => new Map(),
  }
  const destination = { concurrency: 10, ordered: false } as Destination
  const destinations: Pick<Destinations, 'open'> = { open: async () => destination }
  let lane: Lane | undefined
  /** What other processes are told, and whether one of them has the lane. */
  const others = { taken: false, told: [] as string[] }
  const supply = new Supply({
    queue: queue as DeliveryQueue,
    destinations,
    clock: { now: () => now, after: () => () => undefined },
    random: Math.random,
    log: { error: assert.fail } as never,
    filled: (some) => (lane = some),
    elsewhere: (id) => others.told.push(id),
    lost: () => undefined,
    regained: () => undefined,
  })
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const fresh = (id: number): FreshDelivery => ({
    delivery: { id, event: id, subscriberId: 's', number: 1, begun: 1, dueAt: 0, nonce: id },
    payload: { event_id: `e-${id}`, type: 'a', payload: Buffer.from('{}'), audience: null, nonce: id },
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
    others,
    offer: (id: number) => supply.offer([fresh(id)]),
    /** How many attempts may begin. */
    room: () => lane?.room(now),
    pass: (milliseconds: number) => void (now += milliseconds),
    letGo,
    start,
  }
}

test('what comes for a subscriber that was idle waits until it was read again, and for nothing else', async () => {
  const { supply, reads, others, offer, room, pass, letGo, start } = supplied()
  await start()
  pass(5_000)
  offer(1)
  offer(2)
  assert.deepEqual(others.told, [], 'nobody else has to be told')
  assert.equal(room(), 0, 'it may be paused by now')
  await letGo()
  assert.equal(room(), 10)
  assert.deepEqual(reads, ['subscribers'])
  await supply.stop()
})

test('a subscriber that was read lately is not read again', async () => {
  const { supply, reads, offer, room, start } = supplied()
  await start()
  offer(1)
  assert.deepEqual([room(), reads], [10, []])
  await supply.stop()
})

test('what comes for a lane of another process is told of, and its lane is asked for once in a while only', async () => {
  const { supply, reads, others, offer, pass, letGo } = supplied([])
  others.taken = true
  offer(1)
  await letGo(0)
  assert.deepEqual(others.told, ['s'], 'once it is known that the lane is not ours')
  offer(2)
  offer(3)
  assert.deepEqual(others.told, ['s', 's', 's'])
  others.taken = false
  pass(5_000)
  offer(4)
  await letGo(2)
  assert.deepEqual(reads, ['subscribers', 'deliveries'], 'it was let go, and is ours now')
  assert.equal(others.told.length, 3)
  supply.told('another')
  await letGo(0)
  assert.equal(reads.length, 2, 'it is not ours')
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

test('a database that was taken back: what waits is forgotten, and its lane is taken and read again', async () => {
  const { supply, reads, offer, room, letGo, start } = supplied()
  await start()
  offer(1)
  assert.equal(room(), 10)
  const { generation } = supply
  supply.setBack()
  assert.deepEqual([...supply.lanes], [])
  await letGo()
  assert.ok(supply.generation > generation, 'the lane is another one')
  assert.deepEqual(reads, ['subscribers', 'deliveries'])
  assert.equal(waitingIn(supply), 0)
  await letGo()
  await supply.stop()
})

test('a database that is taken back while deliveries are read: they are read once more', async () => {
  const table: Claimed[] = []
  const { supply, reads, letGo, start } = supplied(['s'], table)
  await start()
  table.push({ id: 5, event: 5, nonce: 5, subscriberId: 's', number: 1, begun: 1, dueAt: 0 })
  supply.hint('s')
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(reads, ['deliveries'])
  supply.setBack()
  table.pop()
  await letGo(3)
  assert.deepEqual(reads, ['deliveries', 'subscribers', 'deliveries'])
  assert.equal(waitingIn(supply), 0)
  await supply.stop()
})

function waitingIn({ lanes }: Supply): number {
  return [...lanes].reduce((sum, { waiting }) => sum + waiting, 0)
}
