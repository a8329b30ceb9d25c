import { join } from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../access/principal.ts'
import type { App } from '../app.ts'
import { EncodedBodies } from '../caching/tagged-answer.ts'
import { StaticFolder } from '../pages/built-pages.ts'
import {
  Contents,
  type Entry,
  guideFolder,
  isForContributors,
  plainText,
  type RenderedPage,
  renderMarkdown,
  slugOf,
} from './markdown.ts'
import { docsPage, escapeHtml } from '../pages/html.ts'
import { marked, type Token, type Tokens } from 'marked'

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
    if (name === 'llms.txt') return guide.send(reply, name, 'text/plain; charset=utf-8')
    if (guide.has(name)) return guide.send(reply, name, 'text/html; charset=utf-8')
    if (guide.has(`${name}.html`)) return reply.redirect(`${home}${name}.html`, 301)
    const file = name === 'contents.md' ? 'README.md' : name
    if (guide.files.has(file) && !isForContributors(name)) return guide.files.send(reply, file)
    if (!acceptsPage(request)) return reply.callNotFound()
    return reply.code(404).type('text/html; charset=utf-8').send(guide.missing())
  })
}

/** The pages of one service. Each is rendered at its first request. */
class Guide {
  readonly files = new StaticFolder(guideFolder, 'no-cache')
  private readonly basePath: string
  private readonly bodies = new EncodedBodies()
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

  send(reply: FastifyReply, name: string, type: string): Promise<FastifyReply> {
    return this.bodies.send(reply, name, {
      type,
      caching: 'no-cache',
      make: () => Buffer.from(this.render(name)),
    })
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

interface Frame {
  basePath: string
  contents: Contents
  /** The page that is shown, if it is one of the navigation. */
  current?: string
  query?: string
}

const hrefOf = (basePath: string, page: string): string =>
  `${basePath}/docs/guide/${page === 'index' ? '' : `${page === 'README' ? 'contents' : page}.html`}`

/** A page of the guide, with its navigation, its sections and its neighbors. */
function guidePage(frame: Frame, { title, html, headings }: RenderedPage): string {
  const sections = headings.filter(({ level }) => level === 2 || level === 3)
  const links = sections.map(
    ({ level, id, text }) => `<li class="level-${level}"><a href="#${id}">${escapeHtml(text)}</a>`,
  )
  const outline =
    sections.length < 2
      ? ''
      : `<nav class="outline" aria-label="On this page"><p>On this page</p><ul>\n${links.join('\n')}\n</ul></nav>`
  return document(frame, title, `<article>${html}${neighbors(frame)}</article>${outline}`)
}

/** The answer to an address that has no page. */
function missingPage(frame: Frame): string {
  const { basePath } = frame
  return document(
    frame,
    'Page not found',
    `<article><h1>Page not found</h1>
<p>The guide has no page at this address. It may have been renamed.
<form class="search" action="${basePath}/docs/guide/search"><input type="search" name="q" aria-label="Words" maxlength="100" required><button>Search the guide</button></form>
<p><a href="${basePath}/docs/guide/">Start of the guide</a> · <a href="${basePath}/docs/guide/contents.html">Table of contents</a></article>`,
  )
}

/** The answer to a search. */
function resultsPage(frame: Frame & { query: string }, results: readonly SearchResult[]): string {
  const { basePath, query } = frame
  const items = results.map(
    ({ title, section, path, excerpt }) =>
      `<li><a href="${basePath}/docs/guide/${path}">${escapeHtml(title)}${section === '' ? '' : ` › ${escapeHtml(section)}`}</a><p>${escapeHtml(excerpt)}</p>`,
  )
  const body =
    items.length > 0
      ? `<ol class="results">\n${items.join('\n')}\n</ol>`
      : `<p>No page has all of these words. Try fewer or shorter words, or browse the <a href="${basePath}/docs/guide/contents.html">table of contents</a>.</p>`
  return document(
    frame,
    `Search: ${query}`,
    `<article><h1>Search: ${escapeHtml(query)}</h1>${body}</article>`,
  )
}

function document(frame: Frame, title: string, main: string): string {
  const { basePath, query } = frame
  return docsPage({
    basePath,
    title: `${escapeHtml(title)} · Guide`,
    part: 'guide',
    side: navigation(frame),
    main,
    ...(query === undefined ? {} : { query }),
  })
}

function navigation({ basePath, contents, current }: Frame): string {
  const item = (entry: Entry): string => {
    const { page, title, below } = entry
    const here = page === current ? ' aria-current="page"' : ''
    const link = `<a href="${hrefOf(basePath, page)}"${here}>${escapeHtml(title)}</a>`
    const isOpen = page === current || below.some((one) => one.page === current)
    return `<li>${link}${isOpen && below.length > 0 ? `<ul>${below.map(item).join('\n')}</ul>` : ''}`
  }
  const groups = contents.groups.map(
    ({ title, entries }) => `<p>${escapeHtml(title)}</p><ul>\n${entries.map(item).join('\n')}\n</ul>`,
  )
  // Narrow windows show the summary, wide ones the list: see guide.css.
  return `<details class="menu"><summary>All pages</summary><nav aria-label="Pages">${groups.join('\n')}</nav></details>
<nav class="side" aria-label="Pages">${groups.join('\n')}</nav>`
}

function neighbors({ basePath, contents: { order }, current }: Frame): string {
  const at = order.findIndex(({ page }) => page === current)
  if (at < 0) return ''
  const link = (entry: Entry | undefined, rel: 'prev' | 'next', label: string): string =>
    entry === undefined
      ? ''
      : `<a rel="${rel}" href="${hrefOf(basePath, entry.page)}"><small>${label}</small> ${escapeHtml(entry.title)}</a>`
  return `<nav class="neighbors" aria-label="Neighboring pages">${link(order[at - 1], 'prev', 'Previous page')}${link(order[at + 1], 'next', 'Next page')}</nav>`
}

/** The list of pages for language models: https://llmstxt.org. */
function llmsText({ basePath, contents }: Pick<Frame, 'basePath' | 'contents'>): string {
  const line = (indent: string, { title, page }: Entry): string =>
    `${indent}- [${title}](${basePath}/docs/guide/${page}.md)`
  const lines = [
    '# Postern',
    '',
    '> Sign-in, webhooks and lists for your product, self-hosted.',
    ...contents.groups.flatMap(({ title, entries }) => [
      '',
      `## ${title}`,
      '',
      ...entries.flatMap((entry) => [line('', entry), ...entry.below.map((one) => line('  ', one))]),
    ]),
  ]
  return `${lines.join('\n')}\n`
}

/** Characters and words of a query that count. */
const longestQuery = 100
const mostWords = 6
const mostResults = 20
/** Characters of a result's excerpt. */
const excerptLength = 180

interface SearchResult {
  /** The title of the page. */
  title: string
  /** The heading of the section; empty for the beginning of the page. */
  section: string
  /** The path below the guide's, with the section's anchor. */
  path: string
  excerpt: string
}

interface Section {
  page: string
  title: string
  heading: string
  id: string
  text: string
  /** Lower case, for matching. */
  lowerTitle: string
  lowerHeading: string
  lowerText: string
}

/** Searches all sections of the guide for all words of a query. Words may be beginnings of words. */
class GuideSearch {
  private readonly contents: Contents
  private sections: readonly Section[] | undefined

  constructor(contents: Contents) {
    this.contents = contents
  }

  /** The best sections first, at most twenty. An empty query finds nothing. */
  find(query: string): SearchResult[] {
    const words = query.slice(0, longestQuery).toLowerCase().split(/\s+/).filter(Boolean).slice(0, mostWords)
    if (words.length === 0) return []
    this.sections ??= this.index()
    const found: { section: Section; score: number }[] = []
    for (const section of this.sections) {
      let score = 0
      for (const word of words) {
        const one = Math.max(...formsOf(word).map((form) => scoreOf(section, form)))
        if (one === 0) {
          score = 0
          break
        }
        score += one
      }
      if (score > 0) {
        const weight = seldomRead.test(section.page) ? 0.5 : 1
        found.push({ section, score: weight * (score + phraseScore(section, words)) })
      }
    }
    return found
      .toSorted((a, b) => b.score - a.score)
      .slice(0, mostResults)
      .map(({ section }) => ({
        title: section.title,
        section: section.id === '' ? '' : section.heading,
        path: `${section.page}.html${section.id === '' ? '' : `#${section.id}`}`,
        excerpt: excerptOf(section, words),
      }))
  }

  private index(): Section[] {
    return [...this.contents.pages].flatMap((page) =>
      page === 'README' ? [] : sectionsOf(page, this.contents.read(page)),
    )
  }
}

const isWordStart = (text: string, at: number): boolean => at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1]!)

/** 0 if the word is not in the section. Titles count more than text, beginnings of words more than middles, and short titles most. */
function scoreOf({ lowerTitle, lowerHeading, lowerText }: Section, word: string): number {
  for (const [text, weight] of [
    [lowerTitle, 12],
    [lowerHeading, 10],
  ] as const) {
    const at = text.indexOf(word)
    if (at >= 0) return (isWordStart(text, at) ? weight * 2 : weight) + (10 * word.length) / text.length
  }
  const at = lowerText.indexOf(word)
  return at < 0 ? 0 : isWordStart(lowerText, at) ? 4 : 2
}

/** Pages that name many subjects and explain few. */
const seldomRead = /^(?:security\/|comparison$)/

/** A word, and the same in the other number: retry and retries, secrets and secret. */
function formsOf(word: string): string[] {
  if (word.length < 4) return [word]
  if (word.endsWith('ies')) return [word, `${word.slice(0, -3)}y`]
  if (word.endsWith('y')) return [word, `${word.slice(0, -1)}ies`]
  return word.endsWith('s') ? [word, word.slice(0, -1)] : [word]
}

/** Words that stand beside each other count more. */
function phraseScore({ lowerTitle, lowerHeading, lowerText }: Section, words: readonly string[]): number {
  if (words.length < 2) return 0
  const phrase = words.join(' ')
  if (lowerTitle.includes(phrase) || lowerHeading.includes(phrase)) return 20
  return lowerText.includes(phrase) ? 8 : 0
}

function excerptOf({ text, lowerText }: Section, words: readonly string[]): string {
  const first = Math.min(...words.map((word) => lowerText.indexOf(word)).filter((at) => at >= 0))
  const begin = Number.isFinite(first) ? Math.max(0, first - 60) : 0
  const cut = text.slice(begin, begin + excerptLength)
  return `${begin > 0 ? '…' : ''}${cut}${begin + excerptLength < text.length ? '…' : ''}`
}

function sectionsOf(page: string, text: string): Section[] {
  const taken = new Map<string, number>()
  const sections: { heading: string; id: string; text: string[] }[] = []
  for (const token of marked.lexer(text)) {
    if (token.type === 'heading') {
      const heading = plainText((token as Tokens.Heading).tokens)
      const id = slugOf(heading, taken)
      sections.push({ heading, id: sections.length === 0 ? '' : id, text: [] })
    } else sections.at(-1)?.text.push(textOf(token))
  }
  const title = sections[0]?.heading ?? page
  return sections.map(({ heading, id, text: parts }) => {
    const joined = parts.join(' ').replaceAll(/\s+/g, ' ').trim()
    return {
      page,
      title,
      heading,
      id,
      text: joined,
      lowerTitle: id === '' ? title.toLowerCase() : '',
      lowerHeading: heading.toLowerCase(),
      lowerText: joined.toLowerCase(),
    }
  })
}

/** The text of a block: paragraphs, list items, table cells and code. */
function textOf(token: Token): string {
  if (token.type === 'list')
    return (token as Tokens.List).items.map((item) => item.tokens.map(textOf).join(' ')).join(' ')
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table
    return [header, ...rows].flatMap((row) => row.map((cell) => plainText(cell.tokens))).join(' ')
  }
  if (token.type === 'html' || token.type === 'space') return ''
  return plainText([token])
}
