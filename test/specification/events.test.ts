// GET /events (cursor pagination), rule by rule, in the order of the specification.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { adminKey, onEachEngine, startedService, startTestService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { postWebhook } from '../receiving/harness.ts'

type Page = AnswerTo<'GET /events'>

const total = 105

onEachEngine('specification: GET /events', (engine) => {
  const service = startedService(engine)
  before(async () => {
    for (let index = 0; index < total; index += 1)
      await postWebhook(service, { id: `event-${index}`, type: 'seeded' })
  })

  const list = async (query = ''): Promise<Page> => {
    const response = await service.fetch(`/events${query}`)
    assert.equal(response.status, 200, query)
    return (await response.json()) as Page
  }

  const limits: [query: string, length: number, why: string][] = [
    ['', 20, 'the default'],
    ['?limit=', 20, 'empty is non-numeric'],
    ['?limit=abc', 20, 'non-numeric'],
    ['?limit=0', 20, 'zero'],
    ['?limit=5', 5, 'a number'],
    ['?limit=2.7', 2, 'a fraction is cut off'],
    ['?limit=1e1', 10, 'an exponent is part of a number'],
    ['?limit=1e9', 100, 'a great one'],
    ['?limit=0x10', 20, 'no decimal number'],
    ['?limit=100', 100, 'the maximum'],
    ['?limit=101', 100, 'above the maximum'],
    ['?limit=999999999999999999999', 100, 'far above the maximum'],
    ['?limit=-5', 1, 'below 1'],
    ['?limit=5&limit=7', 5, 'the first of two'],
  ]
  for (const [query, length, why] of limits) {
    test(`limit: "${query}" gives ${length} items (${why})`, async () => {
      assert.equal((await list(query)).data.length, length)
    })
  }

  test('cursor: only items whose id is greater are returned', async () => {
    const [first, second] = (await list('?limit=2')).data
    const page = await list(`?cursor=${first!.id}&limit=1`)
    assert.deepEqual(page.data[0], second)
    assert.ok((await list(`?cursor=${second!.id}`)).data.every(({ id }) => id > second!.id))
  })

  test('cursor: 0 is the start', async () => {
    assert.deepEqual(await list('?cursor=0'), await list())
  })

  test('items are ordered by id ascending', async () => {
    const ids = (await list('?limit=100')).data.map(({ id }) => id)
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    )
  })

  test('when more than limit come, nextCursor is the id of the last item; otherwise it is null', async () => {
    const first = await list('?limit=100')
    assert.equal(first.nextCursor, first.data.at(-1)!.id)
    const rest = await list(`?limit=100&cursor=${first.nextCursor}`)
    assert.equal(rest.data.length, total - 100)
    assert.equal(rest.nextCursor, null)
    const exactly = await list(`?limit=${total - 100}&cursor=${first.nextCursor}`)
    assert.equal(exactly.data.length, total - 100)
    assert.equal(exactly.nextCursor, null, 'a full page with nothing behind it has no next')
  })

  test('beyond the end there is nothing, and no next page', async () => {
    assert.deepEqual(await list(`?cursor=${Number.MAX_SAFE_INTEGER}`), { data: [], nextCursor: null })
  })

  test('any non-negative integer is a cursor, however great', async () => {
    for (const cursor of [
      '9007199254740991',
      '9007199254740992',
      '9223372036854775807',
      '9223372036854775808',
      '99999999999999999999999',
      '9'.repeat(400),
    ]) {
      assert.deepEqual(await list(`?cursor=${cursor}`), { data: [], nextCursor: null }, cursor)
    }
    const [first] = (await list()).data
    assert.deepEqual(await list(`?cursor=000${first!.id}`), await list(`?cursor=${first!.id}`))
    assert.deepEqual(await list('?cursor=00'), await list())
  })

  test('following nextCursor returns every event once', async () => {
    const seen: string[] = []
    for (let cursor: number | null = 0; cursor !== null;) {
      const page: Page = await list(`?limit=7&cursor=${cursor}`)
      seen.push(...page.data.map(({ eventId }) => eventId))
      cursor = page.nextCursor
    }
    assert.deepEqual(
      seen,
      Array.from({ length: total }, (_, index) => `event-${index}`),
    )
  })

  test('a cursor that is no non-negative integer is 400 and names the parameter', async () => {
    for (const cursor of [
      '',
      '-1',
      'abc',
      '1.5',
      '1e3',
      '0x10',
      '%201',
      '1;drop',
      '+5',
      '5.0',
      '٣',
      'null',
      '%00',
    ]) {
      const response = await service.fetch(`/events?cursor=${cursor}`)
      assert.equal(response.status, 400, `cursor=${cursor}`)
      assert.match(response.headers.get('content-type') ?? '', /^application\/problem\+json/)
      const problem = (await response.json()) as { code: string; source: { parameter: string } }
      assert.equal(problem.code, 'invalid-cursor')
      assert.equal(problem.source.parameter, 'cursor')
    }
  })

  test('unknown parameters are ignored', async () => {
    assert.deepEqual(await list('?page=3&sort=-id&category=books'), await list())
  })

  test('an item is {id, eventId, type, direction, source, status, createdAt}', async () => {
    const { data } = await list('?limit=1')
    const { createdAt, id, ...item } = data[0] as unknown as Record<string, unknown>
    assert.deepEqual(item, {
      eventId: 'event-0',
      type: 'seeded',
      direction: 'received',
      source: 'provider',
      // No handler takes it.
      status: 'unhandled',
    })
    assert.ok(Number.isSafeInteger(id))
    assert.equal(new Date(createdAt as string).toISOString(), createdAt)
  })

  test('an admin reads it in production, others do not', async () => {
    const closed = await startTestService(engine, {
      env: { NODE_ENV: 'production', BASE_URL: 'http://localhost' },
    })
    try {
      // Its public address is another than the one that it listens on here.
      const status = async (url: string, headers = {}) =>
        (await closed.app.inject({ url, headers })).statusCode
      assert.equal(await status('/events'), 401)
      assert.equal(await status('/events/1'), 401)
      assert.equal(await status('/events', { authorization: `Bearer ${adminKey}` }), 200)
    } finally {
      await closed.close()
    }
  })
})
