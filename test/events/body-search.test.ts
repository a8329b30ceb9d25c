// GET /events/search: events by what their bodies contain.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { slack } from '../../src/index.ts'
import { insertEvent, onEachEngine, startedService, type TestService } from '../harness/index.ts'
import { postWebhook } from '../receiving/harness.ts'

interface Line {
  type: 'match' | 'end'
  event?: { eventId: string }
  excerpt?: string
  reason?: string
  scanned?: number
  cursor?: number | null
}

onEachEngine('GET /events/search', (engine) => {
  const service = startedService(engine, () => ({
    config: { receiving: { sources: { chat: slack({ secret: 'a-secret-of-slack' }) } } },
  }))
  before(async () => {
    const bodies: (object | string)[] = [
      { id: 'one', type: 'order.paid', data: { customer: 'cus_1', total: 10 } },
      { id: 'two', type: 'order.paid', data: { customer: 'cus_2', note: 'for cus_1 only' } },
      { id: 'three', type: 'invoice', data: { lines: [{ sku: 'A-1' }, { sku: 'B-2' }], paid: true } },
      '{"id":"four","type":"invoice","data":{"name":"caf\\u00e9","url":"https:\\/\\/a.example\\/x","none":null}}',
      '{"id":"five","type":"other","data":{"name":"café"}}',
    ]
    for (const body of bodies) assert.equal((await postWebhook(service, body)).status, 200)
  })

  const search = async (query: Record<string, string>): Promise<Line[]> => {
    const response = await service.admin(`/events/search?${new URLSearchParams(query).toString()}`)
    assert.equal(response.status, 200)
    assert.match(response.headers.get('content-type')!, /^application\/x-ndjson/)
    const text = await response.text()
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
  }
  const idsOf = (lines: Line[]): string[] => lines.flatMap(({ event }) => event?.eventId ?? [])

  const cases: [query: Record<string, string>, ids: string[]][] = [
    [{ text: 'cus_1' }, ['two', 'one']],
    [{ path: 'data.customer', value: 'cus_1' }, ['one']],
    [{ path: 'data.customer' }, ['two', 'one']],
    [{ path: 'data.total', value: '10' }, ['one']],
    [{ path: 'data.total', value: '1' }, []],
    [{ path: 'data.paid', value: 'true' }, ['three']],
    [{ path: 'data.none', value: 'null' }, ['four']],
    [{ path: 'data.lines.sku', value: 'B-2' }, ['three']],
    [{ path: 'data.lines.1.sku', value: 'B-2' }, ['three']],
    [{ path: 'data.lines.0.sku', value: 'B-2' }, []],
    [{ path: 'data.name', value: 'café' }, ['five', 'four']],
    [{ text: 'café' }, ['five', 'four']],
    [{ text: 'é' }, ['five', 'four']],
    [{ text: 'https://a.example/x' }, ['four']],
    [{ text: 'cus_1', type: 'order.*', path: 'data.note' }, ['two']],
    [{ text: 'cus', type: 'invoice' }, []],
    [{ text: 'cus', source: 'chat' }, []],
    [{ text: 'cus', since: '2999-01-01' }, []],
    [{ text: 'cus', until: '2020-01-01' }, []],
    [{ text: 'cus', since: '2020-01-01', until: '2999-01-01' }, ['two', 'one']],
    [{ text: 'cus', eventId: 'one' }, ['one']],
  ]

  test('finds fields by path and value, and texts however they are written, with the other filters', async () => {
    for (const [query, ids] of cases) {
      const lines = await search(query)
      assert.deepEqual(idsOf(lines), ids, JSON.stringify(query))
      assert.equal(lines.at(-1)!.type, 'end')
      assert.equal(lines.at(-1)!.reason, 'complete')
    }
    const [first] = await search({ path: 'data.customer', value: 'cus_1' })
    assert.equal(first!.excerpt, 'data.customer: cus_1')
  })

  test('a limit ends it, and its cursor continues', async () => {
    const first = await search({ text: 'cus', limit: '1' })
    assert.deepEqual(idsOf(first), ['two'])
    const { reason, cursor } = first.at(-1)!
    assert.equal(reason, 'limit')
    assert.deepEqual(idsOf(await search({ text: 'cus', cursor: String(cursor) })), ['one'])
  })

  test('credentials in bodies are not found', async () => {
    const { database } = service
    const payload = Buffer.from(JSON.stringify({ token: 'verification-abc', text: 'hello there' }))
    await database.transaction((tx) =>
      insertEvent(tx, {
        event_id: 'chat-1',
        direction: 'received',
        source: 'chat',
        type: 'message',
        created_at: Date.now(),
        headers: JSON.stringify({ ':verified': { scheme: 'slack' } }),
        payload,
      }),
    )
    assert.deepEqual(idsOf(await search({ text: 'hello there' })), ['chat-1'])
    assert.deepEqual(idsOf(await search({ text: 'verification-abc' })), [])
    assert.deepEqual(idsOf(await search({ path: 'token', value: 'verification-abc' })), [])
  })

  test('a text with spaces is found in a form, which writes them otherwise', async () => {
    await service.database.transaction((tx) =>
      insertEvent(tx, {
        event_id: 'form-1',
        direction: 'received',
        source: 'chat',
        type: 'form',
        content_type: 'application/x-www-form-urlencoded',
        payload: Buffer.from('name=John+Smith&street=Long%20Lane'),
      }),
    )
    assert.deepEqual(idsOf(await search({ text: 'John Smith' })), ['form-1'])
    assert.deepEqual(idsOf(await search({ text: 'Long Lane' })), ['form-1'])
    assert.deepEqual(idsOf(await search({ text: 'Smith John' })), [])
  })

  test('it needs something to search for', async () => {
    for (const query of ['', '?value=1', '?path=a..b&value=1', '?type=a']) {
      const response = await service.admin(`/events/search${query}`)
      assert.equal(response.status, 400, query)
      await response.body?.cancel()
    }
  })

  test('one search reads a bounded part of the log, and its cursor continues', async () => {
    const [newest] = await search({ path: 'data.customer', value: 'cus_1' })
    await insertMany(service, 25_000)
    // Nothing matches, and nothing narrows it: each body may match.
    const parsed = (await search({ text: '€' })).at(-1)!
    assert.deepEqual([parsed.reason, parsed.scanned], ['limit', 10_000])
    let ends = 0
    for (let cursor: number | null = Number.MAX_SAFE_INTEGER; cursor !== null; ends += 1) {
      const lines = await search({ text: 'cus_1', path: 'data.customer', cursor: String(cursor) })
      cursor = lines.at(-1)!.cursor!
      if (cursor === null) assert.ok(idsOf(lines).includes(newest!.event!.eventId))
    }
    assert.equal(ends, 3)
  })

  test('large bodies are parsed a few at a time', async () => {
    await insertLarge(0, 5)
    const first = await search({ path: 'large' })
    assert.deepEqual(idsOf(first), ['large-4', 'large-3', 'large-2'])
    assert.equal(first.at(-1)!.reason, 'limit')
    const rest = await search({ path: 'large', cursor: String(first.at(-1)!.cursor) })
    assert.deepEqual(idsOf(rest), ['large-1', 'large-0'])
  })

  test('one search reads 64 MB of bodies at most, and its cursor leads on', async () => {
    await insertLarge(5, 80)
    const first = await search({ text: 'in no body' })
    const { scanned, reason, cursor } = first.at(-1)!
    assert.equal(reason, 'limit')
    assert.ok(scanned! > 70 && scanned! < 75, String(scanned))
    const rest = await search({ text: 'in no body', cursor: String(cursor) })
    assert.ok(rest.at(-1)!.scanned! > 1_000, 'the small ones behind them')
  })

  async function insertLarge(from: number, to: number): Promise<void> {
    await service.database.transaction(async (tx) => {
      for (let n = from; n < to; n += 1)
        await insertEvent(tx, {
          event_id: `large-${n}`,
          direction: 'received',
          source: 'chat',
          type: 'large',
          created_at: Date.now(),
          payload: Buffer.from(JSON.stringify({ large: n, filling: 'x'.repeat(900_000) })),
        })
    })
  }
})

async function insertMany({ database }: TestService, many: number): Promise<void> {
  const body = `'{"a":"' || i || '"}'`
  // The retention removes old events.
  const begin = Date.now() - many
  const statement =
    database.engine === 'sqlite'
      ? `insert into events (event_id, direction, source, type, content_type, payload, created_at)
         with recursive n (i) as (select 1 union all select i + 1 from n where i < ${many})
         select 'e' || i, 'received', 'provider', 'a', 'application/json', cast(${body} as blob), ${begin} + i from n`
      : `insert into events (event_id, direction, source, type, content_type, payload, created_at)
         select 'e' || i, 'received', 'provider', 'a', 'application/json', convert_to(${body}, 'UTF8'), ${begin} + i
         from generate_series(1, ${many}) as i`
  if (database.engine === 'sqlite')
    await database.batch('request', (connection) => connection.exec(statement))
  else await database.pool.query(statement)
}
