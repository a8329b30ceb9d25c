// What somebody works on is nobody else's, until the lease ends; then the one who had it can mark nothing.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { systemClock } from '../../src/runtime/clock.ts'
import { openEventQueue } from '../../src/receiving/store-events.ts'
import type { ClaimedEvent, EventQueue, ProcessedMarker } from '../../src/receiving/queue/store.ts'
import { ClaimLost } from '../../src/receiving/worker/interruptions.ts'
import type { Database } from '../../src/storage/database.ts'
import type { SharedTransactions } from '../../src/storage/sharing/shared-transaction-queue.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { each, onEachEngine, type TestDatabase } from '../harness/index.ts'
import { incomingEvent } from './incoming-event.ts'

const kind = { source: 'shop', type: 'order.paid' }
const beforeAll = { source: '', type: '' }
const now = 1_800_000_000_000
const unexpected = (error: unknown): never => assert.fail(String(error))

onEachEngine('leases on received events', (engine) => {
  let home: TestDatabase
  let database: Database
  let queue: EventQueue
  let sharing: SharedTransactions<ProcessedMarker>

  before(async () => {
    home = await engine.createMigratedDatabase()
    database = await openDatabase(home.url)
    queue = openEventQueue({ database, clock: systemClock, onError: unexpected })
    sharing = database.share((tx, marks) => queue.markProcessed(tx, marks))
    await queue.acquireSession({ lost: () => undefined, freed: () => undefined })
    await queue.insert(
      Array.from({ length: 3 }, (_, index) => {
        const dueAt = now - 30 + index
        return incomingEvent(`e${index}`, { receivedAt: dueAt, dueAt })
      }),
    )
  })
  after(async () => {
    await queue.releaseSession(true)
    await queue.close()
    await database.close()
    await home.drop()
  })

  const claim = (count: number, at: number): Promise<ClaimedEvent[]> =>
    queue.claim([{ ...kind, count, until: at + 1_000 }], queue.newClaim(), at)
  const names = (claimed: readonly ClaimedEvent[]): string[] => claimed.map(({ eventId }) => eventId)
  const due = async (at: number): Promise<number[]> =>
    (await queue.pendingKinds(beforeAll, 10, at)).map(({ dueAt }) => dueAt)
  async function mark({ event, claim, orderKey }: ClaimedEvent): Promise<void> {
    const options = { timeLimit: 9_000, turnLimit: 9_000, onEnd: () => undefined, group: 'test' }
    const part = sharing.begin({ alone: true, ...options })
    const { committed } = await part.release({ event, claim, orderKey, at: now })
    await committed
  }

  test('leased events are skipped, and claimed again when the lease ends', async () => {
    assert.deepEqual(await due(now), [now - 30])
    assert.deepEqual(await queue.kindsAtWork([kind], now), [])
    const first = await claim(2, now)
    assert.deepEqual(names(first), ['e0', 'e1'])
    assert.deepEqual(await due(now), [now - 28], 'the one that is left')
    assert.deepEqual(await queue.kindsAtWork([kind], now), [kind])
    assert.deepEqual(names(await claim(9, now + 500)), ['e2'])
    assert.deepEqual(await due(now + 500), [])
    assert.deepEqual(await claim(9, now + 500), [])

    assert.deepEqual(await due(now + 1_000), [now - 30], 'two leases have ended, one has not')
    const again = await claim(9, now + 1_000)
    assert.deepEqual(names(again), ['e0', 'e1'])
    assert.deepEqual(each(again, 'attempts'), [1, 1])
    assert.deepEqual(await queue.kindsAtWork([kind], now + 1_999), [kind])
    assert.deepEqual(await queue.kindsAtWork([kind], now + 2_000), [])

    await assert.rejects(mark(first[0]!), ClaimLost)
    await mark(again[0]!)
    await assert.rejects(mark(again[0]!), ClaimLost, 'it is marked already')
    assert.deepEqual(names(await claim(9, now + 9_000)), ['e1', 'e2'])
  })
})
