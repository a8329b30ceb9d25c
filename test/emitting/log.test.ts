import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replayStep } from '../../src/emitting/deliveries/replay.ts'
import { each, fields, onEachEngine, rowIn, started, startReceiver } from '../harness/index.ts'
import type { TestService } from '../harness/service.ts'
import type { AnswerTo } from '../harness/answers.ts'
import {
  untilStatus,
  change,
  deliveries,
  deliveryRow,
  type DeliveryAnswer,
  emit,
  expectJson,
  settled,
  startEmitting,
  subscribe,
  until,
} from './harness.ts'

type Page = AnswerTo<'GET /subscribers/{id}/deliveries'>

type Job = AnswerTo<'GET /jobs/{id}'>

/** A subscriber with `count` dead deliveries, and a receiver that is well again. */
async function withDeadLetters(service: TestService, count: number) {
  const receiver = await startReceiver(500)
  const { id } = await subscribe(service, { url: receiver.url, retrySchedule: [0] })
  for (let n = 0; n < count; n += 1) await emit(service, { type: n % 2 === 0 ? 'even' : 'odd', data: n })
  await untilStatus(service, id, 'dead', count)
  receiver.answer(204)
  return { receiver, id }
}

onEachEngine('delivery log', (engine) => {
  const service = started(() => startEmitting(engine))

  test('newest first, page by page, filtered by status, type and time', async () => {
    const { receiver, id } = await withDeadLetters(service, 5)
    const all = await deliveries(service, id)
    assert.deepEqual(
      each(all, 'id'),
      each(all, 'id').toSorted((a, b) => b - a),
    )
    const walked: number[] = []
    let cursor: string | null | undefined
    while (cursor !== null) {
      const page = await expectJson<Page>(
        service,
        200,
        `/subscribers/${id}/deliveries?status=dead&limit=2${cursor === undefined ? '' : `&cursor=${cursor}`}`,
      )
      walked.push(...page.data.map((entry) => entry.id))
      cursor = page.pageInfo.nextCursor
    }
    assert.deepEqual(walked, each(all, 'id'))
    assert.equal((await deliveries(service, id, '?eventType=odd')).length, 2)
    assert.equal((await deliveries(service, id, '?status=delivered')).length, 0)
    assert.equal((await deliveries(service, id, '?since=2020-01-01T00:00:00Z')).length, 5)
    assert.equal((await deliveries(service, id, '?until=2020-01-01T00:00:00Z')).length, 0)
    assert.equal((await deliveries(service, id, '?unknown=1&limit=abc')).length, 5)
    await receiver.close()
  })

  test('an invalid filter and a cursor of another query are 400 and name the parameter', async () => {
    const { receiver, id } = await withDeadLetters(service, 3)
    const { id: other } = await subscribe(service, { url: receiver.url })
    const page = await expectJson<Page>(service, 200, `/subscribers/${id}/deliveries?limit=1`)
    const cursor = page.pageInfo.nextCursor
    const bad: [path: string, parameter: string][] = [
      [`/subscribers/${id}/deliveries?status=broken`, 'status'],
      [`/subscribers/${id}/deliveries?since=yesterday`, 'since'],
      [`/subscribers/${id}/deliveries?until=2026-13-01`, 'until'],
      [`/subscribers/${id}/deliveries?cursor=abc`, 'cursor'],
      [`/subscribers/${id}/deliveries?cursor=${cursor}&status=dead`, 'cursor'],
      [`/subscribers/${other}/deliveries?cursor=${cursor}`, 'cursor'],
      [`/subscribers?cursor=${cursor}`, 'cursor'],
    ]
    for (const [path, parameter] of bad) {
      const answer = await expectJson<{ source: { parameter: string } }>(service, 400, path)
      assert.equal(answer.source.parameter, parameter, path)
    }
    for (const path of [
      '/deliveries/0',
      '/deliveries/x',
      '/deliveries/99999999',
      '/deliveries/9999999999999999',
      '/jobs/x',
      '/jobs/%00',
    ])
      await expectJson(service, 404, path)
    await receiver.close()
  })

  test('a replayed delivery has the same event id, a full schedule, and its old attempts', async () => {
    await using receiver = await startReceiver(500, 500, 500, 204)
    const { id } = await subscribe(service, { url: receiver.url })
    const { eventId } = await emit(service, { type: 'a', data: 1 })
    const dead = await settled(service, id, 'dead')
    const replayed = await expectJson<DeliveryAnswer>(service, 202, `/deliveries/${dead.id}/replay`, {
      method: 'POST',
    })
    assert.deepEqual([replayed.id, replayed.eventId, replayed.status], [dead.id, eventId, 'pending'])
    const delivered = await settled(service, id, 'delivered')
    assert.deepEqual(fields(delivered.attempts, 'number', 'status'), [
      [1, 500],
      [2, 500],
      [3, 500],
      [4, 204],
    ])
    assert.deepEqual(new Set(receiver.calls.map(({ headers }) => headers['webhook-id'])), new Set([eventId]))
    await expectJson(service, 202, `/deliveries/${dead.id}/replay`, { method: 'POST' })
    await receiver.waitFor(5)
    await expectJson(service, 404, '/deliveries/99999999/replay', { method: 'POST' })
    await change(service, id, { status: 'disabled' })
    await expectJson(service, 409, `/deliveries/${dead.id}/replay`, { method: 'POST' })
  })

  test('a bulk replay counts first, then sends dead deliveries again and shows its progress', async () => {
    const { receiver, id } = await withDeadLetters(service, 6)
    const replay = (json?: unknown) =>
      service.admin(`/subscribers/${id}/replay`, { method: 'POST', ...(json !== undefined && { json }) })
    assert.deepEqual(await (await replay({ dryRun: true })).json(), { total: 6 })
    assert.deepEqual(await (await replay({ dryRun: true, status: 'delivered' })).json(), { total: 0 })
    assert.deepEqual(await (await replay({ dryRun: true, eventType: 'odd' })).json(), { total: 3 })
    assert.deepEqual(await (await replay({ dryRun: true, status: 'pending' })).json(), { total: 0 })
    for (const json of [
      { status: 'x' },
      { since: 'x' },
      { until: '2026-13-01' },
      { eventType: 'x'.repeat(300) },
    ]) {
      const refused = await replay(json)
      assert.equal(refused.status, 400, JSON.stringify(json))
      const { code, source } = (await refused.json()) as { code: string; source: object }
      assert.deepEqual([code, source], ['invalid-body', { pointer: `/${Object.keys(json)[0]}` }])
    }
    const before = receiver.calls.length
    const response = await replay()
    assert.equal(response.status, 202)
    const begun = (await response.json()) as Job
    assert.equal(begun.total, 6)
    const done = await until(async () => {
      const job = await expectJson<Job>(service, 200, `/jobs/${begun.id}`)
      return job.status === 'done' && job
    }, 'the job is done')
    assert.equal(done.done, 6)
    await receiver.waitFor(before + 6)
    await untilStatus(service, id, 'delivered', 6)
    const cancelled = await expectJson<Job>(service, 200, `/jobs/${begun.id}`, { method: 'DELETE' })
    assert.equal(cancelled.status, 'done', 'a job that has ended stays as it is')
    await receiver.close()
  })

  test('a bulk replay respects its rate', async () => {
    const { receiver, id } = await withDeadLetters(service, 6)
    const before = receiver.calls.length
    const json = { rate: 8 }
    // Not from the first call: a busy machine may deliver that one later than its turn.
    const asked = Date.now()
    const begun = await expectJson<Job & { rate: number }>(service, 202, `/subscribers/${id}/replay`, {
      method: 'POST',
      json,
    })
    assert.equal(begun.rate, 8)
    const calls = (await receiver.waitFor(before + 6)).slice(before)
    const took = calls.at(-1)!.at - asked
    assert.ok(took >= 400, `six at eight a second took ${took} ms`)
    for (const rate of [0, -1, 1e6, '5'])
      await expectJson(service, 400, `/subscribers/${id}/replay`, { method: 'POST', json: { rate } })
    await receiver.close()
  })

  test('a bulk replay that is requested twice starts once, and a cancelled one stops, also in another process', async () => {
    await using database = await engine.createMigratedDatabase()
    const service = await startEmitting(engine, { databaseUrl: database.url })
    const { receiver: unused, id: cancelled } = await withDeadLetters(service, 2)
    const { receiver, id } = await withDeadLetters(service, 3)
    await service.close()
    const idle = await startEmitting(engine, {
      databaseUrl: database.url,
      parts: { roles: { http: true, workers: false } },
    })
    // Before the others, which have ended by the time that this one is looked at.
    const job = await expectJson<Job>(idle, 202, `/subscribers/${cancelled}/replay`, { method: 'POST' })
    assert.deepEqual([job.status, job.done], ['running', 0])
    const ended = await expectJson<Job>(idle, 200, `/jobs/${job.id}`, { method: 'DELETE' })
    assert.equal(ended.status, 'cancelled')
    const begin = async (json: object = {}): Promise<Job> =>
      await expectJson<Job>(idle, 202, `/subscribers/${id}/replay`, { method: 'POST', json })
    const [first, second] = await Promise.all([begin(), begin({ status: 'dead' })])
    assert.equal(first.id, second.id)
    const other = await begin({ eventType: 'odd' })
    assert.notEqual(other.id, first.id)
    const { data } = await expectJson<{ data: Job[] }>(idle, 200, `/subscribers/${id}/jobs`)
    assert.deepEqual(each(data, 'id'), [other.id, first.id])
    await expectJson(idle, 200, `/jobs/${first.id}`, { method: 'DELETE' })
    assert.notEqual((await begin()).id, first.id)
    await idle.close()
    // Two are over the same deliveries: each is sent again once.
    const before = receiver.calls.length
    const working = await startEmitting(engine, { databaseUrl: database.url })
    await untilStatus(working, id, 'delivered', 3)
    assert.equal(receiver.calls.length, before + 3)
    assert.equal((await deliveries(working, cancelled, '?status=dead')).length, 2)
    await Promise.all([working.close(), receiver.close(), unused.close()])
  })

  test('a step of a bulk replay examines a bounded number of deliveries, from the time of the filter on', async () => {
    await using service = await startEmitting(engine, { parts: { roles: { http: true, workers: false } } })
    const { database } = service
    const { id } = await subscribe(service, { url: 'http://127.0.0.1:9/', eventTypes: ['none'] })
    const usual = await emit(service, { type: 'usual', data: 1 })
    const rare = await emit(service, { type: 'rare', data: 1 })
    const late = 1_000_000
    const row = (event: number, created_at: number) =>
      deliveryRow(id, { event, status: 'dead', attempts: 1, created_at, finished_at: created_at })
    const rows = [
      ...Array.from({ length: 2_100 }, () => row(usual.id, 0)),
      row(rare.id, late),
      row(rare.id, late + 1),
    ]
    const added = await database.transaction(async (tx) => {
      const ids: number[] = []
      for (let from = 0; from < rows.length; from += 500)
        for (const { id: one } of await tx
          .insertInto('deliveries')
          .values(rows.slice(from, from + 500))
          .returning('id')
          .execute())
          ids.push(one)
      return ids.toSorted((a, b) => a - b)
    })
    const begin = async (json: object) => {
      const answer = await expectJson<Job>(service, 202, `/subscribers/${id}/replay`, {
        method: 'POST',
        json,
      })
      const job = await rowIn({ database }, 'jobs', { id: answer.id })
      return { ...job, total: answer.total }
    }
    const since = new Date(late).toISOString()
    const narrow = await begin({ eventType: 'rare', since, until: new Date(late + 1).toISOString() })
    assert.equal(narrow.total, 1)
    assert.ok(narrow.position >= added[1_500]!, 'it does not begin with the first delivery')

    const job = await begin({ eventType: 'rare' })
    assert.deepEqual([job.total, job.position], [2, 0])
    const steps = []
    for (let position = 0, done = false; !done;) {
      const step = await database.transaction((tx) =>
        replayStep(database.engine, tx, { ...job, position }, { limit: 1, now: late }),
      )
      steps.push([step.count, step.last])
      position = step.last ?? position
      done = step.done
    }
    assert.deepEqual(steps, [
      [0, added[999]],
      [0, added[1_999]],
      [1, added[2_100]],
      [1, added[2_101]],
      [0, undefined],
    ])
  })

  test('removing a subscriber removes its log, also with attempts in progress', async () => {
    const { receiver, id } = await withDeadLetters(service, 2)
    const [first] = await deliveries(service, id)
    receiver.answer((response) => setTimeout(() => response.writeHead(204).end(), 100))
    await emit(service, { type: 'a', data: 1 })
    await receiver.waitFor(3)
    assert.equal((await service.admin(`/subscribers/${id}`, { method: 'DELETE' })).status, 204)
    await expectJson(service, 404, `/deliveries/${first!.id}`)
    await expectJson(service, 404, `/subscribers/${id}/deliveries`)
    const { id: next } = await subscribe(service, { url: receiver.url })
    await emit(service, { type: 'a', data: 1 })
    await settled(service, next, 'delivered')
    await receiver.close()
  })
})
