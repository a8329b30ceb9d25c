// A page as CSV or as lines of JSON, by the header Accept: the same rows, the same bounds, and the links of other pages.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { list } from '../../src/index.ts'
import { onEachEngine } from '../harness/engines.ts'
import { insertMeasurements, measurements, tablesOf } from './declared.ts'
import { readList } from './seed.ts'
import { listService } from './service.ts'

const lists = [
  list({ ...measurements, path: '/rows', order: ['id'], pages: ['cursor', 'offset'], exports: true }),
]

onEachEngine('formats of a page', (engine) => {
  const { service } = listService(engine, lists, tablesOf(engine))
  before(() => insertMeasurements(service.database, 30))
  const get = (path: string, accept: string, more: Record<string, string> = {}) =>
    service.fetch(path, { headers: { accept, ...more } })

  test('the best format of Accept is sent; without one, JSON', async () => {
    for (const [accept, type] of [
      ['text/csv', 'text/csv; charset=utf-8'],
      ['application/x-ndjson', 'application/x-ndjson; charset=utf-8'],
      ['application/json, text/csv', 'application/json; charset=utf-8'],
      ['application/json;q=0.5, text/csv', 'text/csv; charset=utf-8'],
      ['text/csv;q=0.1, */*', 'application/json; charset=utf-8'],
      ['text/csv;q=x', 'application/json; charset=utf-8'],
      ['text/csv;q=0', 'application/json; charset=utf-8'],
      ['text/csv;q=0.2, application/x-ndjson;q=0.3', 'application/x-ndjson; charset=utf-8'],
      ['text/xml', 'application/json; charset=utf-8'],
    ] as const) {
      const response = await get('/rows?limit=2', accept)
      assert.equal(response.headers.get('content-type'), type, accept)
      assert.match(response.headers.get('vary')!, /accept(?!-)/i)
    }
    assert.match((await get('/products', 'text/csv')).headers.get('content-type')!, /json/, 'as specified')
  })

  test('a page of lines has the items of the page of JSON, and its link leads on', async () => {
    const { data } = await readList(service, '/rows?limit=100')
    const found: unknown[] = []
    let next: string | undefined = '/rows?limit=7'
    while (next !== undefined) {
      const response = await get(next, 'application/x-ndjson')
      found.push(
        ...(await response.text())
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown),
      )
      next = /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
    }
    assert.deepEqual(found, data)
    const cut = await (await get('/rows?limit=100000', 'application/x-ndjson')).text()
    assert.equal(cut.trim().split('\n').length, 30)
  })

  test('CSV: a mark of the byte order, a mark of null, as in the export', async () => {
    const answer = await get('/rows?limit=100&fields=id,small,text&bom=1&null=NULL', 'text/csv')
    const page = Buffer.from(await answer.arrayBuffer()).toString()
    const whole = await (await service.fetch('/rows.csv?fields=id,small,text&bom=1&null=NULL')).arrayBuffer()
    const bytes = Buffer.from(whole)
    assert.deepEqual([...bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf])
    assert.equal(bytes.toString(), page)
    assert.match(page, /,NULL/)
    assert.match(page, /,"",/, 'the empty text is another cell')
    const plain = await (await get('/rows?limit=100&fields=id,small,text', 'text/csv')).text()
    assert.equal(plain, page.replace(/^\ufeff/, '').replaceAll('NULL', ''))
    for (const query of [
      'null==1%2B1',
      'null=,',
      'null=%22',
      'null=%0a',
      `null=${'x'.repeat(21)}`,
      'bom=true',
    ])
      for (const path of ['/rows', '/rows.csv', '/users.csv'])
        assert.equal((await service.admin(`${path}?${query}`)).status, 400, `${path}?${query}`)
  })

  test('each format has its own entity tag', async () => {
    const [csv, json] = [await get('/rows?limit=3', 'text/csv'), await get('/rows?limit=3', '*/*')]
    const tag = csv.headers.get('etag')!
    assert.notEqual(tag, json.headers.get('etag'))
    assert.equal((await get('/rows?limit=3', 'text/csv', { 'if-none-match': tag })).status, 304)
    assert.equal((await get('/rows?limit=3', '*/*', { 'if-none-match': tag })).status, 200)
  })
})
