// The guide as the service renders it: every page, every link between pages, and its search.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { isForContributors } from '../../src/http/guide/markdown.ts'
import { engines, startedService } from '../harness/index.ts'

const docs = join(import.meta.dirname, '../../docs')
const pages = globSync('**/*.md', { cwd: docs })
  .filter((name) => !isForContributors(name))
  .map((name) => (name === 'README.md' ? 'contents.html' : name.replace(/md$/, 'html')))

describe('the guide', () => {
  const service = startedService(engines[0]!)
  const read = async (path: string): Promise<string> => {
    const answer = await service.fetch(`/docs/guide/${path}`)
    assert.equal(answer.status, 200, path)
    return answer.text()
  }
  const texts = new Map<string, string>()
  before(async () => {
    for (const page of pages) texts.set(page, await read(page))
  })
  const search = (query: string): Promise<string> => read(`search?q=${encodeURIComponent(query)}`)
  /** The page of the first result. */
  const first = async (query: string): Promise<string | undefined> =>
    /<ol class="results">\n<li><a href="\/docs\/guide\/([^"#]+)/.exec(await search(query))?.[1]

  test('has a page for each Markdown file, and all links and anchors between them lead somewhere', () => {
    assert.ok(pages.length > 90, `${pages.length} pages`)
    const broken: string[] = []
    for (const [page, html] of texts) {
      const main = html.slice(html.indexOf('<main'))
      for (const [, href = ''] of main.matchAll(/<a (?:rel="\w+" |class="anchor" )?href="([^"]+)"/g)) {
        if (/^(?:[a-z]+:|\/docs\/guide\/$)/.test(href)) continue
        const url = new URL(href, `http://x/docs/guide/${page}`)
        const target = url.pathname.replace('/docs/guide/', '')
        const text = texts.get(target === '' ? 'index.html' : target)
        const anchor = decodeURIComponent(url.hash.slice(1))
        if (text === undefined || (anchor !== '' && !text.includes(`id="${anchor}"`)))
          broken.push(`${page}: ${href}`)
      }
    }
    assert.deepEqual(broken, [])
  })

  test('prints no comments and no marks of Markdown, and draws every diagram', () => {
    for (const [page, answer] of texts) {
      assert.doesNotMatch(answer, /<!--/, page)
      const html = answer.replaceAll(/<pre[^]*?<\/pre>|<code>[^]*?<\/code>/g, '')
      assert.doesNotMatch(html, /&lt;!--|<!--/, page)
      assert.doesNotMatch(html, /\*\*\w|\]\(\w|^#+ /m, page)
      const drawn = html.match(/<figure class="diagram"/g)?.length ?? 0
      const source = page === 'contents.html' ? 'README.md' : page.replace(/html$/, 'md')
      const written = readFileSync(join(docs, source), 'utf8').match(/^```mermaid$/gm)?.length ?? 0
      assert.equal(drawn, written, `${page}: diagrams`)
    }
  })

  test('finds the page of a question', async () => {
    assert.match((await first('stripe'))!, /senders\/stripe\.html$/)
    assert.match((await first('retention'))!, /operating\/retention/)
    assert.match((await first('retry schedule'))!, /emitting/)
    assert.match(await search('LOG_FORMAT'), /reference\/settings\.html/)
    assert.match(await search('advisory lock'), /class="results"/)
    assert.match(await search('caddy forward'), /forward-auth/)
  })

  test('gives what it finds as JSON', async () => {
    const { data } = JSON.parse(await read('search.json?q=retry+schedule')) as { data: { path: string }[] }
    assert.ok(data.length > 3)
    for (const { path } of data.slice(0, 3)) await read(path.split('#')[0]!)
  })

  test('says when nothing is found, and shows a query as text', async () => {
    const html = await search('<script>alert(1)</script> nothinghasthis')
    assert.match(html, /No page has all of these words/)
    assert.doesNotMatch(html, /<script>/)
    assert.match(await search(''), /No page has all of these words/)
  })

  test('gives each page as Markdown, and llms.txt names them', async () => {
    const answer = await service.fetch('/docs/guide/llms.txt')
    assert.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8')
    const paths = [...(await answer.text()).matchAll(/\]\(\/docs\/guide\/([^)]+\.md)\)/g)].map(
      ([, path]) => path!,
    )
    assert.ok(paths.length > 60, `${paths.length} pages`)
    for (const path of paths) {
      const markdown = await service.fetch(`/docs/guide/${path}`)
      assert.equal(markdown.headers.get('content-type'), 'text/markdown; charset=utf-8', path)
      assert.match(await markdown.text(), /^# /, path)
    }
  })

  test('leaves out what is for contributors, and leads from a path without an ending to its page', async () => {
    for (const path of [
      'adr/README.html',
      'adr/0001-runtime.md',
      'dependencies.md',
      'dependencies.html',
      '../package.json',
    ])
      assert.equal((await service.fetch(`/docs/guide/${path}`)).status, 404, path)
    const moved = await service.fetch('/docs/guide/guides/sign-in', { redirect: 'manual' })
    assert.equal(moved.status, 301)
    assert.equal(moved.headers.get('location'), '/docs/guide/guides/sign-in.html')
  })

  test('offers its search and its start where it has no page, and a problem to programs', async () => {
    const missing = await service.fetch('/docs/guide/guides/nothing', { headers: { accept: 'text/html' } })
    assert.equal(missing.status, 404)
    const html = await missing.text()
    assert.match(html, /<h1>Page not found<\/h1>/)
    assert.match(html, /<form class="search" action="\/docs\/guide\/search">/)
    assert.match(html, /href="\/docs\/guide\/">Start of the guide/)
    const problem = await service.fetch('/docs/guide/guides/nothing')
    assert.equal(problem.status, 404)
    assert.match(problem.headers.get('content-type')!, /problem\+json/)
  })

  test('is small: a page with its style and script', async () => {
    let most = 0
    for (const path of [
      '/docs/guide/guides/senders/stripe.html',
      '/assets/docs.css',
      '/assets/guide.css',
      '/assets/docs.js',
    ]) {
      const answer = await service.fetch(path, { headers: { 'accept-encoding': 'identity' } })
      most += gzipSync(await answer.arrayBuffer()).length
    }
    assert.ok(most < 12_000, `${most} bytes`)
  })

  test('is revalidated and compressed', async () => {
    const answer = await service.fetch('/docs/guide/tutorial.html', { headers: { 'accept-encoding': 'br' } })
    assert.equal(answer.headers.get('content-encoding'), 'br')
    const tag = answer.headers.get('etag')!
    await answer.arrayBuffer()
    const again = await service.fetch('/docs/guide/tutorial.html', { headers: { 'if-none-match': tag } })
    assert.equal(again.status, 304)
  })
})
