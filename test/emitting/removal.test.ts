// A removed subscriber is gone at once; a job deletes its deliveries in steps.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import { removalWorker } from '../../src/emitting/subscribers/removal.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { lockOwner } from '../../src/emitting/subscribers/owner-directory.ts'
import {
  onEachEngine,
  onPostgres,
  postgres,
  startReceiver,
  type TestService,
  each,
} from '../harness/index.ts'
import {
  deliveries,
  deliveryRow,
  emit,
  expectJson,
  settled,
  startEmitting,
  subscribe,
  until,
} from './harness.ts'

async function ids({ database }: TestService, table: 'deliveries' | 'attempts'): Promise<number[]> {
  const column = table === 'deliveries' ? 'id' : 'delivery'
  const rows = await database.reader.selectFrom(table).select(`${column} as id`).orderBy(column).execute()
  return rows.map(({ id }) => id)
}

/** Adds waiting deliveries with an attempt each. */
async function addDeliveries(
  { database }: TestService,
  subscriberId: string,
  count: number,
  event = 1,
): Promise<void> {
  const row = deliveryRow(subscriberId, { event, attempts: 1, due_at: systemClock.now() + 86_400_000 })
  const rows = Array.from({ length: count }, () => row)
  await database.transaction(async (tx) => {
    const added = await tx.insertInto('deliveries').values(rows).returning('id').execute()
    const attempts = added.map(({ id: delivery }) => ({
      delivery,
      number: 1,
      at: 0,
      duration_ms: 1,
      request_headers: '{}',
    }))
    await tx.insertInto('attempts').values(attempts).execute()
  })
}

onEachEngine('removed subscribers', (engine) => {
  test('the call leaves the deliveries to a job, which deletes a bounded number in each transaction', async () => {
    await using service = await startEmitting(engine, { parts: { roles: { http: true, workers: false } } })
    const { database } = service
    const owner = 'acme'
    const { id } = await subscribe(service, { url: 'http://127.0.0.1:9/', owner })
    const { id: other } = await subscribe(service, { url: 'http://127.0.0.1:9/', owner })
    await addDeliveries(service, id, 120)
    const [gone] = await ids(service, 'deliveries')
    await addDeliveries(service, other, 1)

    await expectJson(service, 204, `/subscribers/${id}`, { method: 'DELETE' })
    assert.equal((await ids(service, 'deliveries')).length, 121, 'none is deleted within the call')
    await expectJson(service, 404, `/subscribers/${id}`)
    await expectJson(service, 404, `/subscribers/${id}`, { method: 'DELETE' })
    await expectJson(service, 404, `/deliveries/${gone}`)
    await expectJson(service, 404, `/deliveries/${gone}/replay`, { method: 'POST' })
    const shown = await expectJson<{ data: unknown[] }>(service, 200, `/deliveries?subscriber=${id}`)
    assert.deepEqual(shown.data, [])
    assert.deepEqual(await expectJson(service, 200, '/jobs'), {
      data: [],
      pageInfo: { hasNextPage: false, nextCursor: null },
    })
    const { id: job } = await database.reader.selectFrom('jobs').select('id').executeTakeFirstOrThrow()
    await expectJson(service, 404, `/jobs/${job}`)
    await expectJson(service, 404, `/jobs/${job}`, { method: 'DELETE' })

    const left: number[] = []
    // A new worker for each step, as after a restart.
    for (;;) {
      const worker = removalWorker({ database, clock: systemClock, log: createLog('fatal') })
      if (!(await worker.step())) break
      left.push((await ids(service, 'deliveries')).length)
    }
    assert.deepEqual(left, [71, 21, 1])
    const kept = await database.reader.selectFrom('deliveries').select(['id', 'subscriber_id']).execute()
    assert.deepEqual(each(kept, 'subscriber_id'), [other])
    assert.deepEqual(await ids(service, 'attempts'), [kept[0]!.id])
  })

  test('until the job has deleted its deliveries, they count nowhere', async () => {
    await using service = await startEmitting(engine, { parts: { roles: { http: true, workers: false } } })
    const { database } = service
    const [{ id: kept }, { id: removed }] = [
      await subscribe(service, { url: 'http://127.0.0.1:9/' }),
      await subscribe(service, { url: 'http://127.0.0.1:9/' }),
    ]
    const event = await emit(service, { type: 'a', data: 1 })
    const statusOf = async (query: string): Promise<string[]> => {
      const { data } = await expectJson<{ data: { status: string }[] }>(service, 200, `/events?${query}`)
      return data.map(({ status }) => status)
    }
    const set = (subscriberId: string, status: 'delivered' | 'dead') =>
      database.transaction((tx) =>
        tx
          .updateTable('deliveries')
          .set({ status, finished_at: 1 })
          .where('subscriber_id', '=', subscriberId)
          .execute(),
      )
    await set(kept, 'delivered')
    await set(removed, 'dead')
    // Newer ones, so that a page begins with them.
    await addDeliveries(service, removed, 3, event.id)
    assert.deepEqual(await statusOf('status=failed'), ['failed'])

    await expectJson(service, 204, `/subscribers/${removed}`, { method: 'DELETE' })
    assert.equal((await ids(service, 'deliveries')).length, 5)
    assert.deepEqual([await statusOf(''), await statusOf('status=failed')], [['delivered'], []])
    const shown = await expectJson<{ status: string }>(service, 200, `/events/${event.id}`)
    assert.equal(shown.status, 'delivered')
    const path = '/queues'
    const { emitting } = await expectJson<{ emitting: { dead: object; retrying: object } }>(
      service,
      200,
      path,
    )
    const none = { count: 0, more: false }
    assert.deepEqual([emitting.dead, emitting.retrying], [none, none])
    for (const [query, found] of [
      ['', 1],
      ['&status=dead', 0],
      [`&eventId=${event.eventId}`, 1],
      ['&eventType=a', 1],
    ] as const) {
      const path = `/deliveries?limit=1${query}`
      const page = await expectJson<{ data: unknown[]; pageInfo: { hasNextPage: boolean } }>(
        service,
        200,
        path,
      )
      assert.deepEqual([page.data.length, page.pageInfo.hasNextPage], [found, false], query)
    }
    await expectJson(service, 204, `/subscribers/${kept}`, { method: 'DELETE' })
    assert.deepEqual(await statusOf(''), ['unsubscribed'])
  })

  test('what was waiting is not sent, and an attempt in progress leaves nothing and reports nothing', async () => {
    await using service = await startEmitting(engine)
    await using operational = await startReceiver()
    await subscribe(service, { url: operational.url, operational: true })
    await using receiver = await startReceiver()
    let answer = (): void => undefined
    receiver.answer((response) => {
      answer = () => void response.writeHead(500).end()
    })
    const { id } = await subscribe(service, { url: receiver.url, retrySchedule: [0], concurrency: 1 })
    await emit(service, { type: 'a', data: 1 })
    await emit(service, { type: 'a', data: 2 })
    await receiver.waitFor(1)
    await expectJson(service, 204, `/subscribers/${id}`, { method: 'DELETE' })
    answer()
    await until(async () => (await ids(service, 'deliveries')).length === 0, 'its deliveries are deleted')
    await using next = await startReceiver()
    const { id: after } = await subscribe(service, { url: next.url })
    await emit(service, { type: 'a', data: 3 })
    await settled(service, after, 'delivered')
    assert.equal((await deliveries(service, after)).length, 1)
    assert.deepEqual(await ids(service, 'attempts'), await ids(service, 'deliveries'))
    assert.equal(receiver.calls.length, 1)
    assert.equal(operational.calls.length, 0)
  })
})

describe('the removal of an owner', onPostgres, () => {
  test('locks in the order of a bulk replay', async () => {
    await using service = await startEmitting(postgres!)
    const { id } = await subscribe(service, { url: 'http://127.0.0.1:9', owner: 'acme' })
    const waiting = sql<{ count: number }>`
      select count(*)::int as count from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`
    let replay: Promise<unknown> = Promise.resolve()
    // As removeAll does.
    await service.database.transaction(async (tx) => {
      await lockOwner('postgres', tx, 'acme')
      replay = expectJson(service, 202, `/subscribers/${id}/replay`, {
        method: 'POST',
        json: { status: 'dead' },
      })
      await until(async () => (await waiting.execute(service.database.reader)).rows[0]!.count > 0, 'it waits')
      await sql`select from subscribers where id = ${id} for no key update nowait`.execute(tx)
    })
    await replay
  })
})
