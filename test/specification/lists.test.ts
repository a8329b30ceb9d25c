// The specification's rules for GET /users and /api/posts, and for all lists. GET /products and /events have files of their own.
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { beforeEach, describe, test } from 'node:test'
import { adminKey, each, onEachEngine, startedService } from '../harness/index.ts'
import { clear, insertPosts, insertUsers, post, readList, walk } from '../listing/seed.ts'

onEachEngine('specification: lists', (engine) => {
  const service = startedService(engine)
  beforeEach(() => clear(service.database))

  const ids = async (path: string, key = 'id'): Promise<unknown[]> =>
    (await readList(service, path)).data.map((item) => item[key])

  describe('GET /users (offset pagination)', () => {
    test('page: default 1; non-numeric input becomes 1; values below 1 become 1', async () => {
      await insertUsers(service.database, 3)
      for (const query of [
        '',
        '&page=',
        '&page=abc',
        '&page=0.9',
        '&page=-2.7',
        '&page=-1e9',
        '&page=0x2',
        '&page=2nd',
        '&page=0',
        '&page=-1',
      ]) {
        const { data, pagination } = await readList(service, `/users?limit=2${query}`)
        assert.equal(pagination.page, 1, query)
        assert.deepEqual(each(data, 'id'), ['u000', 'u001'])
      }
    })

    test('page and limit are coerced to numbers: a fraction is cut off, an exponent is part of a number', async () => {
      await insertUsers(service.database, 30)
      for (const [query, page, limit] of [
        ['page=2.7&limit=2.7', 2, 2],
        ['page=1.5&limit=99.9', 1, 99],
        ['page=1e1&limit=1e0', 10, 1],
        ['page=2e0&limit=1e9', 2, 100],
        ['page=1&limit=1e999', 1, 100],
        ['page=1&limit=0.5', 1, 20],
      ] as const) {
        const { pagination } = await readList(service, `/users?${query}`)
        assert.deepEqual([pagination.page, pagination.limit], [page, limit], query)
      }
    })

    test('limit: default 20; non-numeric or zero input becomes 20; clamped into 1..100', async () => {
      await insertUsers(service.database, 130)
      for (const [query, limit] of [
        ['', 20],
        ['limit=abc', 20],
        ['limit=0', 20],
        ['limit=-5', 1],
        ['limit=1', 1],
        ['limit=100', 100],
        ['limit=101', 100],
        ['limit=1000000', 100],
      ] as const) {
        const { data, pagination } = await readList(service, `/users?${query}`)
        assert.equal(pagination.limit, limit, query)
        assert.equal(data.length, limit, query)
      }
    })

    test('offset = (page - 1) * limit', async () => {
      await insertUsers(service.database, 10)
      assert.deepEqual(await ids('/users?page=1&limit=4'), ['u000', 'u001', 'u002', 'u003'])
      assert.deepEqual(await ids('/users?page=2&limit=4'), ['u004', 'u005', 'u006', 'u007'])
      assert.deepEqual(await ids('/users?page=3&limit=4'), ['u008', 'u009'])
      assert.deepEqual(await ids('/users?page=4&limit=4'), [])
    })

    test('response: data and pagination {page, limit, total, totalPages = ceil(total / limit), hasNext = page * limit < total}', async () => {
      await insertUsers(service.database, 8)
      const envelope = async (query: string): Promise<unknown> =>
        (await readList(service, `/users?${query}`)).pagination
      assert.deepEqual(await envelope('limit=3'), {
        page: 1,
        limit: 3,
        total: 8,
        totalPages: 3,
        hasNext: true,
      })
      assert.deepEqual(await envelope('limit=3&page=2'), {
        page: 2,
        limit: 3,
        total: 8,
        totalPages: 3,
        hasNext: true,
      })
      assert.deepEqual(await envelope('limit=3&page=3'), {
        page: 3,
        limit: 3,
        total: 8,
        totalPages: 3,
        hasNext: false,
      })
      assert.deepEqual(await envelope('limit=4&page=2'), {
        page: 2,
        limit: 4,
        total: 8,
        totalPages: 2,
        hasNext: false,
      })
      assert.deepEqual(await envelope('limit=3&page=9'), {
        page: 9,
        limit: 3,
        total: 8,
        totalPages: 3,
        hasNext: false,
      })
      await clear(service.database)
      assert.deepEqual(await envelope(''), { page: 1, limit: 20, total: 0, totalPages: 0, hasNext: false })
    })

    test('a page beyond all numbers is an empty page and no error', async () => {
      await insertUsers(service.database, 2)
      for (const page of ['9007199254740993', '9'.repeat(300)]) {
        const { data, pagination } = await readList(service, `/users?page=${page}&limit=100`)
        assert.deepEqual(data, [])
        assert.equal(pagination.total, 2)
        assert.equal(pagination.hasNext, false)
      }
    })

    test('an item holds the fields of the local user record', async () => {
      await insertUsers(service.database, 2)
      const { data } = await readList(service, '/users')
      assert.deepEqual(data[1], {
        id: 'u001',
        email: 'user1@example.com',
        name: 'User 1',
        provider: 'google',
        providerId: '1',
        role: 'user',
        createdAt: '2026-01-01T00:00:00.001Z',
        blockedAt: null,
        lastSeenAt: null,
      })
      assert.equal(data[0]!['email'], null)
    })
  })

  describe('GET /api/posts (compound cursor pagination)', () => {
    const times = [3, 1, 2, 2, 3, 1, 2].map((second) => `2026-01-01T00:00:0${second}.000000Z`)
    const sevenPosts = (): Promise<void> =>
      insertPosts(
        service.database,
        times.map((time, index) => post(`p${index}`, time)),
      )
    const sorted = ['p4', 'p0', 'p6', 'p3', 'p2', 'p5', 'p1']

    test('cursor: absent for the first page', async () => {
      await sevenPosts()
      assert.deepEqual(await ids('/api/posts?limit=2', '_id'), sorted.slice(0, 2))
    })

    test('limit: page size, default 20, at most 100, coerced like the others', async () => {
      await insertPosts(
        service.database,
        Array.from({ length: 120 }, (_, index) => post(`p${index}`)),
      )
      for (const [query, length] of [
        ['', 20],
        ['limit=abc', 20],
        ['limit=0', 20],
        ['limit=-1', 1],
        ['limit=55', 55],
        ['limit=101', 100],
      ] as const) {
        assert.equal((await readList(service, `/api/posts?${query}`)).data.length, length, query)
      }
    })

    test('order: createdAt descending, ties broken by _id descending', async () => {
      await sevenPosts()
      assert.deepEqual(await ids('/api/posts', '_id'), sorted)
    })

    test("the next page holds createdAt less than the cursor's, or equal and _id less", async () => {
      await sevenPosts()
      for (const limit of [1, 2, 3, 6]) {
        const pages = await walk(service, `/api/posts?limit=${limit}`)
        assert.deepEqual(each(pages.flat(), '_id'), sorted)
      }
    })

    test("the cursor is the base64 encoding of the last item's createdAt and _id", async () => {
      await insertPosts(service.database, [
        post('a', '2026-01-01T00:00:00.000137Z'),
        post('é?~>', '2026-01-01T00:00:01.000000Z'),
      ])
      const { data, pageInfo } = await readList(service, '/api/posts?limit=1')
      const content = JSON.parse(atob(pageInfo.nextCursor!)) as Record<string, unknown>
      assert.equal(content['createdAt'], data[0]!['createdAt'])
      assert.equal(content['_id'], data[0]!['_id'])
      assert.deepEqual(await ids(`/api/posts?cursor=${pageInfo.nextCursor}`, '_id'), ['a'])
    })

    test('a cursor names the time exactly as the item does, with and without microseconds', async () => {
      const fractions = ['000000', '120000', '000137', '999999', '000001']
      await insertPosts(
        service.database,
        fractions.map((fraction, index) => post(`p${index}`, `2026-10-22T09:00:00.${fraction}Z`)),
      )
      let path = '/api/posts?limit=1'
      for (const expected of ['p3', 'p1', 'p2', 'p4', 'p0']) {
        const { data, pageInfo } = await readList(service, path)
        assert.equal(data[0]!['_id'], expected)
        if (pageInfo.nextCursor === null) break
        const text = Buffer.from(pageInfo.nextCursor, 'base64').toString('utf8')
        const { createdAt, _id } = JSON.parse(text) as Record<string, unknown>
        assert.deepEqual({ createdAt, _id }, { createdAt: data[0]!['createdAt'], _id: expected })
        assert.equal(text, text.trim())
        path = `/api/posts?limit=1&cursor=${pageInfo.nextCursor}`
      }
    })

    test('pageInfo.hasNextPage is true when more items follow; pageInfo.nextCursor is null otherwise', async () => {
      await insertPosts(service.database, [post('a'), post('b')])
      const more = await readList(service, '/api/posts?limit=1')
      assert.equal(more.pageInfo.hasNextPage, true)
      assert.equal(typeof more.pageInfo.nextCursor, 'string')
      for (const limit of [2, 3]) {
        assert.deepEqual((await readList(service, `/api/posts?limit=${limit}`)).pageInfo, {
          hasNextPage: false,
          nextCursor: null,
        })
      }
    })
  })

  describe('Errors and limits', () => {
    test('non-numeric or out-of-range page or limit: no error', async () => {
      for (const path of ['/users', '/products', '/api/posts']) {
        for (const query of [
          'limit=abc&page=abc',
          'limit=-1&page=-1',
          'limit=1e99&page=1e99',
          'limit=%00',
          'limit=1&limit=2',
        ]) {
          assert.equal((await service.admin(`${path}?${query}`)).status, 200, `${path}?${query}`)
        }
      }
    })

    test('a repeated parameter counts once, with its first value', async () => {
      await insertUsers(service.database, 5)
      assert.equal((await readList(service, '/users?limit=2&limit=4')).data.length, 2)
    })
  })

  describe('who may read lists', () => {
    const production = startedService(engine, () => ({
      env: { NODE_ENV: 'production', BASE_URL: 'https://gate.example.com' },
    }))

    // Its public address is another than the one it listens on.
    const call = (path: string, init?: RequestInit): Promise<Response> =>
      fetch(`http://127.0.0.1:${(production.app.server.address() as AddressInfo).port}${path}`, init)

    test('/products and /api/posts are public', async () => {
      for (const path of ['/products', '/api/posts']) assert.equal((await call(path)).status, 200)
    })

    test('/users needs an admin session or an API key', async () => {
      assert.equal((await call('/users')).status, 401)
      assert.equal((await call('/users', { headers: { authorization: 'Bearer pk_wrong' } })).status, 401)
      const { headers, status } = await call('/users', {
        headers: { authorization: `Bearer ${adminKey}` },
      })
      assert.equal(status, 200)
      assert.equal(headers.get('cache-control'), 'no-store')
    })

    test('in demo mode they can be read without a key', async () => {
      for (const path of ['/users', '/products', '/api/posts'])
        assert.equal((await service.fetch(path)).status, 200)
    })
  })
})
