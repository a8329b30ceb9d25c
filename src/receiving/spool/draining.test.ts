import assert from 'node:assert/strict'
import { test } from 'node:test'
import { incomingEvent as event } from '#test/receiving/incoming-event.ts'
import { MemorySpool } from '#test/receiving/memory-spool.ts'
import { ManualClock } from '#test/harness/manual-clock.ts'
import { type Clock, systemClock } from '../../runtime/clock.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import { createLog } from '../../telemetry/log.ts'
import type { IncomingEvent } from '../queue/store.ts'
import { Fallback } from './fallback.ts'

const silent = createLog('silent')
const gone = new StorageUnavailable(new Error('gone'))

async function spoolOf(...ids: string[]): Promise<MemorySpool<IncomingEvent>> {
  const spool = new MemorySpool<IncomingEvent>()
  await spool.append(ids.map((id) => event(id)))
  return spool
}

const idsIn = (spool: MemorySpool<IncomingEvent>): string[] =>
  [...spool.entries.values()].map(({ eventId }) => eventId)

function fallbackOf(
  spool: MemorySpool<IncomingEvent>,
  store: (ids: string[]) => Promise<void>,
  clock: Clock,
): Fallback {
  return new Fallback({
    spool,
    store: (events) => store(events.map(({ eventId }) => eventId)),
    ping: () => Promise.resolve(),
    count: () => undefined,
    clock,
    log: silent,
  })
}

/** Ends once the fallback sleeps, which it does after a drain that is complete or has failed. */
async function drainOnce(
  spool: MemorySpool<IncomingEvent>,
  store: (ids: string[]) => Promise<void>,
): Promise<void> {
  const asleep = Promise.withResolvers<void>()
  const after: Clock['after'] = () => {
    asleep.resolve()
    return () => undefined
  }
  const fallback = fallbackOf(spool, store, { ...systemClock, after })
  fallback.start()
  await asleep.promise
  await fallback.stop()
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

test('the check of a database that fails during a drain waits for it, and begins with the oldest events, too', async () => {
  const spool = await spoolOf('1', '2', '3')
  const stored: string[][] = []
  const first = Promise.withResolvers<void>()
  const clock = new ManualClock()
  const fallback = fallbackOf(
    spool,
    async (ids) => {
      if (ids[0] === 'new') throw gone
      stored.push(ids)
      if (stored.length === 1) await first.promise
    },
    clock,
  )
  fallback.start()
  while (stored.length === 0) await new Promise(setImmediate)
  await fallback.insert([event('new')])
  clock.pass(500)
  await new Promise(setImmediate)
  assert.deepEqual([fallback.away, stored.length], [true, 1], 'it waits')
  first.reject(gone)
  await new Promise(setImmediate)
  const all = ['1', '2', '3']
  assert.deepEqual([fallback.away, stored], [false, [all, [...all, 'new']]])
  assert.deepEqual(idsIn(spool), [])
  await fallback.stop()
})
