// Failed events: listed, counted, and processed again in bulk.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { byService, createRecordAudit } from '../../src/accounts/audit/audit.ts'
import { hmac } from '../../src/index.ts'
import { Reprocessing, reprocessWorker } from '../../src/receiving/failed/reprocess.ts'
import type { Database } from '../../src/storage/database.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { each, onEachEngine, rowIn, startedService, startTestService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually, postWebhook, settled } from './harness.ts'
import { insertManyReceived } from './insert-received.ts'

type Job = AnswerTo<'GET /jobs/{id}'>

type Page = AnswerTo<'GET /events/failed'>

onEachEngine('failed events', (engine) => {
  /** The types whose handler throws, with what it says. */
  const broken = new Map<string, string>()
  let handled: string[] = []

  const service = startedService(engine, () => ({
    env: { HANDLER_RETRY_SCHEDULE: '0,0' },
    receiving: {
      sources: { other: hmac({ header: 'x-signature', secret: 'test-webhook-secret' }) },
      handlers: {
        '*': (event) => {
          const fault = broken.get(event.type)
          if (fault !== undefined) throw new Error(fault)
          handled.push(event.id)
        },
      },
    },
  }))

  const failing = [
    { id: '1', type: 'order.paid' },
    { id: '2', type: 'order.paid' },
    { id: '3', type: 'order.sent' },
    { id: '4', type: 'orders' },
  ]
  beforeEach(async () => {
    handled = []
    broken.clear()
    await ended(((await (await again({})).json()) as Job).id)
    await settled(service.database)
    handled = []
    for (const { type } of failing)
      broken.set(type, type === 'order.sent' ? 'no 100% \'cover"' : 'the shop is closed')
  })

  /** Received anew each time: ids begin with the test's number. */
  let tests = 0
  async function receive(): Promise<void> {
    tests += 1
    for (const { id, type } of failing) await postWebhook(service, { id: `${tests}-${id}`, type })
    await postWebhook(service, { id: `${tests}-5`, type: 'order.paid' }, {}, 'other')
    await settled(service.database)
  }
  const again = (json: object): Promise<Response> =>
    service.admin('/events/reprocess', { method: 'POST', json })
  const list = async (query = ''): Promise<Page> =>
    (await (await service.admin(`/events/failed${query}`)).json()) as Page
  const idsOf = ({ data }: Page): string[] => data.map(({ eventId }) => eventId.replace(/^\d+-/, ''))
  const jobOf = async (id: string): Promise<Job> => (await (await service.admin(`/jobs/${id}`)).json()) as Job
  const ended = (id: string): Promise<Job> =>
    eventually(async () => {
      const job = await jobOf(id)
      return job.status === 'running' ? undefined : job
    })

  const filters: [filter: Record<string, string>, ids: string[]][] = [
    [{}, ['5', '4', '3', '2', '1']],
    [{ type: 'order.paid' }, ['5', '2', '1']],
    [{ type: 'order.*' }, ['5', '3', '2', '1']],
    [{ type: 'Order.*' }, []],
    [{ type: '*' }, ['5', '4', '3', '2', '1']],
    [{ source: 'other' }, ['5']],
    [{ error: 'shop is' }, ['5', '4', '2', '1']],
    [{ error: '100% \'cover"' }, ['3']],
    [{ error: '1_0' }, []],
    [{ since: '2020-01-01' }, ['5', '4', '3', '2', '1']],
    [{ until: '2020-01-01T00:00:00Z' }, []],
    [{ source: 'provider', type: 'order.*', error: 'closed' }, ['2', '1']],
  ]

  test('are filtered and counted by type, source, error and time', async () => {
    await receive()
    for (const [filter, ids] of filters) {
      const page = await list(`?${new URLSearchParams(filter).toString()}`)
      assert.deepEqual(idsOf(page), ids, JSON.stringify(filter))
      const counted = await again({ ...filter, dryRun: true })
      assert.equal(counted.status, 200)
      assert.deepEqual(await counted.json(), { total: ids.length }, JSON.stringify(filter))
    }
    assert.deepEqual(handled, [], 'nothing was done')
    const [newest] = (await list()).data
    assert.equal(newest?.attempts, 2)
    assert.equal(newest?.error, 'Error: the shop is closed')
    assert.equal(newest?.source, 'other')
  })

  test('have pages', async () => {
    await receive()
    const ids: string[] = []
    let query = '?limit=2'
    for (;;) {
      const page = await list(query)
      ids.push(...idsOf(page))
      const { nextCursor } = page.pageInfo
      if (nextCursor === null) break
      query = `?limit=2&cursor=${nextCursor}`
    }
    assert.deepEqual(ids, ['5', '4', '3', '2', '1'])
    const { nextCursor } = (await list('?limit=2')).pageInfo
    assert.equal((await service.admin(`/events/failed?type=a&cursor=${nextCursor}`)).status, 400)
  })

  test('a job reprocesses those of a filter with a full schedule; the others stay', async () => {
    await receive()
    broken.delete('order.paid')
    const begun = await again({ type: 'order.*', source: 'provider' })
    assert.equal(begun.status, 202)
    const job = (await begun.json()) as Job
    assert.equal(job.kind, 'reprocess')
    assert.equal(job.total, 3)
    assert.deepEqual(await ended(job.id).then(({ status, done }) => ({ status, done })), {
      status: 'done',
      done: 3,
    })
    await settled(service.database)
    assert.deepEqual(handled.toSorted(), [`${tests}-1`, `${tests}-2`])
    assert.deepEqual(idsOf(await list()), ['5', '4', '3'])
    assert.equal((await list()).data.at(-1)?.attempts, 4, 'it has failed twice more')
  })

  test('without a body all are reprocessed; a job without events is done at once', async () => {
    await receive()
    broken.clear()
    const begun = await service.admin('/events/reprocess', { method: 'POST' })
    assert.equal(begun.status, 202)
    await ended(((await begun.json()) as Job).id)
    await settled(service.database)
    assert.equal(handled.length, 5)
    const nothing = (await (await again({})).json()) as Job
    assert.deepEqual([nothing.status, nothing.total], ['done', 0])
  })

  test('an invalid filter is refused with its name, and a caller without rights with 403', async () => {
    for (const [field, value] of [
      ['since', 'yesterday'],
      ['until', '2026-01-01T00:00:00'],
      ['error', 'a'.repeat(1001)],
      ['type', 'a\0'],
      ['status', 'processed'],
      ['handler', 'order.gone'],
    ] as const) {
      const refused = await again({ [field]: value })
      assert.equal(refused.status, 400)
      const { code, source } = (await refused.json()) as { code: string; source: { pointer: string } }
      assert.deepEqual([code, source.pointer], ['invalid-body', `/${field}`])
    }
    assert.equal((await again({ colour: 'red' })).status, 400)
    assert.equal((await service.fetch('/events/failed')).status, 401)
    assert.equal((await service.fetch('/events/reprocess', { method: 'POST' })).status, 401)
  })
})

onEachEngine('reprocessing in bulk', (engine) => {
  test('runs in steps, continues after a crash, and ends after the step in which it is cancelled', async () => {
    const many = 11
    const perStep = 5
    await using home = await engine.createMigratedDatabase()
    const fails = { receiving: { handlers: { '*': () => Promise.reject(new Error('not today')) } } }
    const first = await startTestService(engine, {
      databaseUrl: home.url,
      env: { HANDLER_RETRY_SCHEDULE: '0' },
      config: fails,
    })
    try {
      await Promise.all(Array.from({ length: many }, (_, n) => postWebhook(first, { id: `${n}`, type: 'a' })))
      await settled(first.database)
    } finally {
      await first.close()
    }
    await using second = await startTestService(engine, {
      databaseUrl: home.url,
      config: fails,
      parts: { roles: { http: true, workers: false } },
    })
    const { database } = second
    const begun = await second.admin('/events/reprocess', { method: 'POST', json: {} })
    const { id } = (await begun.json()) as Job
    const look = async (): Promise<unknown[]> => {
      const { status, total, done } = (await (await second.admin(`/jobs/${id}`)).json()) as Job
      return [status, total, done]
    }
    const failed = async (): Promise<number> =>
      new Reprocessing(database, systemClock, createRecordAudit(systemClock)).count({})
    assert.deepEqual(await look(), ['running', many, 0])
    for (const done of [5, 10]) {
      const worker = reprocessWorker({ database, clock: systemClock, log: createLog('fatal'), perStep })
      assert.equal(await worker.step(), true)
      assert.deepEqual(await look(), ['running', many, done])
      assert.equal(await failed(), many - done)
    }
    assert.equal((await second.admin(`/jobs/${id}`, { method: 'DELETE' })).status, 200)
    const worker = reprocessWorker({ database, clock: systemClock, log: createLog('fatal'), perStep })
    assert.equal(await worker.step(), false, 'nothing is left to do')
    assert.deepEqual(await look(), ['cancelled', many, 10])
    assert.equal(await failed(), many - 10)
  })

  test('a step examines a bounded number of events', async () => {
    await using service = await startTestService(engine, { parts: { roles: { http: true, workers: false } } })
    const { database } = service
    const others = Array.from({ length: 1_100 }, () => 'usual')
    const types = ['rare', ...others, 'rare']
    for (const group of [undefined, 'a group']) {
      const added = await insertFailed(database, types, group)
      const made = new Reprocessing(database, systemClock, createRecordAudit(systemClock))
      const begun = await made.start({ type: 'rare', ...(group !== undefined && { group }) }, byService)
      assert.deepEqual([begun.total, begun.position], [2, added[0]! - 1])
      const worker = reprocessWorker({ database, clock: systemClock, log: createLog('fatal') })
      const steps = []
      while (await worker.step()) {
        const { status, done, position } = await rowIn({ database }, 'jobs', { id: begun.id })
        steps.push([status, done, position])
      }
      assert.deepEqual(steps, [
        ['running', 1, added[999]],
        ['done', 2, added[1_101]],
      ])
    }
  })

  test('events that fail while a job runs are not part of it', async () => {
    const clock = { ...systemClock, now: () => 1_000 }
    await using service = await startTestService(engine, {
      parts: { clock, roles: { http: true, workers: false } },
    })
    const { database } = service
    const added = await insertFailed(database, ['a', 'b', 'c'], undefined)
    const begun = await new Reprocessing(database, clock, createRecordAudit(clock)).start({}, byService)
    assert.equal(begun.total, 3)
    // It was run by hand meanwhile, and failed again.
    await database.transaction((tx) =>
      tx.updateTable('event_queue').set({ failed_at: 1_001 }).where('event', '=', added[1]!).execute(),
    )
    const worker = reprocessWorker({ database, clock, log: createLog('fatal') })
    while (await worker.step()) continue
    const rows = await database.reader.selectFrom('event_queue').select('status').orderBy('event').execute()
    assert.deepEqual(each(rows, 'status'), ['pending', 'failed', 'pending'])
  })
})

/** Inserts an event of each type that has failed; with a group, every second one is retried. Returns their numbers. */
function insertFailed(
  database: Database,
  types: readonly string[],
  group: string | undefined,
): Promise<number[]> {
  const rows = types.map((type, index) => ({
    event_id: `${group} ${index}`,
    source: 'provider',
    type,
    status: group !== undefined && index % 2 === 1 ? ('pending' as const) : ('failed' as const),
    attempts: 1,
    failed_at: 0,
    failure_group: group ?? null,
  }))
  return database.transaction((tx) => insertManyReceived(tx, rows))
}
