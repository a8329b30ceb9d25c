// GET /events by what the events are and what became of them.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { each, onEachEngine, startedService, startTestService, webhookSecret } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'
import { hmac } from '../../src/index.ts'

type Page = AnswerTo<'GET /events'>

onEachEngine('the event log, filtered', (engine) => {
  const service = startedService(engine, () => ({
    env: { HANDLER_RETRY_SCHEDULE: '0,3600', EMIT_RETRY_SCHEDULE: '0', ALLOW_PRIVATE_NETWORK: 'true' },
    receiving: {
      sources: { other: hmac({ header: 'x-signature', secret: webhookSecret }) },
      handlers: {
        'order.*': (event) => {
          if (event.type === 'order.broken') throw new Error('not today')
        },
      },
    },
  }))
  before(async () => {
    const { database } = service
    for (const [id, type] of [
      ['done-1', 'order.paid'],
      ['again-1', 'order.broken'],
      ['lost-1', 'order.broken'],
      ['plain', 'invoice.paid'],
    ] as const)
      await postWebhook(service, { id, type })
    await postWebhook(service, { id: 'again-2', type: 'order.broken' }, {}, 'other')
    await eventually(async () => {
      const rows = await database.reader.selectFrom('event_queue').selectAll().execute()
      return rows.every((row) => row.status === 'processed' || (row.failed_at !== null && row.claim === null))
    })
    await database.transaction(async (tx) => {
      await tx.updateTable('event_queue').set({ status: 'failed' }).where('event_id', '=', 'lost-1').execute()
      const ordered = ['done-1', 'again-1']
      await tx.updateTable('event_queue').set({ order_key: 'k1' }).where('event_id', 'in', ordered).execute()
    })
    // Nothing listens there.
    await service.admin('/subscribers', {
      method: 'POST',
      json: { url: 'http://127.0.0.1:9/', eventTypes: ['shop.told', 'shop.half'] },
    })
    await service.admin('/subscribers', {
      method: 'POST',
      json: {
        url: 'http://127.0.0.1:9/',
        eventTypes: ['shop.half', 'shop.late', 'shop.replayed'],
        retrySchedule: [0, 3600],
      },
    })
    for (const [id, type] of [
      ['told', 'shop.told'],
      ['unheard', 'shop.closed'],
      ['half', 'shop.half'],
      ['late', 'shop.late'],
      ['replayed', 'shop.replayed'],
    ])
      await service.admin('/events', { method: 'POST', json: { id, type, data: 1 } })
    await eventually(async () => {
      const rows = await database.reader.selectFrom('deliveries').select(['status', 'attempts']).execute()
      assert.equal(rows.length, 5)
      return rows.every(({ attempts }) => attempts === 1)
    })
    await database.transaction((tx) =>
      tx
        .updateTable('deliveries as d')
        .set({ attempts_before: 1 })
        .where('d.event', '=', (eb) =>
          eb.selectFrom('events').select('id').where('event_id', '=', 'replayed'),
        )
        .execute(),
    )
  })

  const read = async (query: Record<string, string>): Promise<Page> => {
    const response = await service.admin(`/events?${new URLSearchParams(query).toString()}`)
    assert.equal(response.status, 200)
    return (await response.json()) as Page
  }
  const idsOf = ({ data }: Page): string[] => data.map(({ eventId }) => eventId)

  const cases: [filter: Record<string, string>, ids: string[]][] = [
    [{ status: 'retrying' }, ['again-1', 'again-2', 'late']],
    [{ status: 'retrying', direction: 'received' }, ['again-1', 'again-2']],
    [{ status: 'retrying', source: 'other' }, ['again-2']],
    [{ status: 'retrying', type: 'order.*', direction: 'received' }, ['again-1', 'again-2']],
    [{ status: 'retrying', direction: 'emitted' }, ['late']],
    [{ status: 'retrying', type: 'shop.*' }, ['late']],
    [{ status: 'retrying', type: 'shop.told' }, []],
    [{ status: 'retrying', eventId: 'late' }, ['late']],
    [{ status: 'failed' }, ['lost-1', 'told', 'half']],
    [{ status: 'failed', direction: 'received' }, ['lost-1']],
    [{ status: 'failed', direction: 'emitted' }, ['told', 'half']],
    [{ status: 'failed', type: 'shop.told' }, ['told']],
    [{ status: 'failed', source: 'provider' }, ['lost-1']],
    [{ status: 'unsubscribed', source: 'provider' }, []],
    [{ status: 'processed' }, ['done-1']],
    [{ status: 'unhandled' }, ['plain']],
    [{ status: 'unhandled', source: 'other' }, []],
    [{ status: 'unhandled', eventId: 'plain' }, ['plain']],
    [{ status: 'unhandled', direction: 'emitted' }, []],
    [{ status: 'pending' }, ['replayed']],
    [{ status: 'blocked' }, []],
    [{ status: 'unsubscribed' }, ['unheard']],
    [{ status: 'delivered' }, []],
    [{ direction: 'emitted' }, ['told', 'unheard', 'half', 'late', 'replayed']],
    [{ type: 'order.*', source: 'provider' }, ['done-1', 'again-1', 'lost-1']],
    [{ type: 'Order.*' }, []],
    [{ type: '*', source: 'other' }, ['again-2']],
    [{ since: '2020-01-01', direction: 'emitted' }, ['told', 'unheard', 'half', 'late', 'replayed']],
    [{ since: '2999-01-01' }, []],
    [{ until: '2020-01-01T00:00:00Z' }, []],
    [{ eventId: 'again-2' }, ['again-2']],
    [{ eventId: 'told' }, ['told']],
    [{ eventId: 'done-1', source: 'other' }, []],
    [{ eventId: 'nothing' }, []],
    [{ orderKey: 'k1' }, ['done-1', 'again-1']],
    [{ orderKey: 'k1', status: 'retrying' }, ['again-1']],
    [{ orderKey: 'k1', direction: 'emitted' }, []],
    [{ orderKey: 'k2' }, []],
    [
      { status: '', type: '', direction: 'emitted', colour: 'red' },
      ['told', 'unheard', 'half', 'late', 'replayed'],
    ],
  ]

  test('filters by status, type, source, direction and time, in both orders and on all pages', async () => {
    for (const [filter, ids] of cases) {
      const all = await read(filter)
      assert.deepEqual(idsOf(all), ids, JSON.stringify(filter))
      assert.equal(all.nextCursor, null)
      assert.deepEqual(
        idsOf(await read({ ...filter, order: 'desc' })),
        ids.toReversed(),
        JSON.stringify(filter),
      )
      for (const order of ['asc', 'desc']) {
        const walked: string[] = []
        let cursor: Record<string, string> = {}
        for (;;) {
          const page = await read({ ...filter, order, limit: '1', ...cursor })
          walked.push(...idsOf(page))
          if (page.nextCursor === null) break
          cursor = { cursor: String(page.nextCursor) }
        }
        assert.deepEqual(walked, order === 'asc' ? ids : ids.toReversed(), JSON.stringify(filter))
      }
    }
  })

  test('a list and an event show the same status', async () => {
    for (const { id, status } of (await read({ since: '2020-01-01' })).data) {
      const detail = (await (await service.admin(`/events/${id}`)).json()) as { status: string }
      assert.equal(detail.status, status)
    }
  })

  test('the link to the next page has the filters', async () => {
    const response = await service.admin('/events?limit=1&status=retrying&type=order.*&order=desc')
    const { nextCursor } = (await response.json()) as Page
    assert.equal(
      response.headers.get('link'),
      `</events?limit=1&order=desc&status=retrying&type=order.*&cursor=${nextCursor}>; rel="next"`,
    )
  })

  test('an invalid filter is refused with its name', async () => {
    for (const [name, value] of [
      ['status', 'broken'],
      ['direction', 'up'],
      ['since', 'yesterday'],
      ['until', '2026-01-01T00:00:00'],
      ['type', 'a'.repeat(1001)],
      ['source', 'a\0'],
    ] as const) {
      const response = await service.admin(`/events?${new URLSearchParams({ [name]: value }).toString()}`)
      assert.equal(response.status, 400)
      assert.match(((await response.json()) as { detail: string }).detail, new RegExp(`\`${name}\``))
    }
  })
})

onEachEngine('a long event log, filtered', (engine) => {
  test('is read in bounded pages without gaps; retried events are found at once', async () => {
    await using service = await startTestService(engine, { parts: { roles: { http: true, workers: false } } })
    const { database } = service
    const many = 60_000
    const statements = [
      engine.name === 'sqlite'
        ? `insert into events (event_id, direction, source, type, content_type, payload, created_at)
             with recursive n (i) as (select 1 union all select i + 1 from n where i < ${many})
             select 'e' || i, 'received', 'provider', case when i = ${many} - 3 then 'rare' else 'a' end, 'application/json', x'7b7d', i from n`
        : `insert into events (event_id, direction, source, type, content_type, payload, created_at)
             select 'e' || i, 'received', 'provider', case when i = ${many} - 3 then 'rare' else 'a' end, 'application/json', '{}', i
             from generate_series(1, ${many}) as i`,
      `insert into event_queue (event, source, event_id, type, status, due_at, processed_at, failed_at)
         select id, source, event_id, type, case id % 20000 when 0 then 'pending' when 1 then 'blocked' else 'processed' end, 9000000000000000, 1,
           case when id % 20000 = 0 then 1 end from events`,
      `insert into events (event_id, direction, type, content_type, payload, created_at)
         select 'sent ' || id, 'emitted', 'sent', 'application/json', payload, created_at from events where id <= 500 order by id`,
      `insert into subscribers (id, url, event_types, status, ordered, signing, created_at, updated_at)
         values ('s', 'http://localhost/', '*', 'active', 0, '', 1, 1)`,
      `insert into deliveries (event, subscriber_id, status, attempts, attempts_before, due_at, created_at)
         select id, 's', 'pending', case id when 60200 then 2 when 60400 then 3 else 1 end, 1, 9000000000000000, 1
         from events where direction = 'emitted' order by id`,
    ]
    for (const statement of statements) {
      if (database.engine === 'sqlite')
        await database.batch('request', (connection) => connection.exec(statement))
      else await database.pool.query(statement)
    }
    const read = async (query: string): Promise<Page> =>
      (await (await service.admin(`/events?${query}`)).json()) as Page
    const retried = await read('status=retrying')
    assert.deepEqual(each(retried.data, 'id'), [20_000, 40_000, 60_000, 60_200, 60_400])
    assert.equal(retried.nextCursor, null)
    const blocked = await read('status=blocked')
    assert.deepEqual(each(blocked.data, 'id'), [1, 20_001, 40_001])
    const found: string[] = []
    let page = await read('type=rare')
    assert.deepEqual(page.data, [], 'a page that searches less than the whole log')
    assert.ok(page.nextCursor! >= 1_000 && page.nextCursor! <= 50_000)
    for (; page.nextCursor !== null; page = await read(`type=rare&cursor=${page.nextCursor}`))
      found.push(...page.data.map(({ eventId }) => eventId))
    assert.deepEqual([...found, ...page.data.map(({ eventId }) => eventId)], [`e${many - 3}`])
    const newest = await read('type=rare&order=desc&limit=1')
    assert.equal(newest.data[0]?.eventId, `e${many - 3}`)
  })
})
