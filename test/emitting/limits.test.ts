// What one owner can have the service send, and how much of it runs at a time.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock, type Scheduler } from '../../src/runtime/clock.ts'
import { newId } from '../../src/crypto/ids.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine, rowIn, started, startReceiver, type TestServiceOptions } from '../harness/index.ts'
import {
  deliveries,
  emit,
  expectJson,
  settled,
  startEmitting,
  subscribe,
  until,
  type SubscriberAnswer,
} from './harness.ts'
import { enterPortal } from './portal-harness.ts'

const url = 'http://127.0.0.1:9/'
/** A clock that a test moves: allowances grow with the time that the service takes for its answers otherwise. */
function stillClock(): { clock: Scheduler; pass: (ms: number) => void } {
  let now = Date.now()
  return { clock: { ...systemClock, now: () => now }, pass: (ms) => void (now += ms) }
}
const http: TestServiceOptions = { parts: { roles: { http: true, workers: false } } }

onEachEngine('limits', (engine) => {
  const still = stillClock()
  const idle = started(() => startEmitting(engine, { parts: { ...http.parts, clock: still.clock } }))
  const service = started(() => startEmitting(engine))

  test('an owner can send ten test events at once, then one every six seconds, over all processes', async () => {
    const { clock, pass } = stillClock()
    await using database = await engine.createMigratedDatabase()
    const options = { databaseUrl: database.url, parts: { ...http.parts, clock } }
    const service = await startEmitting(engine, options)
    const other = engine.name === 'postgres' ? await startEmitting(engine, options) : service
    const made = await Promise.all([
      subscribe(service, { url, owner: 'acme' }),
      subscribe(service, { url, owner: 'acme' }),
      subscribe(service, { url, owner: 'globex' }),
    ])
    const acme = await enterPortal(service, 'acme')
    const send = async (index: number, by: typeof service = service): Promise<Response> =>
      by.admin(`/subscribers/${made[index]!.id}/test`, { method: 'POST' })
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, number) => send(number % 2, number % 4 < 2 ? service : other)),
    )
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
    assert.deepEqual(statuses, [...Array<number>(10).fill(202), ...Array<number>(6).fill(429)])
    const refused = answers.find(({ status }) => status === 429)!
    const wait = Number(refused.headers.get('retry-after'))
    assert.equal(wait, 6)
    // Neither a new subscriber nor the portal is a way around it, and nothing is registered on the way.
    await acme.json(429, 'POST', `/subscribers/${made[0].id}/test`)
    await acme.json(429, 'POST', '/subscribers', { url, sendTest: true })
    const list = await acme.json<{ data: unknown[] }>(200, 'GET', '/subscribers')
    assert.equal(list.data.length, 2)
    // A registration that is rejected uses up none.
    const initech = await enterPortal(service, 'initech')
    for (let count = 0; count < 11; count += 1)
      await initech.json(400, 'POST', '/subscribers', { url: 'ftp://initech.example', sendTest: true })
    await initech.json(201, 'POST', '/subscribers', { url, sendTest: true })
    assert.equal((await send(2)).status, 202, 'another owner')
    pass(6_000)
    await acme.json(202, 'POST', `/subscribers/${made[0].id}/test`)
    await acme.json(429, 'POST', `/subscribers/${made[0].id}/test`)
    pass(3_600_000)
    assert.equal((await send(2)).status, 202)
    const aside = await openDatabase(database.url)
    const rows = await aside.reader.selectFrom('allowances').select('key').execute()
    const keys = rows.map(({ key }) => key)
    assert.deepEqual(keys, ['test-event owner globex'], 'what is full again is removed')
    await aside.close()
    await Promise.all([service.close(), other === service ? undefined : other.close()])
  })

  test('an owner can start ten bulk replays at once, of which five run concurrently', async () => {
    await using database = await engine.createMigratedDatabase()
    await using receiver = await startReceiver()
    const first = await startEmitting(engine, { databaseUrl: database.url })
    const made: SubscriberAnswer[] = []
    for (let count = 0; count < 2; count += 1)
      made.push(await subscribe(first, { url: receiver.url, owner: 'acme' }))
    await emit(first, { type: 'a', data: 1, audience: 'acme' })
    for (const { id } of made) await settled(first, id, 'delivered')
    await first.close()
    const parts = { ...http.parts, clock: stillClock().clock }
    await using service = await startEmitting(engine, { databaseUrl: database.url, parts })
    const acme = await enterPortal(service, 'acme')
    let second = 0
    const begin = (): [method: string, path: string, json: object] => {
      second += 1
      const since = new Date(second * 1000).toISOString()
      return ['POST', `/subscribers/${made[second % 2]!.id}/replay`, { status: 'delivered', since }]
    }
    const answers = await Promise.all(Array.from({ length: 8 }, () => acme.call(...begin())))
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
    assert.deepEqual(statuses, [202, 202, 202, 202, 202, 409, 409, 409])
    const [, path, json] = begin()
    await expectJson(service, 409, path, { method: 'POST', json })
    const jobs = await Promise.all(
      answers
        .filter(({ status }) => status === 202)
        .map((answer) => answer.json() as Promise<{ id: string }>),
    )
    for (const { id } of jobs) await acme.json(200, 'DELETE', `/jobs/${id}`)
    const more = []
    for (let count = 0; count < 5; count += 1) more.push(await acme.json<{ id: string }>(202, ...begin()))
    for (const { id } of more) await acme.json(200, 'DELETE', `/jobs/${id}`)
    assert.equal((await acme.call(...begin())).status, 429)
    // An admin begins more.
    await expectJson(service, 202, path, { method: 'POST', json })
  })

  test('an owner can count what bulk replays would send thirty times at once, an admin more often', async () => {
    const { id } = await subscribe(idle, { url: 'http://127.0.0.1:9/', owner: 'counting' })
    const counting = await enterPortal(idle, 'counting')
    const path = `/subscribers/${id}/replay`
    const statuses: number[] = []
    for (let count = 0; count < 31; count += 1)
      statuses.push((await counting.call('POST', path, { dryRun: true })).status)
    assert.deepEqual(statuses, [...Array.from({ length: 30 }, () => 200), 429])
    await expectJson(idle, 200, path, { method: 'POST', json: { dryRun: true } })
  })

  test('single replays of an owner are limited, those of admins are not', async () => {
    const made = await subscribe(idle, { url, owner: 'single' })
    const single = await enterPortal(idle, 'single')
    await emit(idle, { type: 'a', data: 1, audience: 'single' })
    const [waiting] = await deliveries(idle, made.id)
    const path = `/deliveries/${waiting!.id}/replay`
    const statuses: Record<number, number> = {}
    // Five at a time: all of them wait for one row, and on a busy machine seventy would wait too long.
    for (let count = 0; count < 70; count += 5) {
      const answers = await Promise.all(Array.from({ length: 5 }, () => single.call('POST', path)))
      for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1
    }
    assert.deepEqual(statuses, { 202: 60, 429: 10 })
    still.pass(1_000)
    await single.json(202, 'POST', path)
    await single.json(429, 'POST', path)
    await expectJson(idle, 202, path, { method: 'POST' })
  })

  test('an owner has at most a hundred subscribers, also with concurrent registrations', async () => {
    const { id } = await subscribe(idle, { url, owner: 'many' })
    const many = await enterPortal(idle, 'many')
    const row = await rowIn(idle, 'subscribers', { id })
    const copies = Array.from({ length: 94 }, () => ({ ...row, id: newId(Date.now()) }))
    await idle.database.transaction((tx) => tx.insertInto('subscribers').values(copies).execute())
    const answers = await Promise.all(
      Array.from({ length: 15 }, () => many.call('POST', '/subscribers', { url })),
    )
    assert.equal(answers.filter(({ status }) => status === 201).length, 5)
    assert.equal(answers.filter(({ status }) => status === 409).length, 10)
  })

  test('a delivery that waits for a retry is sent now as often as somebody asks, and its schedule does not move', async () => {
    await using receiver = await startReceiver(500)
    const made = await subscribe(service, {
      url: receiver.url,
      owner: 'acme',
      retrySchedule: [0, 3600, 3600],
    })
    const acme = await enterPortal(service, 'acme')
    const { eventId } = await emit(service, { type: 'a', data: 1, audience: 'acme' })
    const attempted = (count: number) =>
      until(async () => {
        const [newest] = await deliveries(service, made.id)
        return newest?.attemptCount === count && newest
      }, `${count} attempts are made`)
    const waiting = await attempted(1)
    assert.equal(waiting.status, 'pending')
    // By its schedule it would come after an hour. More often than the schedule has attempts.
    for (const count of [2, 3, 4, 5]) {
      if (count === 2) await acme.json(202, 'POST', `/deliveries/${waiting.id}/replay`)
      else await expectJson(service, 202, `/deliveries/${waiting.id}/replay`, { method: 'POST' })
      const again = await attempted(count)
      assert.equal(again.status, 'pending')
      assert.equal(again.nextAttemptAt, waiting.nextAttemptAt)
    }
    // The two attempts of the schedule that are left.
    const makeDue = () =>
      service.database.transaction((tx) => tx.updateTable('deliveries').set({ due_at: 0 }).execute())
    await makeDue()
    const second = await attempted(6)
    assert.equal(second.status, 'pending')
    assert.ok(Date.parse(second.nextAttemptAt!) > Date.now() + 1_800_000)
    await makeDue()
    const dead = await settled(service, made.id, 'dead')
    assert.equal(dead.attempts.length, 7)
    assert.deepEqual(new Set(receiver.calls.map(({ headers }) => headers['webhook-id'])), new Set([eventId]))
  })

  test('a bulk replay of pending deliveries sends all that wait for a retry now', async () => {
    await using receiver = await startReceiver(500)
    const made = await subscribe(service, { url: receiver.url, owner: 'globex', retrySchedule: [0, 3600] })
    const globex = await enterPortal(service, 'globex')
    for (let count = 0; count < 5; count += 1)
      await emit(service, { type: count < 3 ? 'a' : 'b', data: count, audience: 'globex' })
    await until(async () => {
      const waiting = await deliveries(service, made.id, '?status=pending')
      return waiting.length === 5 && waiting.every(({ attemptCount }) => attemptCount === 1)
    }, 'all have been attempted')
    receiver.answer(204)
    const path = `/subscribers/${made.id}/replay`
    const pending = { status: 'pending' }
    assert.deepEqual(await globex.json(200, 'POST', path, { ...pending, dryRun: true }), { total: 5 })
    await globex.json(202, 'POST', path, { ...pending, eventType: 'a' })
    await receiver.waitFor(8)
    const job = await expectJson<{ total: number }>(service, 202, path, { method: 'POST', json: pending })
    assert.ok(job.total >= 2 && job.total <= 5, String(job.total))
    await receiver.waitFor(10)
    await settled(service, made.id, 'delivered')
  })
})
