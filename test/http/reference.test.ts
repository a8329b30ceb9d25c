import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { request } from 'node:http'
import { engines, startedService } from '../harness/index.ts'

/** Compressed bytes of the greatest page, its styles and its scripts together. */
const most = 60_000

describe('the pages of the API reference', () => {
  let start: string
  /** The pages of the areas, by their paths. */
  const pages = new Map<string, string>()
  const service = startedService(engines[0]!)
  before(async () => {
    start = await (await service.fetch('/docs')).text()
    for (const [, path] of start.matchAll(/<h3><a href="(\/docs\/[^"#]+)"/g)) {
      assert.ok(path)
      const answer = await service.fetch(path)
      assert.equal(answer.status, 200, path)
      pages.set(path, await answer.text())
    }
  })

  test('describe every call of the document once, and the start lists it', async () => {
    const document = (await (await service.fetch('/openapi.json')).json()) as {
      paths: Record<string, Record<string, { summary: string }>>
    }
    const articles = [...pages.values()].flatMap((html) =>
      html.matchAll(/<article id="([^"]+)" data-method="(\w+)" data-path="([^"]+)"/g).toArray(),
    )
    const calls = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method} ${path}`),
    )
    assert.deepEqual(articles.map(([, , method, path]) => `${method} ${path}`).toSorted(), calls.toSorted())
    for (const [, id = ''] of articles) assert.ok(start.includes(`<li id="${id}">`), id)
    for (const [path, html] of [['/docs', start] as const, ...pages]) {
      const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
      assert.equal(new Set(ids).size, ids.length, `ids of ${path} are unique`)
    }
  })

  test('link to targets that exist', () => {
    const all = new Map([['/docs', start], ...pages])
    const missing: string[] = []
    for (const [path, html] of all)
      for (const [, href] of html.matchAll(/href="([^"]*#[^"]+)"/g)) {
        const { pathname, hash } = new URL(href!, `http://x${path}`)
        if (all.get(pathname)?.includes(` id="${hash.slice(1)}"`) !== true) missing.push(`${path}: ${href}`)
      }
    assert.deepEqual(missing, [])
  })

  test('have examples in curl and TypeScript, and of responses', () => {
    const entities: Record<string, string> = {
      '&quot;': '"',
      '&#39;': "'",
      '&#x27;': "'",
      '&gt;': '>',
      '&lt;': '<',
      '&amp;': '&',
    }
    const text = (path: string): string =>
      pages
        .get(path)!
        .replaceAll(/<[^>]+>/g, '')
        .replaceAll(/&[a-z#0-9]+;/g, (entity) => entities[entity] ?? entity)
    assert.ok(text('/docs/endpoints').includes(`curl "${service.baseUrl}/subscribers/$ID"`))
    const out = text('/docs/webhooks-out')
    assert.match(out, /curl -X POST [^]*\/events/)
    assert.match(out, /postern\.post\(/)
    assert.match(text('/docs/events'), /"nextCursor": /)
  })

  test('an unknown area is not found', async () => {
    assert.equal((await service.fetch('/docs/nothing')).status, 404)
  })

  test('are small', async () => {
    const size = async (path: string): Promise<number> => {
      const response = await service.fetch(path, { headers: { 'accept-encoding': 'identity' } })
      return gzipSync(Buffer.from(await response.arrayBuffer())).length
    }
    const assets = ['docs.css', 'docs.js', 'reference.css', 'reference.js']
    const shared = await Promise.all(assets.map((name) => size(`/assets/${name}`)))
    const sizes = await Promise.all(['/docs', ...pages.keys()].map(size))
    const total = Math.max(...sizes) + shared.reduce((sum, one) => sum + one, 0)
    assert.ok(total < most, `${total} bytes: ${sizes.join(', ')}`)
  })

  test('are compressed for those who accept it', async () => {
    const bytes = await new Promise<Buffer>((resolve, reject) => {
      request(`${service.baseUrl}/docs`, { headers: { 'accept-encoding': 'gzip' } }, (response) => {
        assert.equal(response.headers['content-encoding'], 'gzip')
        assert.equal(response.headers.vary, 'accept-encoding')
        void response.toArray().then((pieces) => resolve(Buffer.concat(pieces as Buffer[])), reject)
      })
        .on('error', reject)
        .end()
    })
    assert.equal(gunzipSync(bytes).toString(), start)
  })
})
