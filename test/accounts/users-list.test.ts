// Finding users: search, filters, orders and exports of GET /users.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { fields, onEachEngine, startedService, startTestService } from '#test/harness/index.ts'
import type { AnswerTo } from '#test/harness/answers.ts'
import { usersList } from '../../src/listing/resources/users.ts'

type Body = AnswerTo<'GET /users'>

const idOf = (index: number): string => `01900000-0000-7000-8000-${String(index).padStart(12, '0')}`
const day = 86_400_000
const start = Date.parse('2026-01-01T00:00:00Z')

/** The listed rows: name, provider, role, blocked, days after `start` of the last use. */
const people = [
  ['Ada Lovelace', 'acme', 'user', false, 5],
  ['ada lovelace', 'other', 'user', true, 1],
  ['Bob', 'acme', 'admin', false, 3],
  ['Boss', 'acme', 'user', false, 2],
  ["Rock'n%_Roll", 'other', 'user', false, null],
] as const

onEachEngine('the users that are found', (engine) => {
  const service = startedService(engine, () => ({ env: { ADMIN_IDENTITIES: 'acme:p3, none:p1' } }))
  before(async () => {
    const users = people.map(([name, provider, role, blocked, seen], index) => ({
      id: idOf(index),
      email: `${name.split(' ')[0]!.toUpperCase()}.${index}@Example.com`,
      name,
      provider,
      provider_id: `p${index}`,
      role,
      blocked_at: blocked ? start : null,
      created_at: start + index,
      last_seen_at: seen === null ? 0 : start + seen * day,
    }))
    await service.database.transaction(async (tx) => {
      await tx.insertInto('users').values(users).execute()
      const identities = users.map(({ id, provider, provider_id }) => ({
        provider,
        provider_id,
        user_id: id,
        email: null,
        email_verified: 0,
        name: null,
        created_at: start,
        last_used_at: start,
      }))
      await tx.insertInto('identities').values(identities).execute()
    })
  })

  async function read(query: string): Promise<Body> {
    const response = await service.admin(`/users${query}`)
    assert.equal(response.status, 200, query)
    return (await response.json()) as Body
  }
  const found = async (query: string): Promise<number[]> =>
    (await read(query)).data.map(({ id }) => Number(id.slice(-12)))

  test('by the begin of the e-mail address, the name or the id, in upper or lower case', async () => {
    assert.deepEqual(await found('?q=ada'), [0, 1])
    assert.deepEqual(await found('?q=ADA%20love'), [0, 1])
    assert.deepEqual(await found('?q=ada.1@EXAMPLE'), [1])
    assert.deepEqual(await found(`?q=${idOf(2)}`), [2])
    assert.deepEqual(await found('?q=01900000-0000'), [0, 1, 2, 3, 4])
    assert.deepEqual(await found('?q=lovelace'), [], 'not within a text')
    assert.deepEqual(await found('?q=bo'), [2, 3])
    assert.deepEqual(await found("?q=rock'n%25_r"), [4])
    assert.deepEqual(await found('?q=%25'), [], 'no wildcard')
    assert.deepEqual(await found('?q=%00'), [])
    assert.deepEqual(await found('?q=%20'), [0, 1, 2, 3, 4], 'an empty search has no effect')
  })

  test('by an identity', async () => {
    assert.deepEqual(await found('?q=acme:p0'), [0])
    assert.deepEqual(await found('?q=acme:p1'), [])
    assert.deepEqual(await found('?q=p0'), [])
  })

  test('by the role that is shown, also that of ADMIN_IDENTITIES', async () => {
    assert.deepEqual(await found('?role=admin'), [2, 3])
    assert.deepEqual(await found('?role=user'), [0, 1, 4])
    assert.deepEqual(await found('?role=owner'), [0, 1, 2, 3, 4])
    for (const { role } of (await read('?role=admin')).data) assert.equal(role, 'admin')
  })

  test('by block, provider and last use, also together', async () => {
    assert.deepEqual(await found('?blocked=true'), [1])
    assert.deepEqual(await found('?blocked=false'), [0, 2, 3, 4])
    assert.deepEqual(await found('?blocked=maybe'), [0, 1, 2, 3, 4])
    assert.deepEqual(await found('?provider=other'), [1, 4])
    assert.deepEqual(await found('?provider=other&blocked=true'), [1])
    assert.deepEqual(await found('?provider=acme&blocked=true&role=user'), [])
    assert.deepEqual(await found('?q=ada&blocked=true'), [1])
    assert.deepEqual(await found('?lastSeenSince=2026-01-04T00:00:00Z'), [0, 2])
    assert.deepEqual(await found('?lastSeenUntil=2026-01-03T00:00:00Z'), [1, 4])
    assert.deepEqual(await found('?role=admin&lastSeenSince=2026-01-04T00:00:00Z'), [2])
  })

  test('in the order of creation, unless another one is asked for', async () => {
    assert.deepEqual(await found(''), [0, 1, 2, 3, 4])
    assert.deepEqual(await found('?sort=-id&limit=2'), [4, 3])
    assert.deepEqual(await found('?sort=-id&limit=2&page=3'), [0])
    assert.deepEqual(await found('?sort=-lastSeenAt'), [0, 2, 3, 1, 4])
    assert.deepEqual(await found('?sort=email'), [0, 1, 2, 3, 4], 'no order that is not declared')
  })

  test('a page of a filtered list has its total; the items have block and last use', async () => {
    const { data, pagination } = await read('?blocked=false&limit=2&page=2')
    assert.deepEqual(pagination, { page: 2, limit: 2, total: 4, totalPages: 2, hasNext: false })
    assert.deepEqual(fields(data, 'blockedAt', 'lastSeenAt'), [
      [null, '2026-01-03T00:00:00.000Z'],
      [null, null],
    ])
    assert.equal((await read('?blocked=true')).data[0]!.blockedAt, '2026-01-01T00:00:00.000Z')
  })

  test('a CSV has the same rows, with the role that is shown and without formulas', async () => {
    const answer = await service.admin('/users.csv?role=admin&sort=-id')
    assert.match(answer.headers.get('content-type')!, /^text\/csv/)
    assert.match(answer.headers.get('content-disposition')!, /users\.csv/)
    const [head, ...lines] = (await answer.text()).trim().split('\r\n')
    assert.equal(head, 'id,email,name,provider,providerId,role,createdAt,blockedAt,lastSeenAt')
    assert.deepEqual(
      lines.map((line) => line.split(',').slice(2, 6).join(',')),
      ['Boss,acme,p3,admin', 'Bob,acme,p2,admin'],
    )
    const never = (await (await service.admin('/users.csv?q=rock')).text()).trim().split('\r\n')[1]!
    assert.ok(never.endsWith(','), 'a user who was never seen has no time')
  })

  test('in demo mode the list is open, also with filters; a production list is not', async () => {
    assert.equal((await service.fetch('/users?q=ada')).status, 200)
    await using closed = await startTestService(engine, {
      env: { NODE_ENV: 'production', BASE_URL: 'https://gate.example.com' },
    })
    for (const url of ['/users?q=ada', '/users.csv'])
      assert.equal((await closed.app.inject({ url })).statusCode, 401)
  })
})

onEachEngine('a filtered list with more rows than are counted', (engine) => {
  const { countAtMost } = usersList([])
  test('says so, and can be walked to its end', async () => {
    await using service = await startTestService(engine)
    const count = countAtMost! + 150
    for (let first = 0; first < count; first += 1_000) {
      const rows = Array.from({ length: Math.min(1_000, count - first) }, (_, n) => ({
        id: idOf(first + n),
        email: null,
        name: null,
        provider: 'acme',
        provider_id: String(first + n),
        role: 'user' as const,
        blocked_at: null,
        created_at: start,
      }))
      await service.database.transaction((tx) => tx.insertInto('users').values(rows).execute())
    }
    const page = async (number: number): Promise<Body> =>
      (await (await service.admin(`/users?provider=acme&limit=100&page=${number}`)).json()) as Body
    assert.deepEqual((await page(1)).pagination, {
      page: 1,
      limit: 100,
      total: countAtMost,
      totalPages: countAtMost! / 100,
      hasNext: true,
      estimated: true,
    })
    const last = countAtMost! / 100
    assert.equal((await page(last)).pagination.hasNext, true)
    assert.equal((await page(last + 1)).pagination.hasNext, true)
    const end = await page(last + 2)
    assert.deepEqual([end.data.length, end.pagination.hasNext], [50, false])
    assert.equal(end.pagination.total, count)
    assert.deepEqual((await page(last + 3)).data, [])
  })
})
