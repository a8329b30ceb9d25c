// On PostgreSQL an idle process claims received events by the statement that inserts them.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '../../src/runtime/clock.ts'
import type { ClaimedEvent, EventQueue, IncomingEvent } from '../../src/receiving/queue/store.ts'
import { postgresEventQueue } from '../../src/receiving/postgres/store.ts'
import type { PostgresDatabase } from '../../src/storage/database.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { migrations } from '../../src/storage/migrations/index.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { each, onPostgres, openLink, postgres, type TestDatabase } from '../harness/index.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { createEffects, eventually, postWebhook, readEffects, writeEffect } from './harness.ts'
import { incomingEvent } from './incoming-event.ts'

const now = 1_800_000_000_000

const incoming = (eventId: string, more: Partial<IncomingEvent> = {}): IncomingEvent =>
  incomingEvent(eventId, {
    payload: Buffer.from(`{"id":"${eventId}"}`),
    headers: '{"content-type":"application/json"}',
    receivedAt: now,
    dueAt: now,
    ...more,
  })

describe('an insert that claims', onPostgres, () => {
  let home: TestDatabase
  let database: PostgresDatabase
  let queue: EventQueue

  before(async () => {
    home = await postgres!.createDatabase()
    database = (await openDatabase(home.url)) as PostgresDatabase
    await migrate(database)
    queue = postgresEventQueue({ database, clock: systemClock })
    await queue.acquireSession({ lost: () => undefined, freed: () => undefined })
  })
  after(async () => {
    await queue.releaseSession(false)
    await database.close()
    await home.drop()
  })

  const insert = (events: readonly IncomingEvent[], claimed = events): Promise<readonly ClaimedEvent[]> =>
    queue.insertClaiming!(events, {
      claim: queue.newClaim(),
      until: new Map(claimed.map((event) => [event, now + 35_000])),
    })
  const claimable = (): Promise<ClaimedEvent[]> =>
    queue.claim(
      [{ source: 'shop', type: 'order.paid', count: 100, until: now + 90_000 }],
      queue.newClaim(),
      now,
    )

  test('returns what a claim of the events would return', async () => {
    const events = [incoming('b'), incoming('a', { headers: '{"x":"é"}' }), incoming('c')]
    const claimed = await insert(events, events.slice(0, 2))
    assert.deepEqual(each(await claimable(), 'eventId'), ['c'], 'the others wait')
    await database.pool.query('update event_queue set claim = null')
    const asBefore = (await claimable()).filter(({ eventId }) => eventId !== 'c')
    const withoutClaim = (all: readonly ClaimedEvent[]) => all.map((one) => ({ ...one, claim: '' }))
    assert.deepEqual(withoutClaim(claimed), withoutClaim(asBefore))
  })

  test('leases the events until then', async () => {
    const [claimed] = await insert([incoming('d')])
    const { rows } = await database.pool.query(
      `select status, claim, leased_until as until, attempts from event_queue where event_id = 'd'`,
    )
    assert.deepEqual(rows, [{ status: 'pending', claim: claimed!.claim, until: now + 35_000, attempts: 0 }])
  })

  const idsOf = (events: readonly ClaimedEvent[]): string[] => events.map(({ eventId }) => eventId)

  test('claims no event that is known, and does so again while duplicates are expected', async () => {
    assert.deepEqual(idsOf(await insert([incoming('e'), incoming('d')])), ['e'])
    assert.deepEqual(idsOf(await insert([incoming('f'), incoming('e')])), ['f'])
  })

  test('claims no event that is in the batch twice', async () => {
    const claimed = await insert([incoming('h'), incoming('i'), incoming('h', { headers: '{}' })])
    assert.deepEqual(idsOf(claimed), ['i'])
    assert.deepEqual(idsOf(await claimable()), ['h'])
  })

  test('claims no event with an order key', async () => {
    assert.deepEqual(await insert([incoming('j', { orderKey: 'k' })]), [])
  })

  test('claims nothing after a breaking migration of a newer version', async () => {
    const create = 'create table newer (id integer)'
    await migrate(database, [
      ...migrations,
      { number: 9_001, name: 'newer', breaking: true, sqlite: create, postgres: create },
    ])
    assert.deepEqual(await insert([incoming('g')]), [])
    const { rows } = await database.pool.query(
      `select claim, leased_until as until, attempts from event_queue where event_id = 'g'`,
    )
    assert.deepEqual(rows, [{ claim: null, until: null, attempts: 0 }])
  })
})

describe('a process with quick handlers', onPostgres, () => {
  let home: TestDatabase
  let direct: PostgresDatabase
  let link: Awaited<ReturnType<typeof openLink>>
  let service: TestService
  const payloads: unknown[] = []

  before(async () => {
    home = await postgres!.createDatabase()
    direct = (await openDatabase(home.url)) as PostgresDatabase
    link = await openLink(home.url)
    service = await startTestService(postgres!, {
      databaseUrl: link.url,
      env: { HANDLER_TIMEOUT: '600' },
      handlers: {
        async work(event, { tx }) {
          payloads.push(event.payload)
          await writeEffect(tx, event.id)
        },
      },
    })
    await createEffects(direct)
    // A process knows that handlers are quick when some have ended.
    for (let n = 0; n < 10; n += 1) await handled(`first-${n}`)
  })
  after(async () => {
    await service.close()
    link.close()
    await direct.close()
    await home.drop()
  })

  const send = (id: string): Promise<number> =>
    postWebhook(service, { id, type: 'work', text: `é ${id}` }).then(({ status }) => status)
  const isDone = (id: string): Promise<boolean> => readEffects(direct).then((effects) => effects.includes(id))
  async function handled(id: string): Promise<void> {
    assert.equal(await send(id), 200)
    await eventually(() => isDone(id), 'it has its effect')
  }
  /** Counts the statements that claim events, from now on. */
  function countClaims(): () => number {
    let claims = 0
    const { pool } = service.database as PostgresDatabase
    const query = pool.query.bind(pool) as (...all: unknown[]) => unknown
    const counting = (...all: unknown[]): unknown => {
      if ((all[0] as { name?: string }).name === 'event_queue_claim') claims += 1
      return query(...all)
    }
    Object.assign(pool, { query: counting })
    return () => claims
  }

  test('processes most events without a statement that claims them', async () => {
    const claims = countClaims()
    for (let n = 0; n < 40; n += 1) await handled(`event-${n}`)
    assert.ok(claims() < 20, `${claims()} statements claimed 40 events`)
    assert.deepEqual(payloads.at(-1), { id: 'event-39', type: 'work', text: 'é event-39' })
  })

  test('processes an event soon whose insert was stored, but not answered', async () => {
    link.loseAnswers('event_queue_insert_new_claimed\0', 1)
    let lost = ''
    // The worker may be busy for a moment; then an event waits for its claim.
    for (let n = 0; link.toLose > 0; n += 1) {
      lost = `lost-${n}`
      assert.equal(await send(lost), link.toLose > 0 ? 200 : 503)
    }
    await eventually(() => isDone(lost), 'it has its effect long before its lease ends')
    assert.equal(await send(lost), 200)
    const { rows } = await direct.pool.query('select attempts from event_queue where event_id = $1', [lost])
    assert.deepEqual(rows, [{ attempts: 1 }], 'a claim whose answer was lost is no attempt')
    assert.equal((await readEffects(direct)).filter((id) => id === lost).length, 1)
  })
})
