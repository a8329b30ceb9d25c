// What the OpenAPI document says of the headers of answers, held against the service. The harness does so with every answer
// that tests get by its fetch (test/harness/conformance.ts); here each kind is asked for, with the limits on.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { list } from '../../src/index.ts'
import type { ApiDocument } from '../harness/conformance.ts'
import { engines, startedService, startTestService } from '../harness/index.ts'
import { stillMinute } from '../harness/minute.ts'

const products = list({
  path: '/shelf',
  table: 'products',
  fields: { id: { type: 'text' }, price: { type: 'number' } },
  key: 'id',
  access: 'public',
  exports: true,
})

describe('headers of answers', () => {
  let document: ApiDocument
  const service = startedService(engines[0]!, () => ({
    env: { RATE_LIMIT: 'on' },
    config: { listing: { lists: [products] } },
    parts: { clock: stillMinute() },
  }))
  before(async () => {
    document = (await (await service.fetch('/openapi.json')).json()) as ApiDocument
    for (const id of ['a', 'b', 'c'])
      await service.admin('/products', {
        method: 'POST',
        json: { id, category: 'x', name: id, price: 1, stock: 1 },
      })
  })

  /** What the document says of one kind of answer: the headers that it always has, and those that it may have. */
  const described = (
    path: string,
    method: string,
    status: string,
  ): { always: string[]; perhaps: string[] } => {
    const entries = Object.entries(document.paths[path]![method]!.responses![status]!.headers ?? {})
    const isAlways = ([, { $ref }]: [string, { $ref: string }]): boolean =>
      document.components!.headers![$ref.split('/').at(-1)!]!.required === true
    const names = (some: typeof entries): string[] => some.map(([name]) => name).toSorted()
    return {
      always: names(entries.filter(isAlways)),
      perhaps: names(entries.filter((entry) => !isAlways(entry))),
    }
  }
  const limits = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']

  test('lists: always ETag, Cache-Control and Vary; Link and Content-Encoding if applicable', async () => {
    for (const path of ['/users', '/products', '/api/posts', '/events', '/shelf'])
      for (const status of ['200', '304'])
        assert.deepEqual(
          described(path, 'get', status),
          {
            always: ['Cache-Control', 'ETag', ...limits, 'Vary'],
            perhaps: ['Content-Encoding', 'Link', ...(path === '/events' ? [] : ['Postern-Data-Age'])],
          },
          path,
        )
    const page = await service.fetch('/products?limit=2')
    assert.match(page.headers.get('link')!, /rel="next"/)
    const known = { 'if-none-match': page.headers.get('etag')! }
    assert.equal((await service.fetch('/products?limit=2', { headers: known })).status, 304)
    assert.equal((await service.fetch('/products', { method: 'HEAD' })).status, 200)
  })

  test('exports: a file name', async () => {
    for (const path of ['/shelf.csv', '/shelf.ndjson']) {
      const { always } = described(path, 'get', '200')
      assert.deepEqual(always, ['Cache-Control', 'Content-Disposition', ...limits, 'Vary'])
      assert.equal(
        (await service.fetch(path)).headers.get('content-disposition')?.startsWith('attachment'),
        true,
      )
    }
  })

  test('redirects: Location; sign-in: no-store', async () => {
    assert.deepEqual(described('/auth/{provider}', 'get', '303'), {
      always: ['Cache-Control', 'Location', ...limits],
      perhaps: ['Set-Cookie'],
    })
    assert.equal((await service.fetch('/auth/demo')).status, 303)
    assert.equal((await service.fetch('/dashboard')).headers.get('location'), '/login')
    assert.equal((await service.fetch('/login')).status, 200)
    assert.equal((await service.fetch('/.well-known/jwks.json')).status, 200)
  })

  test('problems: WWW-Authenticate, Retry-After, Allow', async () => {
    assert.deepEqual(described('/subscribers', 'get', '401').always, [
      'Cache-Control',
      ...limits,
      'WWW-Authenticate',
    ])
    assert.deepEqual(described('/subscribers', 'get', '429').always, [
      'Cache-Control',
      ...limits,
      'Retry-After',
    ])
    assert.deepEqual(described('/subscribers', 'get', '503').always, [
      'Cache-Control',
      ...limits,
      'Retry-After',
    ])
    assert.ok(described('/subscribers', 'get', 'default').perhaps.includes('Allow'))
    assert.equal((await service.fetch('/subscribers')).status, 401)
    const wrong = await service.fetch('/subscribers', { method: 'PUT' })
    assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'GET, HEAD, POST'])
    // Thirty in a minute are allowed.
    let refused: Response | undefined
    for (let call = 0; call < 40 && refused?.status !== 429; call += 1)
      refused = await service.fetch('/shelf.csv')
    assert.equal(refused!.status, 429)
    assert.match(refused!.headers.get('retry-after')!, /^[1-9]\d*$/)
  })

  test('without rate limits there are no RateLimit headers', async () => {
    await using without = await startTestService(engines[0]!)
    const text = await (await without.fetch('/openapi.json')).text()
    const { paths } = JSON.parse(text) as ApiDocument
    assert.ok(!JSON.stringify(paths).includes('RateLimit'))
    assert.ok(!text.includes('x-sends'))
  })
})
