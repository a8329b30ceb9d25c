import assert from 'node:assert/strict'
import { test } from 'node:test'
import { incomingEvent as event } from '#test/receiving/incoming-event.ts'
import { MemorySpool } from '#test/receiving/memory-spool.ts'
import { systemClock } from '../../runtime/clock.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import { createLog } from '../../telemetry/log.ts'
import type { IncomingEvent } from '../queue/store.ts'
import { Drainer } from './drainer.ts'

const silent = createLog('silent')
const gone = new StorageUnavailable(new Error('gone'))

async function spoolOf(...ids: string[]): Promise<MemorySpool<IncomingEvent>> {
  const spool = new MemorySpool<IncomingEvent>()
  await spool.append(ids.map(event))
  return spool
}

const idsIn = (spool: MemorySpool<IncomingEvent>): string[] =>
  [...spool.entries.values()].map(({ eventId }) => eventId)

/** Ends once the drainer sleeps, which it does after a drain that is complete or has failed. */
async function drainOnce(
  spool: MemorySpool<IncomingEvent>,
  store: (ids: string[]) => Promise<void>,
): Promise<void> {
  const asleep = Promise.withResolvers<void>()
  const drainer = new Drainer({
    spool,
    store: (events) => store(events.map(({ eventId }) => eventId)),
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

test('events are removed after they were stored, in order', async () => {
  const spool = await spoolOf('1', '2', '3')
  const stored: string[] = []
  await drainOnce(spool, async (ids) => {
    assert.equal(spool.entries.size, 3)
    stored.push(...ids)
  })
  assert.deepEqual(stored, ['1', '2', '3'])
  assert.deepEqual(idsIn(spool), [])
})

test('after a failure, the events stay', async () => {
  const spool = await spoolOf('1', '2')
  await drainOnce(spool, () => Promise.reject(gone))
  assert.deepEqual(idsIn(spool), ['1', '2'])
})

test('a batch that could not be removed is moved again', async () => {
  const spool = await spoolOf('1', '2')
  const stored: string[] = []
  let failures = 1
  spool.before = async (method) => {
    if (method === 'remove' && failures-- > 0) throw gone
  }
  const store = async (ids: string[]): Promise<void> => void stored.push(...ids)
  await drainOnce(spool, store)
  await drainOnce(spool, store)
  assert.deepEqual(stored, ['1', '2', '1', '2'])
  assert.deepEqual(idsIn(spool), [])
})

test('events that arrive while the last batch is stored are moved, too', async () => {
  const spool = await spoolOf('1')
  await drainOnce(spool, async (ids) => {
    if (ids[0] === '1') await spool.append([event('2')])
  })
  assert.deepEqual(idsIn(spool), [])
})

test('a check of the database during a drain begins with the oldest events, too', async () => {
  const spool = await spoolOf('1', '2', '3')
  const stored: string[][] = []
  const first = Promise.withResolvers<void>()
  let isPresent = true
  const drainer = new Drainer({
    spool,
    store: async (events) => {
      stored.push(events.map(({ eventId }) => eventId))
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
  assert.equal(stored.length, 1, 'it waits')
  first.reject(gone)
  await check
  assert.deepEqual(stored, [
    ['1', '2', '3'],
    ['1', '2', '3'],
  ])
  assert.deepEqual(idsIn(spool), [])
  await drainer.stop()
})
