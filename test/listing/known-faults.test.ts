// What other list engines get wrong; each test names what goes wrong there.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { each, onEachEngine, startedService, startTestService } from '../harness/index.ts'
import { clear, insertPosts, insertProducts, post, product, readList, walk } from './seed.ts'

onEachEngine('known faults of other list engines', (engine) => {
  const service = startedService(engine)
  beforeEach(() => clear(service.database))

  test('microseconds: rows less than a millisecond apart are neither repeated nor lost', async () => {
    // A Date in the cursor repeats some of these ascending and loses others descending.
    const rows = Array.from({ length: 200 }, (_, index) => {
      const micros = index * 137
      return { id: `r${index}`, time: `2026-01-01T00:00:00.${String(micros).padStart(6, '0')}Z` }
    })
    await insertProducts(
      service.database,
      rows.map(({ id, time }) => product(id, { created_at: time })),
    )
    await insertPosts(
      service.database,
      rows.map(({ id, time }) => post(id, time)),
    )
    const expected = rows.map(({ id }) => id)
    for (const [path, key, ids] of [
      ['/products?sort=createdAt', 'id', expected],
      ['/products?sort=-createdAt', 'id', expected.toReversed()],
      ['/api/posts', '_id', expected.toReversed()],
    ] as const) {
      const pages = await walk(service, `${path}${path.includes('?') ? '&' : '?'}limit=20`)
      assert.deepEqual(
        pages.flat().map((item) => item[key]),
        ids,
      )
    }
  })

  test('SQL in any parameter is data', async () => {
    await insertProducts(service.database, [product('a')])
    const attack = encodeURIComponent(`'; drop table products; --" ) or 1=1`)
    for (const name of ['category', 'minPrice', 'inStock', 'sort', 'limit']) {
      assert.equal((await service.fetch(`/products?${name}=${attack}`)).status, 200, name)
    }
    assert.equal((await readList(service, '/products')).data.length, 1)
  })

  test('the Link header has no unescaped text of the client', async () => {
    await insertProducts(
      service.database,
      ['a', 'b'].map((id) => product(id, { category: '>; rel="next", <//evil' })),
    )
    const category = encodeURIComponent('>; rel="next", <//evil')
    const link =
      (await service.fetch(`/products?limit=1&category=${category}&x=<evil>`)).headers.get('link') ?? ''
    assert.match(link, /^<\/products\?[^<>"]*>; rel="next"$/)
    assert.doesNotMatch(link, /x=/)
  })

  test('cursors survive a restart and a rotation of the master key', async () => {
    await using home = await engine.createMigratedDatabase()
    const first = await startTestService(engine, { databaseUrl: home.url })
    await insertProducts(
      first.database,
      ['a', 'b', 'c'].map((id) => product(id)),
    )
    const { pageInfo } = await readList(first, '/products?limit=1')
    await first.close()

    const env = {
      POSTERN_SECRET: 'a-new-master-secret-of-32-bytes-or-more,test-master-secret-of-32-bytes-or-more',
    }
    const rotated = await startTestService(engine, { databaseUrl: home.url, env })
    const { data } = await readList(rotated, `/products?limit=1&cursor=${pageInfo.nextCursor}`)
    await rotated.close()
    assert.deepEqual(each(data, 'id'), ['b'])
  })
})
