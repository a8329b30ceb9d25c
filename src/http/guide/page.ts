import { docsPage } from '../pages/docs-page.ts'
import { escapeHtml } from '../pages/html.ts'
import type { Contents, Entry } from './contents.ts'
import type { RenderedPage } from './markdown.ts'
import type { SearchResult } from './search.ts'

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
export function guidePage(frame: Frame, { title, html, headings }: RenderedPage): string {
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
export function missingPage(frame: Frame): string {
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
export function resultsPage(frame: Frame & { query: string }, results: readonly SearchResult[]): string {
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
export function llmsText({ basePath, contents }: Pick<Frame, 'basePath' | 'contents'>): string {
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
