import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { each, onEachEngine, startedService } from '../harness/index.ts'
import { clear, readList } from './seed.ts'

const aProduct = {
  id: 'p1',
  category: 'tools',
  price: 12.5,
  stock: 3,
  name: 'Saw',
  createdAt: '2026-01-31T09:30:00.000137+01:00',
}
const aPost = { _id: 'n1', title: 'News', body: 'Text', createdAt: '2026-01-31' }
const kinds = [
  {
    path: '/products',
    key: 'id',
    body: aProduct,
    shown: { ...aProduct, createdAt: '2026-01-31T08:30:00.000137Z' },
    change: { stock: 0, price: -0.5 },
  },
  {
    path: '/api/posts',
    key: '_id',
    body: aPost,
    shown: { ...aPost, createdAt: '2026-01-31T00:00:00.000Z' },
    change: { title: 'Old news' },
  },
] as const

onEachEngine('writes of products and posts', (engine) => {
  const service = startedService(engine)
  beforeEach(() => clear(service.database))

  const send = (method: string, path: string, json?: unknown): Promise<Response> =>
    service.admin(path, { method, ...(json !== undefined && { json }) })

  for (const { path, key, body, shown, change } of kinds) {
    const id = key === 'id' ? 'p1' : 'n1'

    test(`POST ${path} creates, and the list shows it; PATCH changes; DELETE deletes`, async () => {
      const created = await send('POST', path, body)
      assert.equal(created.status, 201)
      assert.deepEqual(await created.json(), shown)
      assert.deepEqual((await readList(service, path)).data, [shown])

      const changed = await send('PATCH', `${path}/${id}`, change)
      assert.equal(changed.status, 200)
      assert.deepEqual(await changed.json(), { ...shown, ...change })
      assert.deepEqual((await readList(service, path)).data, [{ ...shown, ...change }])

      const deleted = await send('DELETE', `${path}/${id}`)
      assert.equal(deleted.status, 204)
      assert.equal(await deleted.text(), '')
      assert.deepEqual((await readList(service, path)).data, [])
    })

    test(`POST ${path} generates an id and a time by default`, async () => {
      const { [key as never]: _, createdAt: __, ...rest } = body as Record<string, unknown>
      const before = Date.now()
      const first = (await (await send('POST', path, rest)).json()) as Record<string, string>
      const createdAt = Date.parse(first['createdAt']!)
      assert.ok(createdAt >= before && createdAt <= Date.now())
      const second = (await (await send('POST', path, rest)).json()) as Record<string, string>
      assert.notEqual(first[key], second[key])
    })

    test(`POST ${path} with an existing id is 409 and changes nothing`, async () => {
      await send('POST', path, body)
      const again = await send('POST', path, { ...body, ...change })
      assert.equal(again.status, 409)
      assert.equal(((await again.json()) as { code: string }).code, 'conflict')
      assert.deepEqual((await readList(service, path)).data, [shown])
    })

    test(`PATCH and DELETE of an unknown ${path} are 404`, async () => {
      for (const unknown of ['none', '%00', 'a%2Fb', '%F0%9F%98%80', "'"]) {
        assert.equal((await send('PATCH', `${path}/${unknown}`, change)).status, 404, unknown)
        assert.equal((await send('DELETE', `${path}/${unknown}`)).status, 404, unknown)
      }
    })

    test(`an empty PATCH of ${path} returns the item`, async () => {
      await send('POST', path, body)
      assert.deepEqual(await (await send('PATCH', `${path}/${id}`, {})).json(), shown)
    })

    test(`${path} refuses invalid bodies and stores nothing`, async () => {
      const wrong: unknown[] = [
        [],
        'text',
        null,
        { ...body, extra: 1 },
        { ...body, [key]: '' },
        { ...body, [key]: 7 },
        { ...body, [key]: 'x'.repeat(201) },
        { ...body, [key]: 'nul\u0000' },
        { ...body, [key]: 'half \ud800' },
        { ...body, createdAt: 'yesterday' },
        { ...body, createdAt: '2026-02-30' },
        { ...body, createdAt: '2026-01-01T00:00:00' },
        { ...body, createdAt: 0 },
        ...(path === '/products'
          ? [
              { ...body, price: '12.5' },
              { ...body, price: null },
              { ...body, stock: '3' },
              { ...body, stock: null },
              { ...body, name: 'x\u0000' },
              { ...body, name: 'x'.repeat(301) },
              { id: 'x' },
            ]
          : [{ ...body, title: 1 }, { ...body, body: '\u0000' }, { _id: 'x' }]),
      ]
      for (const json of wrong) {
        const response = await send('POST', path, json)
        const text = await response.text()
        assert.equal(response.status, 400, JSON.stringify(json))
        assert.equal((JSON.parse(text) as { code: string }).code, 'invalid-body', text)
      }
      await send('POST', path, body)
      for (const json of [
        { extra: 1 },
        { [key]: 'other' },
        { createdAt: '2026-13-01' },
        { createdAt: null },
      ]) {
        assert.equal((await send('PATCH', `${path}/${id}`, json)).status, 400, JSON.stringify(json))
      }
      assert.deepEqual((await readList(service, path)).data, [shown])
    })

    test(`changing ${path} needs an admin`, async () => {
      const headers = { 'content-type': 'application/json' }
      for (const [method, at] of [
        ['POST', path],
        ['PATCH', `${path}/${id}`],
        ['DELETE', `${path}/${id}`],
      ] as const) {
        const response = await service.fetch(at, {
          method,
          ...(method !== 'DELETE' && { headers, body: JSON.stringify(body) }),
        })
        assert.equal(response.status, 401, `${method} ${at}`)
      }
    })
  }

  test('price and stock accept any finite number and return it unchanged', async () => {
    const numbers = [0, -0.5, 2.5, 1e-9, 0.1 + 0.2, 2 ** 31, 2 ** 53, 1e300, -1e300]
    for (const [index, number] of numbers.entries()) {
      const made = await send('POST', '/products', {
        ...aProduct,
        id: `p${index}`,
        price: number,
        stock: number,
      })
      assert.equal(made.status, 201, String(number))
      const { price, stock } = (await made.json()) as Record<string, unknown>
      assert.deepEqual([price, stock], [number, number])
    }
    assert.equal((await send('PATCH', '/products/p0', { price: 0.25, stock: 0.25 })).status, 200)
    const { data } = await readList(service, '/products?sort=price')
    assert.deepEqual(
      each(data, 'stock'),
      [0.25, ...numbers.slice(1)].toSorted((a, b) => a - b),
    )
    const inStock = (await readList(service, '/products?inStock=true')).data
    assert.ok(inStock.every(({ stock }) => (stock as number) > 0))
    assert.equal(inStock.length, 7)
  })

  test('an unknown field is refused by name', async () => {
    await send('POST', '/products', aProduct)
    const answer = await send('PATCH', `/products/${aProduct.id}`, { colour: 'red' })
    assert.equal(answer.status, 400)
    const { detail } = (await answer.json()) as { detail: string }
    assert.equal(detail, '/colour is no field of this call.')
  })

  test('an infinite price or stock is refused', async () => {
    for (const field of ['"price":12.5', '"stock":3']) {
      const body = JSON.stringify(aProduct).replace(field, field.replace(/[\d.]+$/, '1e999'))
      const headers = { 'content-type': 'application/json' }
      assert.equal((await service.admin('/products', { method: 'POST', headers, body })).status, 400, body)
    }
  })

  test('texts of any script are stored unchanged, also as ids', async () => {
    const id = 'é/😀?#%"\\ \u2028'
    await send('POST', '/products', { ...aProduct, id, name: '\uffff<script>\u0001' })
    const { data } = await readList(service, '/products')
    assert.equal(data[0]!['id'], id)
    assert.equal(data[0]!['name'], '\uffff<script>\u0001')
    assert.equal((await send('PATCH', `/products/${encodeURIComponent(id)}`, { name: 'n' })).status, 200)
  })
})
