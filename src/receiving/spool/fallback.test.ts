import assert from 'node:assert/strict'
import { test } from 'node:test'
import { incomingEvent as event } from '#test/receiving/incoming-event.ts'
import { MemorySpool } from '#test/receiving/memory-spool.ts'
import { ManualClock } from '#test/harness/manual-clock.ts'
import { each } from '#test/harness/fields.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import { createLog } from '../../telemetry/log.ts'
import { Keyring } from '../../crypto/keyring.ts'
import { createAcceptor } from '../endpoint/endpoint.ts'
import type { IncomingEvent } from '../queue/store.ts'
import { Fallback } from './fallback.ts'
import { SignedSpool } from './spool.ts'

const gone = (): Promise<never> => Promise.reject(new StorageUnavailable(new Error('gone')))
const fine = (): Promise<void> => Promise.resolve()

/** A fallback whose database has just failed. Its spool contains one event. @param faulty the methods of the spool that fail */
async function away(...faulty: ('read' | 'remove')[]) {
  const clock = new ManualClock()
  const database = { store: gone as () => Promise<void>, stored: [] as string[] }
  const spool = new MemorySpool<IncomingEvent>()
  const fallback = new Fallback({
    spool,
    store: async (events) => {
      await database.store()
      database.stored.push(...events.map(({ eventId }) => eventId))
    },
    ping: fine,
    count: () => undefined,
    clock,
    log: createLog('silent'),
  })
  fallback.start()
  await new Promise(setImmediate)
  await spool.append([event('spooled')])
  spool.before = (method) => (faulty.some((one) => one === method) ? gone() : undefined)
  await fallback.insert([event('first')])
  assert.ok(fallback.away)
  const probe = async (): Promise<void> => {
    clock.pass(500)
    await new Promise(setImmediate)
  }
  return { fallback, database, probe }
}

test('a spool that cannot be read does not keep webhooks from a database that answers', async () => {
  const { fallback, database, probe } = await away('read')
  database.store = fine
  await probe()
  assert.equal(fallback.away, false)
  await fallback.insert([event('next')])
  assert.deepEqual(database.stored, ['next'])
  await fallback.stop()
})

test('a database that stored a portion is back, also if the spool cannot remove it', async () => {
  const { fallback, database, probe } = await away('remove')
  database.store = fine
  await probe()
  assert.equal(fallback.away, false)
  assert.deepEqual(database.stored.slice(0, 2), ['spooled', 'first'])
  await fallback.stop()
})

test('a database that answers but stores nothing is unavailable', async () => {
  const { fallback, database, probe } = await away()
  await probe()
  assert.equal(fallback.away, true)
  database.store = fine
  await probe()
  assert.equal(fallback.away, false)
  await fallback.stop()
})

test('a database that answers and refuses all events is away: a table or a right may be missing', async () => {
  const { fallback, database, probe } = await away()
  database.store = () => Promise.reject(Object.assign(new Error('no such table'), { code: '42P01' }))
  await probe()
  assert.equal(fallback.away, true)
  await fallback.stop()
})

test('a webhook that is too large for the spool gets 503 alone; the others of its batch are stored', async () => {
  const counted = { stored: 0, refused: 0 }
  class SmallSpool extends MemorySpool {
    override async append(contents: readonly Uint8Array[]): Promise<void> {
      if (contents.some(({ length }) => length > 10_000)) throw new RangeError('up to 10,000 bytes')
      await super.append(contents)
    }
  }
  const stored = new SmallSpool()
  const clock = new ManualClock()
  const log = createLog('silent')
  const spool = new SignedSpool(stored, { keyring: new Keyring(['a'.repeat(32)]), clock, log })
  const fallback = new Fallback({
    spool,
    store: gone,
    ping: gone,
    count: (outcome, events) => (counted[outcome] += events),
    clock,
    log,
  })
  const acceptor = createAcceptor(fallback.insert, () => undefined)
  const large = { ...event('large'), payload: Buffer.alloc(20_000, 'x') }
  const results = await Promise.allSettled([event('a'), large, event('b')].map((one) => acceptor.add([one])))
  assert.deepEqual(each(results, 'status'), ['fulfilled', 'rejected', 'fulfilled'])
  assert.ok((results[1] as PromiseRejectedResult).reason instanceof StorageUnavailable)
  assert.deepEqual([stored.entries.size, counted], [2, { stored: 2, refused: 1 }])
  // A request with several events is stored as a whole.
  await assert.rejects(acceptor.add([event('c'), large]))
  await acceptor.add([event('d'), event('e')])
  assert.deepEqual([stored.entries.size, counted], [4, { stored: 4, refused: 1 }])
  await fallback.stop()
})
