// What holds of every list, whatever it shows. A list that is added is added to the table and to nothing else.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEachEngine } from '../harness/engines.ts'
import { groupsService } from './groups.ts'
import { readList, walk } from './seed.ts'

const rows = 123
const lists = [
  { path: '/users', paging: 'offset', key: 'id', fallback: 20, queries: [''] },
  {
    path: '/products',
    paging: 'cursor',
    key: 'id',
    fallback: 100,
    queries: [
      '',
      'sort=price',
      'sort=-price',
      'sort=-price,name',
      'sort=name,-createdAt,price',
      'minPrice=3&sort=-createdAt',
    ],
  },
  { path: '/api/posts', paging: 'cursor', key: '_id', fallback: 20, queries: [''] },
  {
    path: '/measurements',
    paging: 'cursor',
    key: 'id',
    fallback: 20,
    queries: ['', 'sort=real,-at,text'],
  },
  { path: '/numbered', paging: 'offset', key: 'id', fallback: 20, queries: [''] },
  { path: '/followed', paging: 'keyset', key: 'id', fallback: 20, queries: [''] },
  { path: '/events', paging: 'keyset', key: 'id', fallback: 20, queries: [''] },
] as const

const numbers: [text: string, expected: number | 'default'][] = [
  ['', 'default'],
  ['abc', 'default'],
  ['0', 'default'],
  ['-0', 'default'],
  ['0x10', 'default'],
  ['2,7', 'default'],
  ['0.7', 'default'],
  ['2.7', 2],
  ['5.5', 5],
  ['1e1', 10],
  ['1e9', 100],
  ['1e999', 100],
  ['-2.7', 1],
  ['5;drop table products', 'default'],
  ['NaN', 'default'],
  ['Infinity', 'default'],
  ['null', 'default'],
  ['%00', 'default'],
  ['%ff', 'default'],
  ['٣', 'default'],
  ['-1', 1],
  ['-999999999999999999999', 1],
  ['1', 1],
  ['07', 7],
  ['100', 100],
  ['101', 100],
  ['9007199254740993', 100],
  ['99999999999999999999999999999', 100],
  ['3&limit=50', 3],
  ['.5', 'default'],
  ['5.', 5],
  ['50e-1', 5],
  ['1e-9', 'default'],
  ['-1e999', 1],
  ['1e99999999999999999999', 100],
  ['5%0a', 'default'],
  ['%207', 7],
  ['9'.repeat(400), 100],
  ['9'.repeat(401), 'default'],
  [`${'0'.repeat(14_500)}E`, 'default'],
]

interface Document {
  paths: Record<
    string,
    {
      get: {
        parameters: { name: string; schema: object }[]
        responses: Record<string, { content: Record<string, { schema: { properties: Shown } }> }>
      }
    }
  >
}
interface Shown {
  data: { items: { properties: object; required?: string[] } }
}

onEachEngine('every list', (engine) => {
  const opened = groupsService(engine, rows)
  let document: Document
  before(async () => {
    document = (await (await opened.service.fetch('/openapi.json')).json()) as Document
  })

  for (const { path, paging, key, fallback, queries } of lists) {
    test(`${path} is bounded for all parameters`, async () => {
      assert.equal((await readList(opened.service, path)).data.length, Math.min(fallback, rows))
      for (const [text, expected] of numbers) {
        const { data } = await readList(opened.service, `${path}?limit=${text}`)
        assert.equal(
          data.length,
          Math.min(expected === 'default' ? fallback : expected, rows),
          `limit=${text}`,
        )
      }
    })

    test(`${path} ignores unknown parameters of any number and length`, async () => {
      const many = Array.from({ length: 1_000 }, (_, index) => `x${index}=1`).join('&')
      for (const query of [
        'unknown=1',
        'limit[]=5',
        '__proto__=1',
        'constructor=2',
        '&&=&',
        '%',
        '%zz=%zz',
        many,
        `x=${'y'.repeat(8_000)}`,
      ]) {
        const { data } = await readList(opened.service, `${path}?${query}`)
        assert.equal(data.length, fallback, query.slice(0, 40))
      }
    })

    test(`${path} answers HEAD as GET, without the body`, async () => {
      const [head, get] = [
        await opened.service.admin(path, { method: 'HEAD' }),
        await opened.service.admin(path),
      ]
      assert.equal(head.status, 200)
      assert.equal(await head.text(), '')
      for (const name of ['content-length', 'content-type', 'link'])
        assert.equal(head.headers.get(name), get.headers.get(name))
    })

    test(`${path} gets 304 for a matching entity tag, and 200 for others`, async () => {
      const ask = (query: string, tag: string): Promise<Response> =>
        opened.service.admin(`${path}?${query}`, { headers: { 'if-none-match': tag } })
      const first = await opened.service.admin(`${path}?limit=5`)
      const tag = first.headers.get('etag')!
      assert.match(tag, /^W\/"[\w-]{20}"$/)
      const known = await ask('limit=5', tag)
      assert.deepEqual([known.status, known.headers.get('etag'), await known.text()], [304, tag, ''])
      assert.equal((await ask('limit=5', '"another", W/"one.two"')).status, 200)
      assert.equal((await ask('limit=5', '*')).status, 304)
    })

    test(`${path} is compressed for clients that accept it`, async () => {
      const plain = await opened.service.admin(`${path}?limit=100`, {
        headers: { 'accept-encoding': 'identity' },
      })
      const text = await plain.text()
      for (const coding of ['br', 'gzip']) {
        const coded = await opened.service.admin(`${path}?limit=100`, {
          headers: { 'accept-encoding': coding },
        })
        assert.equal(coded.headers.get('content-encoding'), coding)
        assert.match(coded.headers.get('vary')!, /^accept-encoding(, accept)?$/)
        assert.equal(coded.headers.get('etag'), plain.headers.get('etag'), 'weak: one name for both')
        assert.equal(await coded.text(), text)
      }
    })

    test(`${path} documents its limit with bounds and default`, async () => {
      const { schema } = document.paths[path]!.get.parameters.find(({ name }) => name === 'limit')!
      assert.deepEqual(schema, {
        anyOf: [{ type: 'integer', minimum: 1, maximum: 100 }, { type: 'string' }],
        default: fallback,
      })
    })

    test(`${path} shows exactly the documented fields`, async () => {
      const { schema } = document.paths[path]!.get.responses['200']!.content['application/json']!
      const { properties, required } = schema.properties.data.items
      for (const item of (await readList(opened.service, path)).data) {
        const expected = Object.keys(properties).filter(
          (name) => !required || required.includes(name) || name in item,
        )
        assert.deepEqual(Object.keys(item), expected)
      }
    })

    test(`${path} links to its next page (RFC 8288)`, async () => {
      const seen: unknown[] = []
      let next: string | undefined = `${path}?limit=50`
      while (next !== undefined) {
        const response = await opened.service.admin(next)
        const { data } = (await response.json()) as { data: Record<string, unknown>[] }
        seen.push(...data.map((item) => item[key]))
        next = /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
      }
      assert.equal(seen.length, rows)
      assert.equal(new Set(seen).size, rows)
    })

    if (paging !== 'cursor') continue

    for (const query of queries) {
      test(`a walk over ${path}?${query} visits each item once, in the order of one large page`, async () => {
        const big = await walk(opened.service, `${path}?${query}&limit=100`)
        // declared-model.test.ts walks in small steps over every order.
        for (const limit of [query === '' ? 1 : 7, 60]) {
          const pages = await walk(opened.service, `${path}?${query}&limit=${limit}`)
          assert.deepEqual(pages.flat(), big.flat())
          // Only the last page may be short, and none is empty.
          assert.ok(pages.slice(0, -1).every(({ length }) => length === limit) && pages.at(-1)!.length > 0)
        }
        const keys = big.flat().map((item) => item[key])
        assert.equal(new Set(keys).size, keys.length)
      })
    }

    test(`${path} accepts another limit within a walk`, async () => {
      const all = (await walk(opened.service, `${path}?limit=100`)).flat()
      const first = await readList(opened.service, `${path}?limit=5`)
      const second = await readList(opened.service, `${path}?limit=9&cursor=${first.pageInfo.nextCursor}`)
      assert.deepEqual([...first.data, ...second.data], all.slice(0, 14))
    })

    test(`${path} refuses a cursor that it did not issue`, async () => {
      const { pageInfo } = await readList(opened.service, `${path}?limit=3`)
      const cursor = pageInfo.nextCursor!
      const swapped = cursor.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
      const forged = Buffer.from(
        JSON.stringify({ createdAt: '2026-01-01T00:00:00.000000Z', [key]: 'r050' }),
      ).toString('base64')
      for (const bad of [
        '',
        '0',
        '1',
        'abc',
        'null',
        swapped,
        cursor.slice(1),
        `${cursor}A`,
        `${cursor}%00`,
        forged,
        'A'.repeat(7_000),
        '%f0%9f%92%a5',
      ]) {
        const response = await opened.service.fetch(
          `${path}?limit=3&cursor=${encodeURIComponent(decodeURIComponent(bad))}`,
        )
        assert.equal(response.status, 400, bad.slice(0, 40))
        assert.equal(response.headers.get('content-type'), 'application/problem+json; charset=utf-8')
        const problem = (await response.json()) as { code: string; source: { parameter: string } }
        assert.equal(problem.code, 'invalid-cursor')
        assert.equal(problem.source.parameter, 'cursor')
      }
    })
  }

  // A client that has lost the cursor may send an empty one. If that were the first page, it would walk in a circle.
  test('lists of other modules reject an empty cursor, too', async () => {
    const json = { url: 'http://127.0.0.1:9/' }
    const made = await opened.service.admin('/subscribers', { method: 'POST', json })
    const { id } = (await made.json()) as { id: string }
    const others = ['/events', '/subscribers', `/subscribers/${id}/deliveries`, '/audit']
    for (const path of ['/products', '/api/posts', ...others]) {
      assert.equal((await opened.service.admin(path)).status, 200, path)
      for (const query of ['cursor=', 'cursor', 'limit=5&cursor=']) {
        const response = await opened.service.admin(`${path}?${query}`)
        assert.equal(response.status, 400, `${path}?${query}`)
        const { code, source } = (await response.json()) as { code: string; source: { parameter: string } }
        assert.deepEqual([code, source.parameter], ['invalid-cursor', 'cursor'])
      }
    }
  })
})
