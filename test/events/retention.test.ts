// What is old is removed: bodies first, ids later, and never what is still to be done.
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { startJob } from '../../src/events/jobs.ts'
import { systemClock, type Clock } from '../../src/runtime/clock.ts'
import type { RetainedTable, RetentionSteps, RetentionStore } from '../../src/events/retention/store.ts'
import { openRetentionStore, RetentionWorker, type Periods } from '../../src/events/retention/worker.ts'
import type { PostgresDatabase } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import type { EventQueueStatus } from '../../src/storage/tables.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { each, rowIn, scoped, startTestService, type TestService } from '../harness/index.ts'
import { type Engine, onEachEngine, onPostgres, postgres } from '../harness/engines.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { deliveryRow } from '../emitting/harness.ts'
import { eventually, postWebhook, settled } from '../receiving/harness.ts'

const day = 86_400_000
const usual: Periods = { payloads: 30 * day, markers: 90 * day, rejected: 7 * day }

/** A worker for whom it is so many days later. */
function workerAfter(service: TestService, days: number, periods = usual): RetentionWorker {
  const clock: Clock = { ...systemClock, now: () => Date.now() + days * day }
  const store = openRetentionStore(service.database)
  return new RetentionWorker({ store, clock, log: createLog('fatal'), metrics: new Metrics(), periods })
}

async function roundAfter(service: TestService, days: number, periods = usual) {
  const removed = await workerAfter(service, days, periods).round()
  assert.ok(removed, 'nobody else was at it')
  return Object.fromEntries(removed) as Partial<Record<RetainedTable, number>>
}

function start(engine: Engine): Promise<TestService> {
  // Its own rounds begin a minute after the start, which a busy machine may take for a test.
  const after: Clock['after'] = (ms, callback) =>
    ms < 60_000 ? systemClock.after(ms, callback) : () => undefined
  return startTestService(engine, {
    env: { HANDLER_RETRY_SCHEDULE: '0', EMIT_RETRY_SCHEDULE: '0' },
    parts: { clock: { ...systemClock, after } },
    handlers: {
      good: () => undefined,
      bad: () => {
        throw new Error('broken on purpose')
      },
    },
  })
}

async function withService(engine: Engine, work: (service: TestService) => Promise<void>): Promise<void> {
  await using service = await start(engine)
  await work(service)
}

const everyStep = (step: RetentionSteps['removeRejected']): RetentionSteps => ({
  removeEvents: step,
  removeProcessedMarkers: step,
  removeIdempotencyKeys: step,
  removeRejected: step,
  removeResponses: step,
  removeJobs: step,
  removeOwners: step,
})

const storeOf = (steps: RetentionSteps): RetentionStore => ({
  async alone(work) {
    await work(steps)
    return true
  },
})

const numberOf = async ({ database }: TestService, eventId: string): Promise<number> =>
  (await rowIn({ database }, 'events', { event_id: eventId })).id

const count = async ({ database }: TestService, table: RetainedTable): Promise<number> =>
  (
    await database.reader
      .selectFrom(table)
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
  ).count

const setStatus = ({ database }: TestService, event: number, status: EventQueueStatus): Promise<unknown> =>
  database.transaction((tx) =>
    tx
      .updateTable('event_queue')
      .set({ status, due_at: Date.now() + 1_000 * day })
      .where('event', '=', event)
      .execute(),
  )

async function codeOf(answer: Response): Promise<string> {
  return ((await answer.json()) as { code: string }).code
}

onEachEngine('retention', (engine) => {
  let service: TestService
  before(async () => {
    service = await start(engine)
  })
  after(() => service.close())
  afterEach(async () => {
    // Of the shared service: the next test finds nothing of this one.
    await settled(service.database)
    await roundAfter(service, 1_000)
  })

  test('bodies are removed after 30 days, ids after 90; until then duplicates are detected', async () => {
    await postWebhook(service, { id: 'a', type: 'good' })
    await settled(service.database)
    const id = await numberOf(service, 'a')
    assert.deepEqual(await roundAfter(service, 29), {}, 'not yet')
    assert.equal((await service.fetch(`/events/${id}`)).status, 200)

    assert.deepEqual(await roundAfter(service, 31), { events: 1 })
    const gone = await service.fetch(`/events/${id}`)
    assert.equal(gone.status, 410)
    const problem = (await gone.json()) as { code: string; detail: string }
    assert.equal(problem.code, 'no-longer-kept')
    assert.match(problem.detail, /^It was the event a of the source provider, processed at \d{4}-/)
    assert.equal((await postWebhook(service, { id: 'a', type: 'good' })).status, 200)
    assert.equal(await count(service, 'events'), 0, 'the repetition is no new event')

    assert.deepEqual(await roundAfter(service, 91), { event_queue: 1 })
    assert.equal((await service.fetch(`/events/${id}`)).status, 404)
    await postWebhook(service, { id: 'a', type: 'good' })
    assert.ok((await numberOf(service, 'a')) > id, 'nobody remembers it: a new event, and a new number')
  })

  test('a failed event is removed with its errors and cannot be reprocessed', async () => {
    await postWebhook(service, { id: 'f', type: 'bad' })
    const id = await eventually(async () => {
      const row = await service.database.reader
        .selectFrom('event_queue')
        .select(['event', 'status'])
        .executeTakeFirst()
      return row?.status === 'failed' && row.event
    })
    assert.deepEqual(await roundAfter(service, 31), { handler_failures: 1, events: 1 })
    const again = await service.admin(`/events/${id}/reprocess`, { method: 'POST' })
    assert.equal(again.status, 410)
    assert.equal(await codeOf(again), 'no-longer-kept')
    const all = await service.admin('/events/reprocess', { method: 'POST', json: {} })
    const { status, total } = (await all.json()) as { status: string; total: number }
    assert.deepEqual({ status, total }, { status: 'done', total: 0 })
    const row = await rowIn(service, 'event_queue')
    assert.equal(row.status, 'failed')
    assert.equal((await service.admin('/events/999/reprocess', { method: 'POST' })).status, 404)
  })

  test('a reader of the log continues after removed events', async () => {
    for (let number = 1; number <= 5; number += 1)
      await postWebhook(service, { id: `e${number}`, type: 'unhandled' })
    const page = async (query: string) =>
      (await (await service.fetch(`/events?${query}`)).json()) as AnswerTo<'GET /events'>
    const { nextCursor } = await page('limit=2')
    await roundAfter(service, 31)
    await postWebhook(service, { id: 'new', type: 'unhandled' })
    for (const cursor of [0, 1, nextCursor])
      assert.deepEqual(each((await page(`cursor=${cursor}`)).data, 'eventId'), ['new'])
    assert.deepEqual((await page('order=desc')).data.length, 1)
  })

  test('`off` keeps events for ever, and ids are stored at least as long as events', async () => {
    await postWebhook(service, { id: 'a', type: 'unhandled' })
    const never = { payloads: Infinity, markers: Infinity, rejected: Infinity }
    assert.deepEqual(await roundAfter(service, 30_000, never), {})
    assert.deepEqual(await roundAfter(service, 30_000, { ...never, markers: day }), {})
    const short = { ...usual, markers: day }
    assert.deepEqual(await roundAfter(service, 29, short), {})
    assert.deepEqual(await roundAfter(service, 31, short), { events: 1, event_queue: 1 })
  })

  test('rejected webhooks are removed after 7 days', async () => {
    await postWebhook(service, { id: 'a', type: 'a' }, { 'x-signature': null })
    await eventually(async () => (await count(service, 'rejected_webhooks')) === 1)
    assert.deepEqual(await roundAfter(service, 6), {})
    assert.deepEqual(await roundAfter(service, 8), { rejected_webhooks: 1 })
  })

  test('ended jobs are removed like events of their time; running jobs stay', async () => {
    const begun = await service.admin('/events/reprocess', { method: 'POST', json: {} })
    assert.equal(begun.status, 202)
    await service.database.transaction(async (tx) => {
      for (let jobs = 1; jobs < 120; jobs += 1)
        await startJob(tx, { kind: 'reprocess', filter: {}, total: 0 }, Date.now())
      await tx
        .updateTable('jobs')
        // Of a kind that no worker here knows.
        .set({ status: 'running', kind: 'other' as never })
        .where('id', '=', (eb) => eb.selectFrom('jobs as one').select((of) => of.fn.min('one.id').as('id')))
        .execute()
    })
    assert.deepEqual(await roundAfter(service, 29), {})
    assert.deepEqual(await roundAfter(service, 31), { jobs: 119 })
    assert.equal(await count(service, 'jobs'), 1)
  })

  test('the metric is there from the start', async () => {
    const text = await (await service.admin('/metrics')).text()
    assert.match(text, /^# TYPE postern_retention_removed_total counter$/m)
  })

  test('emitted events are removed with deliveries and attempts; their ids stay used until the marker is removed', () =>
    withService(engine, async (service) => {
      const url = `${service.baseUrl}/healthz`
      await service.admin('/subscribers', { method: 'POST', json: { url } })
      const emit = async (data: number): Promise<Response> =>
        service.admin('/events', { method: 'POST', json: { type: 't', id: 'mine', data, tags: ['t'] } })
      const { id } = (await (await emit(1)).json()) as { id: number }
      // The subscriber refuses POST: dead after the only attempt.
      await eventually(async () => {
        const row = await service.database.reader.selectFrom('deliveries').select('status').executeTakeFirst()
        return row?.status === 'dead'
      })
      await service.database.transaction((tx) =>
        tx
          .insertInto('idempotent_responses')
          .values(
            [0, 9].map((hours) => ({
              key_hash: Buffer.from([hours]),
              created_at: Date.now() - hours * 3_600_000,
            })),
          )
          .execute(),
      )
      assert.deepEqual(await roundAfter(service, 0.25), { idempotent_responses: 1 })
      assert.deepEqual(await roundAfter(service, 31), {
        attempts: 1,
        deliveries: 1,
        events: 1,
        idempotent_responses: 1,
      })
      assert.deepEqual(await service.database.reader.selectFrom('event_options').selectAll().execute(), [])
      assert.equal(await codeOf(await service.fetch(`/events/${id}`)), 'no-longer-kept')
      assert.equal(((await (await emit(1)).json()) as { id: number }).id, id, 'the same call, the same event')
      assert.equal(await codeOf(await emit(2)), 'id-conflict')
      assert.deepEqual(await roundAfter(service, 91), { idempotency_keys: 1 })
      assert.equal((await service.fetch(`/events/${id}`)).status, 404)
    }))

  test('unprocessed and undelivered events stay regardless of age, and do not block the removal of others', () =>
    withService(engine, async (service) => {
      for (const name of ['pending', 'blocked', 'processed'])
        await postWebhook(service, { id: name, type: 'unhandled' })
      await setStatus(service, await numberOf(service, 'pending'), 'pending')
      await setStatus(service, await numberOf(service, 'blocked'), 'blocked')
      const made = await service.admin('/subscribers', { method: 'POST', json: { url: service.baseUrl } })
      const { id: subscriber } = (await made.json()) as { id: string }
      await service.admin(`/subscribers/${subscriber}`, { method: 'PATCH', json: { status: 'paused' } })
      await service.admin('/events', { method: 'POST', json: { type: 'waits', id: 'waits', data: null } })
      await postWebhook(service, { id: 'later', type: 'unhandled' })

      assert.deepEqual(await roundAfter(service, 1_000), { events: 2, event_queue: 2 })
      const left = await service.database.reader
        .selectFrom('events')
        .select('event_id')
        .orderBy('id')
        .execute()
      assert.deepEqual(each(left, 'event_id'), ['pending', 'blocked', 'waits'])
      assert.equal(await count(service, 'deliveries'), 1)
      assert.equal(await count(service, 'event_queue'), 2)
      assert.equal(await count(service, 'idempotency_keys'), 1)
    }))

  test('steps are bounded in rows, also for an event with very many deliveries', () =>
    withService(engine, async (service) => {
      const bound = engine.name === 'sqlite' ? 100 : 1_000
      const { database } = service
      const made = await service.admin('/subscribers', { method: 'POST', json: { url: service.baseUrl } })
      const { id: subscriber_id } = (await made.json()) as { id: string }
      const numbers = Array.from({ length: 2_500 }, (_, index) => index + 1)
      const received = numbers.filter((event) => event % 2 === 0)
      const events = numbers.map((event) => ({
        event_id: String(event),
        direction: event % 2 === 0 ? ('received' as const) : ('emitted' as const),
        source: null,
        type: 't',
        content_type: 'application/json',
        payload: Buffer.from('{}'),
        headers: null,
        created_at: 0,
      }))
      const markers = received.map((event) => ({
        event,
        source: 'provider',
        event_id: String(event),
        type: 't',
        status: 'processed' as const,
        attempts: 1,
        attempts_before: 0,
        due_at: 0,
        claim: null,
        processed_at: 0,
      }))
      const deliveries = Array.from({ length: 300 }, () =>
        deliveryRow(subscriber_id, { status: 'delivered', attempts: 1, created_at: 0, finished_at: 0 }),
      )
      await database.transaction(async (tx) => {
        for (let from = 0; from < numbers.length; from += 500) {
          await tx
            .insertInto('events')
            .values(events.slice(from, from + 500))
            .execute()
          const some = markers.slice(from, from + 500)
          if (some.length > 0) await tx.insertInto('event_queue').values(some).execute()
        }
        await tx.insertInto('deliveries').values(deliveries).execute()
      })
      const steps: number[] = []
      const walk = async (table: RetainedTable, step: RetentionSteps['removeEvents']): Promise<void> => {
        for (let after: number | undefined = 0; after !== undefined;) {
          const before = await count(service, table)
          const { removed, next } = await step(after, 0)
          assert.equal(
            before - (await count(service, table)),
            removed[table] ?? 0,
            'it tells what it removed',
          )
          steps.push(removed[table] ?? 0)
          if (engine.name === 'sqlite') assert.ok((removed.deliveries ?? 0) <= 50, 'few deliveries at once')
          after = next
        }
        assert.equal(await count(service, table), 0)
      }
      await openRetentionStore(database).alone(async (steps) => {
        await walk('events', steps.removeEvents)
        await walk('event_queue', steps.removeProcessedMarkers)
      })
      assert.ok(Math.max(...steps) <= bound, `at most ${bound} rows in a step`)
      assert.equal(await count(service, 'deliveries'), 0)
    }))
})

test('a stop ends the round after the current step', async () => {
  let steps = 0
  const worker = new RetentionWorker({
    store: storeOf(
      everyStep(async (after) => {
        steps += 1
        return { removed: {}, next: after + 1 }
      }),
    ),
    clock: { now: () => Date.now() + 31 * day, after: () => () => undefined },
    log: createLog('fatal'),
    metrics: new Metrics(),
    periods: usual,
  })
  const round = worker.round()
  await eventually(() => steps === 1)
  await worker.stop()
  await round
  assert.equal(steps, 1, 'it was in the pause, which never ends on this clock')
})

test('a sweep that fails does not keep the others from removing, and is logged once', async () => {
  const lines: string[] = []
  const rounds: (() => void)[] = []
  const broken = async (): Promise<never> => {
    throw new Error('broken on purpose')
  }
  const steps = everyStep(async () => ({ removed: { jobs: 1 }, next: undefined }))
  const worker = new RetentionWorker({
    store: storeOf({ ...steps, removeEvents: broken, removeProcessedMarkers: broken }),
    clock: {
      now: () => 1_000 * day,
      after(delay, call) {
        if (delay < 60_000) setImmediate(call)
        else rounds.push(call)
        return () => undefined
      },
    },
    log: createLog('info', { write: (line: string) => void lines.push(line) }),
    metrics: new Metrics(),
    periods: usual,
  })
  worker.start()
  rounds[0]!()
  await eventually(() => rounds.length === 2, 'the first round has ended')
  await worker.stop()
  const logged = lines.map((line) => JSON.parse(line) as { msg: string; removed?: object; err?: object })
  assert.deepEqual(each(logged, 'msg'), [
    'removed rows after their retention period',
    'could not remove rows after their retention period',
  ])
  assert.deepEqual(logged[0]!.removed, { jobs: 5 })
})

test(
  'a step is bounded in deliveries, and begins with the event at which the last one ended (postgres)',
  onPostgres,
  () =>
    withService(postgres!, async (service) => {
      const { pool } = service.database as PostgresDatabase
      const made = await service.admin('/subscribers', { method: 'POST', json: { url: service.baseUrl } })
      const { id: subscriber } = (await made.json()) as { id: string }
      await pool.query(`
        insert into events (event_id, direction, type, content_type, payload, created_at)
        select n::text, case when n = 2 then 'received' else 'emitted' end, 't', 'application/json', '{}', 0
        from generate_series(1, 6) n`)
      await pool.query(
        `insert into deliveries (event, subscriber_id, status, attempts, due_at, created_at, finished_at)
        select e.id, $1, 'delivered', 1, 0, 0, 0
        from events e cross join lateral generate_series(1, case e.event_id when '3' then 12000 else 2000 end)
        where e.event_id <> '2'`,
        [subscriber],
      )
      await pool.query(`
        insert into event_queue (event, source, event_id, type, status, attempts, due_at, processed_at)
        select id, 'provider', event_id, type, 'processed', 1, 0, 0 from events where event_id = '2'`)
      const removed: [deliveries: number, events: number][] = []
      await openRetentionStore(service.database).alone(async (steps) => {
        for (let after: number | undefined = 0; after !== undefined;) {
          const step = await steps.removeEvents(after, 0)
          removed.push([step.removed.deliveries ?? 0, step.removed.events ?? 0])
          after = step.next
        }
      })
      assert.ok(Math.max(...removed.map(([deliveries]) => deliveries)) <= 5_000, JSON.stringify(removed))
      assert.deepEqual([await count(service, 'deliveries'), await count(service, 'events')], [0, 0])

      // An event of which another transaction holds all deliveries does not keep the next one.
      await pool.query(`
        insert into events (event_id, direction, type, content_type, payload, created_at)
        select 'again' || n, 'emitted', 't', 'application/json', '{}', 0 from generate_series(1, 2) n`)
      await pool.query(
        `insert into deliveries (event, subscriber_id, status, attempts, due_at, created_at, finished_at)
        select e.id, $1, 'delivered', 1, 0, 0, 0 from events e cross join lateral generate_series(1, 6000)`,
        [subscriber],
      )
      const one = { deliveries: 6_000, events: 1 }
      const other = await pool.connect()
      try {
        await other.query('begin')
        await other.query(`select from deliveries where event = (select min(id) from events) for update`)
        assert.deepEqual(await roundAfter(service, 31), { ...one, event_queue: 1 })
        // The server may notice a closed connection later.
        await other.query('rollback')
      } finally {
        other.release(true)
      }
      assert.deepEqual(await roundAfter(service, 31), one)
    }),
)

test('one process at a time removes (postgres)', onPostgres, () =>
  withService(postgres!, async (service) => {
    await using other = scoped(await openDatabase(service.databaseUrl))
    const second = workerAfter(service, 31)
    await openRetentionStore(other).alone(async () => assert.equal(await second.round(), undefined))
    assert.ok(await second.round(), 'and then the other one')
  }),
)

test('an event that is being reprocessed or replayed is not removed (postgres)', onPostgres, () =>
  withService(postgres!, async (service) => {
    const { pool } = service.database as PostgresDatabase
    await postWebhook(service, { id: 'f', type: 'bad' })
    await eventually(async () => {
      const row = await service.database.reader.selectFrom('event_queue').select('status').executeTakeFirst()
      return row?.status === 'failed'
    })
    await service.admin('/subscribers', { method: 'POST', json: { url: `${service.baseUrl}/healthz` } })
    await service.admin('/events', { method: 'POST', json: { type: 't', data: 1 } })
    await eventually(async () => {
      const row = await service.database.reader.selectFrom('deliveries').select('status').executeTakeFirst()
      return row?.status === 'dead'
    })
    const other = await pool.connect()
    try {
      await other.query('begin')
      await other.query(`update event_queue set status = 'pending', due_at = 9e15`)
      await other.query(`update deliveries set status = 'pending', due_at = 9e15`)
      assert.deepEqual(await roundAfter(service, 31), {})
      await other.query('commit')
    } finally {
      other.release(true)
    }
    assert.deepEqual(await roundAfter(service, 31), {})
    assert.equal(await count(service, 'handler_failures'), 1)
    assert.equal(await count(service, 'attempts'), 1)
  }),
)
