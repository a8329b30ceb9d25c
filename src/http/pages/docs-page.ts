import { escapeHtml, htmlDocument, skipLink } from './html.ts'

export interface DocsPage {
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
