// GET /attention and GET /checklist: what needs attention, with what it is about, and the first steps of an installation.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emittingAttention } from '../../src/emitting/attention.ts'
import { disabledByAdmin, disabledByOwner } from '../../src/emitting/subscribers/subscriber-rules.ts'
import { endingSecrets, failingHandlers } from '../../src/receiving/attention.ts'
import type { PlanOf } from '../../src/receiving/handlers/plan.ts'
import { hmac } from '../../src/index.ts'
import { severityOf } from '../../src/http/operations/attention.ts'
import { risingRefusals, spooledWebhooks, HistoryStore } from '../../src/telemetry/history/store.ts'
import { Tallies } from '../../src/telemetry/history/tally.ts'
import { Recorder } from '../../src/telemetry/history/recorder.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { systemClock, type Clock } from '../../src/runtime/clock.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { each, fields, onEachEngine, rowsOf, started, startedService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'
import { insertManyReceived, insertReceived } from '../receiving/insert-received.ts'

type Item = AnswerTo<'GET /attention'>['data'][number]
type Step = AnswerTo<'GET /checklist'>['steps'][number]

const day = 86_400_000

onEachEngine('what needs attention', (engine) => {
  /** Milliseconds that the service's clock is ahead: each read comes after what answers of before are kept for. */
  let shift = 0
  const service = startedService(engine, () => ({
    parts: { clock: { ...systemClock, now: () => Date.now() + shift } },
    env: {
      HANDLER_RETRY_SCHEDULE: '0,3600',
      EMIT_RETRY_SCHEDULE: '0,3600',
      ALLOW_PRIVATE_NETWORK: 'true',
    },
    config: {
      receiving: {
        handlers: {
          'order.*': (event) => {
            if (event.type === 'order.broken') throw new Error('not today')
          },
          // It runs first, and does not fail.
          'order.broken': () => {},
        },
      },
    },
  }))

  const attention = async (): Promise<Item[]> => {
    shift += 3_000
    const response = await service.admin('/attention')
    assert.equal(response.status, 200)
    const { data } = (await response.json()) as { data: Item[] }
    // The machine's disk may really be filling.
    return data.filter(({ kind }) => kind !== 'disk-fills')
  }
  const doneSteps = async (): Promise<string[]> => {
    shift += 1_000
    const response = await service.admin('/checklist')
    assert.equal(response.status, 200)
    const { steps } = (await response.json()) as { steps: Step[] }
    for (const { command } of steps) assert.match(command, /^(npm run postern --|NODE_ENV=|curl )/)
    assert.ok(steps.some(({ command }) => command.includes(`${service.baseUrl}/webhooks/provider`)))
    return steps.filter(({ done }) => done).map(({ id }) => id)
  }

  test('a fresh installation needs none, and no step is done', async () => {
    assert.deepEqual(await attention(), [])
    assert.deepEqual(await doneSteps(), [])
  })

  test('steps are done as they happen', async () => {
    await postWebhook(service, { id: 'one', type: 'order.paid' })
    await eventually(async () => (await doneSteps()).includes('handler'))
    const json = { name: 'first', scopes: ['events:write'] }
    assert.equal((await service.admin('/keys', { method: 'POST', json })).status, 201)
    const subscriber = { url: 'http://127.0.0.1:9/', description: 'The shop', eventTypes: ['shop.told'] }
    await service.admin('/subscribers', { method: 'POST', json: subscriber })
    await eventually(async () => (await doneSteps()).includes('subscriber'))
    assert.deepEqual(await doneSteps(), ['webhook', 'handler', 'key', 'subscriber'])
  })

  test('failing handlers and subscribers, and ends of keys and secrets, are named', async () => {
    const { database } = service
    const now = Date.now()
    for (const id of ['bad-1', 'bad-2']) await postWebhook(service, { id, type: 'order.broken' })
    await database.transaction(async (tx) => {
      await tx
        .updateTable('subscribers')
        .set({ failing_since: now - day })
        .execute()
      await tx
        .updateTable('api_keys')
        .set({ expires_at: now + 3 * day })
        .execute()
      await tx
        .updateTable('subscriber_secrets')
        .set({ expires_at: now + 3_600_000 })
        .execute()
    })
    const { id: subscriber } = (await rowsOf({ database }, 'subscribers'))[0]!
    const { id: key } = await database.reader.selectFrom('api_keys').select('id').executeTakeFirstOrThrow()
    const found = await eventually(async () => {
      const items = await attention()
      const isThere =
        items.length === 4 && items.some(({ text }) => /order\.\* is failing: .*2 events/.test(text))
      return isThere ? items : undefined
    })
    assert.deepEqual(
      found
        .map(({ kind, severity, about }) => [kind, severity, about.topic, about.id])
        .toSorted(([one = ''], [other = '']) => one.localeCompare(other)),
      [
        ['handler-failing', 'error', 'handler', 'order.*'],
        ['key-expires', 'warning', 'key', key],
        ['subscriber-failing', 'error', 'subscriber', subscriber],
        ['subscriber-secret-ends', 'warning', 'subscriber', subscriber],
      ],
    )
    assert.deepEqual(each(found, 'severity'), ['error', 'error', 'warning', 'warning'])
    const failing = found.find(({ kind }) => kind === 'subscriber-failing')!
    assert.equal(failing.since, new Date(now - day).toISOString())
    assert.equal(failing.text, 'Deliveries to 127.0.0.1:9 (The shop) are failing.')
    await database.transaction(async (tx) => {
      await tx
        .updateTable('subscribers')
        .set({ status: 'disabled', disabled_reason: 'Every attempt failed.' })
        .execute()
      await tx
        .updateTable('event_queue')
        .set({ failed_at: now - 2 * day })
        .execute()
      await tx.updateTable('api_keys').set({ revoked_at: now }).execute()
    })
    await eventually(async () => {
      const kinds = (await attention()).map(({ kind }) => kind)
      return kinds.join() === 'subscriber-disabled,subscriber-secret-ends'
    })
  })

  test('a failing handler is named however often another one has failed since', async () => {
    const { database } = service
    const now = Date.UTC(2026, 3, 4)
    // The service, whose clock goes on, must not take the event that waits: it has no handler for it.
    const farAhead = now + 36_500 * day
    const plan = (type: string) => [{ id: type === 'rare' ? 'rare' : 'often' }]
    const planOf = ((_source: string, type: string) => ({ handlers: plan(type) })) as unknown as PlanOf
    const group = (id: string, handler: string, at: number) => {
      const cause = { name: 'Error', message: id, frame: null, count: 1 }
      return { id, handler, ...cause, first_at: at, last_at: at }
    }
    await database.transaction(async (tx) => {
      const groups = Array.from({ length: 30 }, (_, at) => group(`often-${at}`, 'often', now - at))
      await tx
        .insertInto('failure_groups')
        .values([...groups, group('rare', 'rare', now - 3_600_000), group('former', 'former', now - 60_000)])
        .execute()
      const fail = (type: string, at: number, inGroup: string, status: 'failed' | 'pending' = 'failed') => {
        const row = { event_id: `${inGroup}:${at}`, source: 'past', type, due_at: farAhead, status }
        return { ...row, failed_at: at, failure_group: inGroup }
      }
      await insertManyReceived(tx, [
        ...Array.from({ length: 600 }, (_, one) => fail('often', now - one, `often-${one % 30}`)),
        fail('rare', now - 3_600_000, 'rare'),
        fail('rare', now - 3_600_001, 'rare', 'pending'),
        fail('rare', now - 2 * day, 'rare'),
        // Its last failure was that of an event that is processed by now.
        fail('former', now - 2 * day, 'former'),
      ])
    })
    const found = await failingHandlers(database, planOf, now)
    assert.deepEqual(
      found.map(({ about }) => about.id),
      ['often', 'rare'],
    )
    const [, rare] = found
    assert.equal(
      rare?.text,
      'Handler rare is failing: Error: rare. 1 event will be retried, 1 event failed after the last attempt.',
    )
    assert.equal(rare?.since, now - 3_600_001)
  })

  test('a handler fails since its first failure, however many attempts and events fail after it', async () => {
    const { database } = service
    const now = Date.UTC(2026, 3, 5)
    const farAhead = now + 36_500 * day
    const planOf = (() => ({ handlers: [{ id: 'moving' }] })) as unknown as PlanOf
    const first = now - 2 * day
    const fail = async (eventId: string, before: number, attempts: readonly number[]): Promise<void> => {
      await database.transaction(async (tx) => {
        await insertReceived(tx, {
          event_id: eventId,
          source: 'past',
          type: 'moving',
          due_at: farAhead,
          status: 'pending',
          attempts: attempts.length,
          attempts_before: before,
          failed_at: attempts.at(-1)!,
          failure_group: 'moving',
        })
        const { event } = await tx
          .selectFrom('event_queue')
          .select('event')
          .where('event_id', '=', eventId)
          .executeTakeFirstOrThrow()
        for (const [at, time] of attempts.entries())
          await tx
            .insertInto('handler_failures')
            .values({ event, number: at + 1, at: time, duration_ms: 1, error: 'no' })
            .execute()
      })
    }
    const cause = { name: 'Error', message: 'moving', frame: null, count: 1 }
    await database.transaction((tx) =>
      tx
        .insertInto('failure_groups')
        .values({ id: 'moving', handler: 'moving', ...cause, first_at: 1, last_at: now })
        .execute(),
    )
    // It failed before it was reprocessed: that failure is of an earlier period.
    await fail('moved-0', 1, [now - 5 * day, first + 1, now - 60_000])
    await fail('moved-1', 0, [first, now - 60_000])
    const sinceOf = async () =>
      (await failingHandlers(database, planOf, now)).find(({ about }) => about.id === 'moving')?.since
    assert.equal(await sinceOf(), first)
    await database.transaction(async (tx) => {
      await tx.updateTable('event_queue').set({ failed_at: now }).where('type', '=', 'moving').execute()
      await insertManyReceived(
        tx,
        Array.from({ length: 600 }, (_, one) => ({
          event_id: `later-${one}`,
          source: 'past',
          type: 'moving',
          due_at: farAhead,
          status: 'pending' as const,
          failed_at: now,
          failure_group: 'moving',
        })),
      )
    })
    assert.equal(await sinceOf(), first, 'later failures do not move it')
  })

  test('of many disabled subscribers, those that nobody disabled are named, the latest first', async () => {
    const { database } = service
    const now = Date.UTC(2026, 3, 4)
    const model = await database.reader.selectFrom('subscribers').selectAll().executeTakeFirstOrThrow()
    const disabled = (id: string, reason: string, at: number) => ({
      ...model,
      id,
      status: 'disabled' as const,
      disabled_reason: reason,
      updated_at: at,
    })
    const byPeople = Array.from({ length: 25 }, (_, at) =>
      disabled(`0-${at}`, at % 2 === 0 ? disabledByAdmin : disabledByOwner, now + 1_000 + at),
    )
    const byItself = Array.from({ length: 25 }, (_, at) =>
      disabled(`1-${at}`, 'The endpoint returned HTTP 410 Gone.', now + at),
    )
    await database.transaction((tx) =>
      tx
        .insertInto('subscribers')
        .values([...byPeople, ...byItself])
        .execute(),
    )
    const found = (await emittingAttention(database, now)).filter(({ about }) => /^[01]-/.test(about.id))
    const latest = byItself.toReversed().slice(0, found.length)
    assert.ok(found.length >= 19, 'one other subscriber is disabled')
    assert.deepEqual(
      found.map(({ about, since }) => [about.id, since]),
      fields(latest, 'id', 'updated_at'),
    )
    assert.equal(
      found[0]?.text,
      'Endpoint 127.0.0.1:9 (The shop) was disabled: The endpoint returned HTTP 410 Gone. It receives nothing until you enable it.',
    )
  })

  test('refusals that rise are compared with those of the day before', async () => {
    const store = new HistoryStore(service.database)
    const minute = Math.floor(Date.UTC(2026, 3, 4, 12) / 60_000) * 60_000
    const add = async (at: number, source: string, failed: number) => {
      const tallies = new Tallies()
      tallies.of(`webhooks:${source}`, at).failed = failed
      await store.addMinutes(tallies, () => undefined)
    }
    for (let hour = 2; hour < 20; hour += 1) await add(minute - hour * 3_600_000, 'noisy', 100)
    await store.rollUp(minute)
    await add(minute - 3 * 60_000, 'github', 30)
    await add(minute - 2 * 60_000, 'stripe', 9)
    await add(minute - 2 * 60_000, 'noisy', 30)
    const found = await risingRefusals(store, minute)
    assert.deepEqual(fields(found, 'about', 'since'), [
      [{ topic: 'source', id: 'github' }, minute - 3 * 60_000],
    ])
  })
})

onEachEngine('webhooks that came while the database was away', (engine) => {
  const home = started(() => engine.createMigratedDatabase())
  test('are told when it is back, for a quarter of an hour', async () => {
    const database = await openDatabase(home.url)
    try {
      const minute = 60_000
      let now = Date.UTC(2026, 3, 4, 10, 0, 30)
      const clock: Clock = { now: () => now, after: () => () => undefined }
      const store = new HistoryStore(database)
      const processes = [1, 2].map(() => {
        const metrics = new Metrics()
        const webhooks = metrics.counter('postern_spool_webhooks_total', 'test', ['outcome'])
        return { webhooks, recorder: new Recorder({ metrics, store, clock, log: createLog('silent') }) }
      })
      processes[0]!.webhooks.inc({ outcome: 'stored' }, 2)
      for (const { recorder } of processes) await recorder.flush()
      now += 5 * minute
      for (const { recorder } of processes) await recorder.flush()
      processes[0]!.webhooks.inc({ outcome: 'stored' }, 3)
      processes[1]!.webhooks.inc({ outcome: 'stored' }, 4)
      processes[1]!.webhooks.inc({ outcome: 'refused' })
      for (const { recorder } of processes) await recorder.flush()
      const told = async () =>
        (await spooledWebhooks(store, now)).map(({ kind, text, since }) => [
          kind,
          text,
          since && new Date(since).toISOString().slice(11, 16),
        ])
      const wanted = [
        ['spooling', 'The database was unavailable: 9 webhooks went to the spool until 10:06 UTC.', '10:00'],
        [
          'spool-full',
          'The database was unavailable and the spool was full or did not respond: 1 webhook got HTTP 503 until 10:06 UTC.',
          '10:05',
        ],
      ]
      assert.deepEqual(await told(), wanted)
      now += 14 * minute
      assert.deepEqual(await told(), wanted)
      now += minute
      assert.deepEqual(await told(), [])
    } finally {
      await database.close()
      await home.drop()
    }
  })
})

test('secrets of sources that end are named', () => {
  const now = Date.UTC(2026, 4, 1)
  const at = (days: number) => new Date(now + days * day)
  const source = (...ends: (number | undefined)[]) =>
    hmac({
      header: 'x-signature',
      secret: ends.map((end, index) => {
        const secret = `a-secret-of-enough-length-${index}`
        return end === undefined ? secret : { secret, until: at(end) }
      }),
    })
  const sources = new Map([
    ['lasting', source(undefined)],
    ['later', source(undefined, 30)],
    ['rotated', source(undefined, 2)],
    ['past-rotation', source(undefined, -2)],
    ['ending', source(1, 3)],
    ['ended', source(-1)],
  ])
  assert.deepEqual(
    endingSecrets(sources, now).map(({ kind, severity, about }) => [about.id, kind, severity]),
    [
      ['rotated', 'source-secret-ends', 'warning'],
      ['ending', 'source-secret-ends', 'error'],
      ['ended', 'source-secret-ended', 'error'],
    ],
  )
})

test('a gap between two secrets of a source is named before it begins and while it lasts', () => {
  const start = Date.UTC(2026, 5, 1)
  const timed = (from: number | undefined, until: number | undefined) => ({
    secret: `a-secret-of-enough-length-${from}`,
    ...(from !== undefined && { from: new Date(from) }),
    ...(until !== undefined && { until: new Date(until) }),
  })
  const source = (...secret: ReturnType<typeof timed>[]) => hmac({ header: 'x-signature', secret })
  const sources = new Map([
    ['gap', source(timed(start + day, undefined), timed(undefined, start))],
    ['meeting', source(timed(start, undefined), timed(undefined, start))],
    ['future', source(timed(start + day, undefined))],
  ])
  const at = (now: number) =>
    endingSecrets(sources, now).map(({ kind, severity, text, since, about }) => [
      about.id,
      kind,
      severity,
      text.split(/: |(?<=UTC)\. /).at(-1),
      since,
    ])
  const ended = ['source-secret-ended', 'error']
  const future = ['future', ...ended, 'all its webhooks are rejected until 2026-06-02 00:00 UTC.', null]
  assert.deepEqual(at(start - day), [
    [
      'gap',
      'source-secret-ends',
      'error',
      'Its webhooks are rejected after that until 2026-06-02 00:00 UTC.',
      null,
    ],
    ['meeting', 'source-secret-ends', 'warning', 'Make sure that the sender signs with the other one.', null],
    future,
  ])
  assert.deepEqual(at(start + day / 2), [
    ['gap', ...ended, 'all its webhooks are rejected until 2026-06-02 00:00 UTC.', start],
    future,
  ])
  assert.deepEqual(at(start + day), [])
})

test('a volume fills when little is left of it', () => {
  const gibibyte = 1024 ** 3
  const cases: [free: number, size: number, severity: string | undefined][] = [
    [50 * gibibyte, 1000 * gibibyte, undefined],
    [0.9 * gibibyte, 100 * gibibyte, 'warning'],
    [0.2 * gibibyte, 100 * gibibyte, 'error'],
    [0.5 * gibibyte, 1 * gibibyte, undefined],
    [0.05 * gibibyte, 1 * gibibyte, 'warning'],
    [0.01 * gibibyte, 1 * gibibyte, 'error'],
  ]
  for (const [free, size, severity] of cases) assert.equal(severityOf({ free, size }), severity, `${free}`)
})
