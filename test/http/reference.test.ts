import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { request } from 'node:http'
import { engines } from '../harness/engines.ts'
import { startTestService } from '../harness/service.ts'
import { started } from '../harness/started.ts'

/** Bytes of the compressed page, style and script together. */
const most = 60_000

describe('the page of the API reference', () => {
  let html: string
  const service = started(() => startTestService(engines[0]!))
  before(async () => {
    html = await (await service.fetch('/docs')).text()
  })

  test('describes every call of the document once', async () => {
    const document = (await (await service.fetch('/openapi.json')).json()) as {
      paths: Record<string, Record<string, { summary: string }>>
    }
    const shown = [...html.matchAll(/<article id="([^"]+)" data-method="(\w+)" data-path="([^"]+)"/g)]
    const calls = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method} ${path}`),
    )
    assert.deepEqual(shown.map(([, , method, path]) => `${method} ${path}`).toSorted(), calls.toSorted())
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    assert.equal(new Set(ids).size, ids.length, 'ids are unique')
  })

  test('all links within the page have a target', () => {
    const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
    const missing = [...html.matchAll(/href="#([^"]+)"/g)].filter(([, id]) => !ids.has(id))
    assert.deepEqual(missing, [])
  })

  test('has a command for each call, with the public address', () => {
    assert.match(html, new RegExp(`curl &quot;${service.baseUrl}/subscribers/\\$ID&quot;`))
    assert.match(html, /-d &#39;\{&quot;type&quot;:&quot;order.paid&quot;,&quot;data&quot;:\{\}\}&#39;/)
  })

  test('is small', async () => {
    const sizes = await Promise.all(
      ['/docs', '/assets/reference.css', '/assets/reference.js'].map(async (path) => {
        const response = await service.fetch(path, { headers: { 'accept-encoding': 'identity' } })
        return gzipSync(Buffer.from(await response.arrayBuffer())).length
      }),
    )
    const total = sizes.reduce((sum, size) => sum + size, 0)
    assert.ok(total < most, `${total} bytes: ${sizes.join(', ')}`)
  })

  test('is compressed for those who accept it', async () => {
    const bytes = await new Promise<Buffer>((resolve, reject) => {
      request(`${service.baseUrl}/docs`, { headers: { 'accept-encoding': 'gzip' } }, (response) => {
        assert.equal(response.headers['content-encoding'], 'gzip')
        assert.equal(response.headers.vary, 'accept-encoding')
        void response.toArray().then((pieces) => resolve(Buffer.concat(pieces as Buffer[])), reject)
      })
        .on('error', reject)
        .end()
    })
    assert.equal(gunzipSync(bytes).toString(), html)
  })
})
