import assert from 'node:assert/strict'
import { test } from 'node:test'
import { incomingEvent as event } from '#test/receiving/incoming-event.ts'
import { systemClock } from '../../runtime/clock.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import { createLog } from '../../telemetry/log.ts'
import type { IncomingEvent } from '../queue/incoming.ts'
import { Drainer } from './drainer.ts'
import { noPortion, type Portion, type Spool } from './spool.ts'

const silent = createLog('silent')

/** A spool in memory that gives one event for each read, and tells what is held. */
class MemorySpool implements Spool {
  readonly waiting: string[]
  readonly held = new Set<string>()
  readonly removed: string[] = []
  /** Awaited by each read before it looks. */
  beforeRead: () => Promise<void> = () => Promise.resolve()
  /** Awaited by each removal. */
  beforeRemove: (id: string) => Promise<void> = () => Promise.resolve()

  constructor(...ids: string[]) {
    this.waiting = ids
  }

  append(events: readonly IncomingEvent[]): Promise<void> {
    this.waiting.push(...events.map(({ eventId }) => eventId))
    return Promise.resolve()
  }

  async read(): Promise<Portion> {
    await this.beforeRead()
    const id = this.waiting.shift()
    if (id === undefined) return noPortion
    this.held.add(id)
    return {
      events: [event(id)],
      remove: async () => {
        assert.ok(this.held.delete(id), `${id} is held`)
        try {
          await this.beforeRemove(id)
        } catch (error) {
          this.waiting.unshift(id)
          throw error
        }
        this.removed.push(id)
      },
      release: async () => {
        assert.ok(this.held.delete(id), `${id} is held`)
        this.waiting.push(id)
        this.waiting.sort()
      },
    }
  }

  setAside = (): Promise<void> => Promise.reject(new Error('nothing is refused here'))
  state = (): Promise<never> => Promise.reject(new Error('nobody asks'))
  close = (): Promise<void> => Promise.resolve()
}

/** Ends once the drainer sleeps, which it does after a drain that is complete or has failed. */
async function drainOnce(spool: Spool, store: (id: string) => Promise<void>): Promise<void> {
  const asleep = Promise.withResolvers<void>()
  const drainer = new Drainer({
    spool,
    store: async (events) => {
      for (const { eventId } of events) await store(eventId)
    },
    present: () => true,
    clock: {
      ...systemClock,
      after: () => {
        asleep.resolve()
        return () => undefined
      },
    },
    log: silent,
  })
  drainer.start()
  await asleep.promise
  await drainer.stop()
}

test('the next batch is read while one is stored, and all are moved in order', async () => {
  const spool = new MemorySpool('1', '2', '3')
  const heldBy = new Map<string, string[]>()
  await drainOnce(spool, async (id) => {
    await new Promise((resolve) => setImmediate(resolve))
    heldBy.set(id, [...spool.held])
  })
  assert.deepEqual(spool.removed, ['1', '2', '3'])
  assert.deepEqual(heldBy.get('1'), ['1', '2'])
  assert.deepEqual([...spool.held], [])
})

test('after a failure, the batch and the one that was read ahead are released', async () => {
  const spool = new MemorySpool('1', '2', '3')
  await drainOnce(spool, (id) =>
    id === '2' ? Promise.reject(new StorageUnavailable(new Error('gone'))) : Promise.resolve(),
  )
  assert.deepEqual(spool.removed, ['1'])
  assert.deepEqual([...spool.held], [])
  assert.deepEqual(spool.waiting, ['2', '3'])
})

test('a failure waits for the read in progress and releases its batch', async () => {
  const spool = new MemorySpool('1', '2')
  let reads = 0
  const failed = Promise.withResolvers<void>()
  spool.beforeRead = async () => {
    reads += 1
    if (reads === 2) await failed.promise
  }
  await drainOnce(spool, async () => {
    setImmediate(failed.resolve)
    throw new StorageUnavailable(new Error('gone'))
  })
  assert.deepEqual([...spool.held], [])
  assert.deepEqual(spool.waiting, ['1', '2'])
})

test('a failed read-ahead ends the drain after the stored batch', async () => {
  const spool = new MemorySpool('1', '2')
  let reads = 0
  spool.beforeRead = () => {
    reads += 1
    return reads === 2 ? Promise.reject(new StorageUnavailable(new Error('gone'))) : Promise.resolve()
  }
  await drainOnce(spool, () => Promise.resolve())
  assert.deepEqual(spool.removed, ['1'])
  assert.deepEqual(spool.waiting, ['2'])
})

test('a batch is removed while the next one is stored', async () => {
  const spool = new MemorySpool('1', '2', '3')
  const stored: string[] = []
  const second = Promise.withResolvers<void>()
  // Comes only when the second one is being stored.
  spool.beforeRemove = (id) => (id === '1' ? second.promise : Promise.resolve())
  await drainOnce(spool, async (id) => {
    stored.push(id)
    if (id === '2') second.resolve()
  })
  assert.deepEqual(stored, ['1', '2', '3'])
  assert.deepEqual(spool.removed, ['1', '2', '3'])
})

test('a batch that could not be removed is moved again, and nothing stays claimed', async () => {
  const spool = new MemorySpool('1', '2', '3')
  const stored: string[] = []
  let failures = 1
  spool.beforeRemove = () =>
    failures-- > 0 ? Promise.reject(new StorageUnavailable(new Error('the disk is full'))) : Promise.resolve()
  const store = async (id: string): Promise<void> => void stored.push(id)
  await drainOnce(spool, store)
  assert.deepEqual([...spool.held], [])
  await drainOnce(spool, store)
  assert.ok(stored.filter((id) => id === '1').length === 2, 'it was moved again')
  assert.deepEqual(spool.removed.toSorted(), ['1', '2', '3'])
})

test('events that arrive while the last batch is stored are moved, too', async () => {
  const spool = new MemorySpool('1')
  await drainOnce(spool, async (id) => {
    await new Promise((resolve) => setImmediate(resolve))
    if (id === '1') await spool.append([event('2')])
  })
  assert.deepEqual(spool.removed, ['1', '2'])
})

test('a check of the database during a drain begins with the oldest events, too', async () => {
  const spool = new MemorySpool('1', '2', '3')
  const stored: string[] = []
  const first = Promise.withResolvers<void>()
  let isPresent = true
  const drainer = new Drainer({
    spool,
    store: async (events) => {
      stored.push(...events.map(({ eventId }) => eventId))
      if (stored.length === 1) await first.promise
    },
    present: () => isPresent,
    clock: { ...systemClock, after: () => () => undefined },
    log: silent,
  })
  drainer.start()
  while (stored.length === 0) await new Promise(setImmediate)
  isPresent = false
  const check = drainer.step()
  await new Promise(setImmediate)
  first.reject(new StorageUnavailable(new Error('gone')))
  await check
  assert.deepEqual(stored, ['1', '1'])
  assert.deepEqual(spool.waiting, ['2', '3'])
  await drainer.stop()
})
