import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { insertEvent, onEachEngine, started, each } from '../harness/index.ts'
import { deliveryRow, expectJson, startEmitting, subscribe } from './harness.ts'

interface Row {
  id: number
  eventId: string
  eventType: string
  subscriberId: string
  subscriberUrl: string
  owner: string | null
  status: string
  lastStatus: number | null
}
interface Page {
  data: Row[]
  pageInfo: { hasNextPage: boolean; nextCursor: string | null }
}

const hour = 3_600_000
const begin = Date.parse('2026-03-01T00:00:00Z')
const outcomes = [
  ['delivered', 204],
  ['delivered', 204],
  ['dead', 503],
  ['dead', 404],
  ['pending', null],
] as const
const types = ['order.paid', 'order.sent', 'user.left']

onEachEngine('deliveries of all subscribers', (engine) => {
  const expected: (Row & { at: number })[] = []

  const service = started(() => startEmitting(engine, { parts: { roles: { http: true, workers: false } } }))
  before(async () => {
    const owners = ['acme', 'acme', 'globex', null]
    const ids: string[] = []
    for (const [index, owner] of owners.entries()) {
      const url = `http://127.0.0.1:9/hook-${index}`
      ids.push((await subscribe(service, { url, ...(owner !== null && { owner }) })).id)
    }
    for (let n = 1; n <= 30; n += 1)
      await service.database.transaction(async (tx) => {
        const at = begin + n * hour
        const type = types[n % 3]!
        const [status, lastStatus] = outcomes[n % 5]!
        const event = await insertEvent(tx, { event_id: `evt_${n}`, type, created_at: at })
        await tx
          .insertInto('idempotency_keys')
          .values({ event, event_id: `evt_${n}`, digest: Buffer.from('x'), caused_by: null, audience: '*' })
          .execute()
        for (const [index, subscriberId] of ids.entries()) {
          if (index === 1 && n % 2 === 0) continue
          const { id } = await tx
            .insertInto('deliveries')
            .values(
              deliveryRow(subscriberId, {
                event,
                owner: owners[index]!,
                status,
                attempts: 1,
                due_at: at,
                created_at: at,
                finished_at: status === 'pending' ? null : at,
              }),
            )
            .returning('id')
            .executeTakeFirstOrThrow()
          await tx
            .insertInto('attempts')
            .values({
              delivery: id,
              number: 1,
              at,
              duration_ms: 5,
              status: lastStatus,
              error: status === 'delivered' ? null : 'no',
              failure: null,
              phases: null,
              request_headers: '{}',
              response_headers: null,
              response_body: null,
            })
            .execute()
          const [eventId, owner] = [`evt_${n}`, owners[index]!]
          const subscriberUrl = `http://127.0.0.1:9/hook-${index}`
          expected.unshift({
            id,
            eventId,
            eventType: type,
            subscriberId,
            subscriberUrl,
            owner,
            status,
            lastStatus,
            at,
          })
        }
      })
  })

  const walk = async (query: Record<string, string>, limit: number): Promise<Row[]> => {
    const rows: Row[] = []
    for (let cursor: string | null = null, pages = 0; pages < 1_000; pages += 1) {
      const parameters = new URLSearchParams({
        ...query,
        limit: String(limit),
        ...(cursor !== null && { cursor }),
      })
      const page = await expectJson<Page>(service, 200, `/deliveries?${parameters.toString()}`)
      rows.push(...page.data)
      assert.equal(page.pageInfo.hasNextPage, page.pageInfo.nextCursor !== null)
      if (page.pageInfo.nextCursor === null) return rows
      cursor = page.pageInfo.nextCursor
    }
    throw new Error('the pages do not end')
  }

  const time = (n: number): string => new Date(begin + n * hour).toISOString()
  const check = async (
    query: Record<string, string>,
    matches: (row: Row & { at: number }) => boolean,
    limits = [7, 100],
  ): Promise<void> => {
    const ids = expected.filter(matches).map(({ id }) => id)
    for (const limit of limits)
      assert.deepEqual(each(await walk(query, limit), 'id'), ids, JSON.stringify(query))
  }

  test('without filters all are there, newest first, with address and owner', async () => {
    await check({}, () => true)
    const [row] = await walk({}, 1)
    const { at: _at, ...newest } = expected[0]!
    for (const [name, value] of Object.entries(newest)) assert.equal(row![name as keyof Row], value, name)
  })

  test('each filter, alone and with others', async () => {
    const { subscriberId } = expected[0]!
    const filters: [Record<string, string>, (row: Row & { at: number }) => boolean][] = [
      ...['pending', 'delivered', 'dead'].map((status): [Record<string, string>, (row: Row) => boolean] => [
        { status },
        (row) => row.status === status,
      ]),
      [{ subscriber: subscriberId }, (row) => row.subscriberId === subscriberId],
      [{ owner: 'acme' }, (row) => row.owner === 'acme'],
      [{ owner: '' }, (row) => row.owner === null],
      [{ owner: 'nobody' }, () => false],
      [{ eventType: 'order.sent' }, (row) => row.eventType === 'order.sent'],
      [{ eventId: 'evt_15' }, (row) => row.eventId === 'evt_15'],
      [{ response: '2xx' }, (row) => row.lastStatus === 204],
      [{ response: '4xx' }, (row) => row.lastStatus === 404],
      [{ response: '5xx' }, (row) => row.lastStatus === 503],
      [{ response: 'none' }, (row) => row.lastStatus === null],
      [{ response: '3xx' }, () => false],
      [{ since: time(10) }, (row) => row.at >= begin + 10 * hour],
      [{ until: time(20) }, (row) => row.at < begin + 20 * hour],
    ]
    for (const [query, matches] of filters) await check(query, matches)
    for (const [first, one] of filters)
      for (const [second, other] of filters)
        if (Object.keys(first)[0]! < Object.keys(second)[0]!)
          await check({ ...first, ...second }, (row) => one(row) && other(row), [40])
  })

  test('a cursor belongs to its filters, and invalid values are refused', async () => {
    const page = await expectJson<Page>(service, 200, '/deliveries?limit=1&status=dead')
    const cursor = page.pageInfo.nextCursor!
    await expectJson(service, 400, `/deliveries?limit=1&status=pending&cursor=${cursor}`)
    for (const query of ['status=lost', 'response=6xx', 'since=x', 'eventType=%00'])
      await expectJson(service, 400, `/deliveries?${query}`)
    assert.equal((await service.fetch('/deliveries')).status, 401)
  })

  test('a page examines a bounded number of deliveries, and its cursor goes on', async () => {
    const { subscriberId } = expected[0]!
    await service.database.transaction(async (tx) => {
      const { event } = await tx.selectFrom('deliveries').select('event').limit(1).executeTakeFirstOrThrow()
      const more = { event, status: 'delivered', created_at: begin, finished_at: 1 } as const
      const row = deliveryRow(subscriberId, more)
      for (let step = 0; step < 12; step += 1)
        await tx
          .insertInto('deliveries')
          .values(Array.from({ length: 500 }, () => row))
          .execute()
    })
    const page = await expectJson<Page>(service, 200, '/deliveries?owner=&response=2xx')
    assert.deepEqual([page.data.length, page.pageInfo.hasNextPage], [0, true])
    await check({ owner: '', response: '2xx' }, (row) => row.owner === null && row.lastStatus === 204)
  })
})
