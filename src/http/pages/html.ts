// Common parts of the pages. The Content-Security-Policy forbids inline scripts and styles.
import { fill } from './language/languages.ts'
import type { PageView } from './page-view.ts'

/** What the pages of one installation have in common. */
export interface Site {
  basePath: string
  /** The name of the service. Escaped. */
  name: string
  /** The same as it was given. */
  plainName: string
  /** The path of the logo. */
  logo: string
  /** Whether `/assets/brand.css` has colours. */
  colored: boolean
  /** Addresses below each page. Not escaped. */
  links: { terms?: string | undefined; privacy?: string | undefined; support?: string | undefined }
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a text for elements and quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character]!)
}

interface HtmlDocument {
  /** Not escaped, like all parts. */
  title: string
  body: string
  /** `basePath` of the application. */
  basePath: string
  /** The language tag. Default: `en`. */
  language?: string
  /** The address of the icon. Default: that of the service. */
  icon?: string
  /** Elements of the head besides the title. */
  head: string
}

function htmlDocument(page: HtmlDocument): string {
  const { title, body, basePath, head } = page
  const { icon = `${basePath}/assets/icon.svg`, language = 'en' } = page
  return `<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="${icon}">
${head}
${body}
</html>
`
}

/**
 * A page for one purpose, with the brand of the installation above its title. It is not indexed and loads no script.
 * @param title escaped, as is `body`
 */
export function narrowPage(
  view: Pick<PageView, 'site' | 'language' | 'words'>,
  title: string,
  body: string,
): string {
  const { site, language } = view
  const { basePath, name, logo } = site
  return htmlDocument({
    basePath,
    language,
    icon: logo,
    title: `${title} · ${name}`,
    head: `<meta name="robots" content="noindex">\n<link rel="stylesheet" href="${basePath}/assets/pages.css">\n${brandLink(site)}`,
    body: `<main>\n<p class="brand"><img src="${logo}" alt="">${name}</p>\n<h1>${title}</h1>\n${body}\n</main>${footer(view)}`,
  })
}

function footer({ site: { links }, words }: Pick<PageView, 'site' | 'words'>): string {
  const { terms, privacy, support } = words.footer
  const shown = [
    [links.terms, terms],
    [links.privacy, privacy],
    [links.support, support],
  ].flatMap(([href, label]) => (href === undefined ? [] : [`<a href="${escapeHtml(href)}">${label}</a>`]))
  return shown.length === 0 ? '' : `\n<footer>${shown.join(' ')}</footer>`
}

/**
 * The reference ID of a failed request, in two groups that are copied as one, and the contact of the operator.
 * @param referenceId of the request that failed; default: this one
 */
export function supportLine(
  { site: { links }, words, ...view }: PageView,
  referenceId = view.referenceId,
): string {
  const [first, second] = [referenceId.slice(0, 4), referenceId.slice(4)]
  const id = `<code class="reference"><span>${first}</span><span>${second}</span></code>`
  const contact =
    links.support === undefined
      ? ''
      : ` · <a href="${escapeHtml(links.support)}">${words.common.contactSupport}</a>`
  return `<span class="soft">${fill(words.common.referenceId, { id })}${contact}</span>`
}

/** An emphasized value in a text. */
export function strong(text: string): string {
  return `<strong>${escapeHtml(text)}</strong>`
}

export function code(text: string): string {
  return `<code>${escapeHtml(text)}</code>`
}

/** The link to the colours of the brand, if it has any. It must follow the style of the page. */
export const brandLink = ({ basePath, colored }: Site): string =>
  colored ? `<link rel="stylesheet" href="${basePath}/assets/brand.css">` : ''

/** A page for an answer with a Refresh header, with a link for browsers that ignore it. */
export function refreshPage(view: PageView, label: string, url: string): string {
  const { oneMoment, continueTo } = view.words.common
  const link = fill(continueTo, { name: escapeHtml(label) })
  return narrowPage(view, oneMoment, `<p><a class="button wide" href="${escapeHtml(url)}">${link}</a></p>`)
}

/** The first link of a page, which skips the navigation for keyboard users. */
const skipLink = '<a class="skip" href="#content">Skip to content</a>'

interface DocsPage {
  basePath: string
  /** Escaped. */
  title: string
  /** The part of the documentation: its style sheet has the same name. */
  part: 'guide' | 'reference'
  /** Scripts of this page, below /assets. */
  scripts?: readonly string[]
  /** What the search field contains. */
  query?: string
  /** The navigation. */
  side: string
  /** The content of `main`. */
  main: string
}

/** A page of the guide or of the API reference: one header, the navigation, the content. */
export function docsPage({ basePath, title, part, scripts = [], query = '', side, main }: DocsPage): string {
  const assets = `${basePath}/assets`
  const link = (own: DocsPage['part'], path: string, label: string): string =>
    `<a href="${basePath}${path}"${own === part ? ' class="here"' : ''}>${label}</a>`
  return htmlDocument({
    basePath,
    title: `${title} · Postern`,
    head: [
      ...['docs', part].map((name) => `<link rel="stylesheet" href="${assets}/${name}.css">`),
      ...['docs.js', ...scripts].map((name) => `<script type="module" src="${assets}/${name}"></script>`),
    ].join('\n'),
    body: `<body data-base="${basePath}">
${skipLink}
<header><a class="brand" href="${basePath}/docs/guide/"><img src="${assets}/icon.svg" alt="" width="24" height="24">Postern</a>
<form role="search" action="${basePath}/docs/guide/search"><input type="search" name="q" value="${escapeHtml(query)}" aria-label="Search the guide" placeholder="Search the guide" maxlength="100" required><button>Search</button></form>
<nav class="jump" aria-label="Documentation">${link('guide', '/docs/guide/', 'Guide')} ${link('reference', '/docs', 'API reference')} <a href="${basePath}/dashboard">Dashboard</a></nav></header>
<div class="columns">
${side}
<main id="content" tabindex="-1">${main}</main>
</div>`,
  })
}
