import { join } from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../access/principal.ts'
import type { App } from '../app.ts'
import { acceptedCoding, encodeOnce } from '../caching/content-coding.ts'
import { entityTag, matches } from '../caching/entity-tag.ts'
import { StaticFolder } from '../pages/static-folder.ts'
import { Contents, guideFolder, isForContributors } from './contents.ts'
import { renderMarkdown } from './markdown.ts'
import { guidePage, llmsText, missingPage, resultsPage } from './page.ts'
import { GuideSearch, type SearchResult } from './search.ts'

/**
 * Serves the guide at /docs/guide: rendered from its Markdown at the first request for a page. Each page is also there as Markdown,
 * and llms.txt lists them.
 * @param access who may read it
 */
export function serveGuide(app: App, access: Access): void {
  const { basePath } = app
  const home = `${basePath}/docs/guide/`
  const options = { config: { access }, schema: { hide: true } } as const
  const guide = new Guide(basePath)
  app.get('/docs/guide', options, async (_request, reply) => reply.redirect(home, 301))
  app.get<{ Querystring: { q?: string } }>('/docs/guide/search', options, async ({ query }, reply) =>
    reply.type('text/html; charset=utf-8').send(guide.results(query.q ?? '')),
  )
  app.get<{ Querystring: { q?: string } }>('/docs/guide/search.json', options, ({ query }) => ({
    data: guide.find(query.q ?? ''),
  }))
  app.get<{ Params: { '*': string } }>('/docs/guide/*', options, (request, reply) => {
    const { '*': path } = request.params
    const name = path === '' ? 'index.html' : path
    if (name === 'llms.txt') return guide.send(request, reply, name, 'text/plain; charset=utf-8')
    if (guide.has(name)) return guide.send(request, reply, name, 'text/html; charset=utf-8')
    if (guide.has(`${name}.html`)) return reply.redirect(`${home}${name}.html`, 301)
    const file = name === 'contents.md' ? 'README.md' : name
    if (guide.files.has(file) && !isForContributors(name)) return guide.files.send(request, reply, file)
    if (!acceptsPage(request)) return reply.callNotFound()
    return reply.code(404).type('text/html; charset=utf-8').send(guide.missing())
  })
}

/** The pages of one service. Each is rendered and compressed at its first request and then cached, as are the files beside them. */
class Guide {
  readonly files = new StaticFolder(guideFolder, { isImmutable: () => false })
  private readonly basePath: string
  private readonly rendered = new Map<string, Promise<{ body: Buffer; tag: string }>>()
  private loaded: { contents: Contents; search: GuideSearch } | undefined

  constructor(basePath: string) {
    this.basePath = basePath
  }

  has(name: string): boolean {
    const file = `${sourceOf(name)}.md`
    return name.endsWith('.html') && this.files.has(file) && !isForContributors(file)
  }

  find(query: string): SearchResult[] {
    return this.load().search.find(query)
  }

  results(query: string): string {
    const { basePath } = this
    const { contents } = this.load()
    return resultsPage({ basePath, contents, query: query.slice(0, 100) }, this.find(query))
  }

  missing(): string {
    const { basePath } = this
    return missingPage({ basePath, contents: this.load().contents })
  }

  async send(
    { headers }: FastifyRequest,
    reply: FastifyReply,
    name: string,
    type: string,
  ): Promise<FastifyReply> {
    const coding = acceptedCoding(headers['accept-encoding'])
    const key = `${coding} ${name}`
    let page = this.rendered.get(key)
    if (!page) {
      const body = Buffer.from(this.render(name))
      page = encodeOnce(body, coding).then((encoded) => ({ body: encoded, tag: entityTag(body) }))
      this.rendered.set(key, page)
    }
    const { body, tag } = await page
    reply.header('cache-control', 'no-cache').header('vary', 'accept-encoding').header('etag', tag)
    if (matches(headers['if-none-match'], tag)) return reply.code(304).send()
    if (coding !== 'identity') reply.header('content-encoding', coding)
    return reply.type(type).send(body)
  }

  private render(name: string): string {
    const { contents } = this.load()
    const { basePath } = this
    if (name === 'llms.txt') return llmsText({ basePath, contents })
    const current = sourceOf(name)
    return guidePage(
      { basePath, contents, current },
      renderMarkdown(contents.read(current), current, guideFolder!),
    )
  }

  private load(): { contents: Contents; search: GuideSearch } {
    if (!this.loaded) {
      const contents = new Contents(guideFolder!)
      this.loaded = { contents, search: new GuideSearch(contents) }
    }
    return this.loaded
  }
}

const acceptsPage = ({ headers }: FastifyRequest): boolean => headers.accept?.includes('text/html') === true

/** The Markdown file, without `.md`, that a page comes from. */
function sourceOf(name: string): string {
  const page = name.slice(0, -'.html'.length)
  return page === 'contents' ? 'README' : join(page)
}
