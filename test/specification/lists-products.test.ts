// The specification's rules for GET /products, in its order.
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { onEachEngine, startedService } from '../harness/index.ts'
import { clear, insertProducts, product, readList } from '../listing/seed.ts'

onEachEngine('specification: GET /products', (engine) => {
  const service = startedService(engine)
  beforeEach(() => clear(service.database))

  const ids = async (path: string): Promise<unknown[]> =>
    (await readList(service, path)).data.map((item) => item['id'])

  describe('GET /products (filtering and sorting)', () => {
    const three = [
      product('a', {
        category: 'books',
        price: 10,
        stock: 0,
        name: 'Zebra',
        created_at: '2026-01-03T00:00:00.000000Z',
      }),
      product('b', {
        category: 'books',
        price: 20,
        stock: 4,
        name: 'Apple',
        created_at: '2026-01-01T00:00:00.000000Z',
      }),
      product('c', {
        category: 'tools',
        price: 10,
        stock: -1,
        name: 'Mango',
        created_at: '2026-01-02T00:00:00.000000Z',
      }),
      product('d', {
        category: 'Books',
        price: 9.99,
        stock: 1,
        name: 'apple',
        created_at: '2026-01-04T00:00:00.000000Z',
      }),
    ]
    beforeEach(() => insertProducts(service.database, three))

    test('unknown query parameters are ignored', async () => {
      assert.deepEqual(await ids('/products?color=red&maxPrice=1&price=10&stock=4&page=7&id=a'), [
        'b',
        'c',
        'a',
        'd',
      ])
    })

    test('category keeps items whose category equals the value', async () => {
      assert.deepEqual(await ids('/products?category=books'), ['b', 'a'])
      assert.deepEqual(await ids('/products?category=Books'), ['d'])
      assert.deepEqual(await ids('/products?category=book'), [])
      assert.deepEqual(await ids('/products?category=boo%25'), [])
      assert.deepEqual(await ids('/products?category='), [])
    })

    test('minPrice keeps items whose price is greater than or equal to the value', async () => {
      assert.deepEqual(await ids('/products?minPrice=10'), ['b', 'c', 'a'])
      assert.deepEqual(await ids('/products?minPrice=10.01'), ['b'])
      assert.deepEqual(await ids('/products?minPrice=1e1'), ['b', 'c', 'a'])
      assert.deepEqual(await ids('/products?minPrice=21'), [])
      assert.deepEqual(await ids('/products?minPrice=-1'), ['b', 'c', 'a', 'd'])
    })

    test('a minPrice that is no number has no effect', async () => {
      for (const text of ['', 'abc', '0x15', '15;', '1,5', 'NaN', 'Infinity', '%00']) {
        assert.deepEqual(await ids(`/products?minPrice=${text}`), ['b', 'c', 'a', 'd'], text)
      }
    })

    test('inStock: only the exact value true has an effect; it keeps items whose stock is greater than 0', async () => {
      assert.deepEqual(await ids('/products?inStock=true'), ['b', 'd'])
      for (const text of ['', '1', 'TRUE', 'True', 'yes', 'false', '0', 'true%20']) {
        assert.deepEqual(await ids(`/products?inStock=${text}`), ['b', 'c', 'a', 'd'], text)
      }
    })

    test('filters combine, with each other and with a sort', async () => {
      assert.deepEqual(await ids('/products?category=books&minPrice=15&inStock=true'), ['b'])
      assert.deepEqual(await ids('/products?category=books&sort=price'), ['a', 'b'])
    })

    test('sort: a field name is ascending, a leading - descending', async () => {
      assert.deepEqual(await ids('/products?sort=name'), ['b', 'c', 'a', 'd'])
      assert.deepEqual(await ids('/products?sort=-name'), ['d', 'a', 'c', 'b'])
      assert.deepEqual(await ids('/products?sort=createdAt'), ['b', 'c', 'a', 'd'])
      assert.deepEqual(await ids('/products?sort=-createdAt'), ['d', 'a', 'c', 'b'])
    })

    test('sort: earlier keys take priority; later ones break ties', async () => {
      assert.deepEqual(await ids('/products?sort=price,name'), ['d', 'c', 'a', 'b'])
      assert.deepEqual(await ids('/products?sort=price,-name'), ['d', 'a', 'c', 'b'])
      assert.deepEqual(await ids('/products?sort=-price,name'), ['b', 'c', 'a', 'd'])
      assert.deepEqual(await ids('/products?sort=-price,createdAt'), ['b', 'c', 'a', 'd'])
    })

    test('sort: keys naming any other field are dropped', async () => {
      assert.deepEqual(
        await ids('/products?sort=stock,-price,id,constructor'),
        ['b', 'c', 'a', 'd'].toSorted((x, y) => order(x) - order(y)),
      )
      for (const sort of [
        'stock',
        'id',
        '-category',
        'PRICE',
        '--price',
        '-',
        ',,',
        '',
        'created_at',
        'price;drop',
      ]) {
        assert.deepEqual(await ids(`/products?sort=${sort}`), ['b', 'c', 'a', 'd'], sort)
      }
    })
    // By price descending, then the key, which goes the way of the key before it.
    const order = (id: unknown): number => ['b', 'c', 'a', 'd'].indexOf(String(id))

    test('when sort is absent, the order is createdAt ascending', async () => {
      assert.deepEqual(await ids('/products'), ['b', 'c', 'a', 'd'])
    })

    test('ties are broken by the primary key', async () => {
      await clear(service.database)
      await insertProducts(
        service.database,
        ['m', 'B', 'é', 'a', '😀', '\uffee'].map((id) => product(id)),
      )
      // The order of UTF-8 bytes, which is not that of JavaScript.
      assert.deepEqual(await ids('/products'), ['B', 'a', 'm', 'é', '\uffee', '😀'])
      assert.deepEqual(await ids('/products?sort=price'), ['B', 'a', 'm', 'é', '\uffee', '😀'])
    })

    test('response: object with data, the array of matching items, and pageInfo to go on', async () => {
      const body = await readList(service, '/products?limit=1')
      assert.deepEqual(Object.keys(body), ['data', 'pageInfo'])
      assert.deepEqual(body.data, [
        {
          id: 'b',
          category: 'books',
          price: 20,
          stock: 4,
          name: 'Apple',
          createdAt: '2026-01-01T00:00:00.000Z',
        },
      ])
      assert.equal(body.pageInfo.hasNextPage, true)
      assert.deepEqual(await ids(`/products?cursor=${body.pageInfo.nextCursor}`), ['c', 'a', 'd'])
    })

    test('the response is bounded: limit default 100, maximum 100', async () => {
      await insertProducts(
        service.database,
        Array.from({ length: 120 }, (_, index) => product(`x${index}`)),
      )
      for (const [query, length] of [
        ['', 100],
        ['?limit=1000', 100],
        ['?limit=0', 100],
        ['?limit=-1', 1],
        ['?limit=7', 7],
      ] as const) {
        assert.equal((await readList(service, `/products${query}`)).data.length, length, query)
      }
    })

    test('the cursor belongs to the filters and the sort that it was made with', async () => {
      const { pageInfo } = await readList(service, '/products?limit=1&category=books&minPrice=1&sort=-price')
      const with_ = (query: string): Promise<Response> =>
        service.fetch(`/products?limit=1&cursor=${pageInfo.nextCursor}&${query}`)
      assert.equal((await with_('category=books&minPrice=1&sort=-price')).status, 200)
      // What means the same is the same query.
      assert.equal(
        (await with_('minPrice=1.0&category=books&sort=-price,-price,stock&inStock=no&foo=1')).status,
        200,
      )
      for (const other of [
        '',
        'category=books&minPrice=1',
        'category=books&sort=-price',
        'category=tools&minPrice=1&sort=-price',
        'category=books&minPrice=2&sort=-price',
        'category=books&minPrice=1&sort=price',
        'category=books&minPrice=1&sort=-price,name',
        'category=books&minPrice=1&sort=-price&inStock=true',
      ]) {
        const response = await with_(other)
        assert.equal(response.status, 400, other)
        assert.equal(
          ((await response.json()) as { source: { parameter: string } }).source.parameter,
          'cursor',
        )
      }
    })
  })
})
