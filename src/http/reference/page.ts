import { problems } from '../../errors.ts'
import { scopes } from '../access/scopes.ts'
import { escapeHtml, htmlDocument, skipLink } from '../pages/html.ts'
import { callHtml, inline, prose } from './call-html.ts'
import { groupsOf, type ApiDocument, type CallGroup } from './document.ts'

export interface ReferencePage {
  document: ApiDocument
  basePath: string
  /** The public address of the service, with its base path. */
  origin: string
}

/** The API reference: every call of the document, readable without a script. */
export function referencePage({ document, basePath, origin }: ReferencePage): string {
  const groups = groupsOf(document)
  return htmlDocument({
    basePath,
    title: 'API reference · Postern',
    head: `<link rel="stylesheet" href="${basePath}/assets/reference.css">
<script type="module" src="${basePath}/assets/reference.js"></script>`,
    body: `<body data-base="${basePath}">
${skipLink}
<header><a class="brand" href="${basePath}/dashboard"><img src="${basePath}/assets/icon.svg" alt="" width="24" height="24">Postern</a>
<span class="jump"><a href="${basePath}/docs/guide/">Guide</a> <a href="${basePath}/openapi.json">OpenAPI document</a></span></header>
<div class="columns">
${navigation(groups)}
<main id="content" tabindex="-1">
<h1>API reference</h1>
${introduction(document, origin)}
${groups.map((group) => groupHtml(group, origin)).join('\n')}
</main>
</div>`,
  })
}

function navigation(groups: readonly CallGroup[]): string {
  const items = groups.map(
    ({ name, calls }) => `<details><summary>${escapeHtml(name)}</summary><ul>
${calls
  .map(
    ({ id, method, path, isSent }) =>
      `<li><a href="#${id}"><b class="method ${isSent ? 'sent' : method}">${isSent ? '' : method.toUpperCase()}</b> ${escapeHtml(path)}</a>`,
  )
  .join('\n')}</ul></details>`,
  )
  return `<nav aria-label="Calls">
<p class="filter" hidden><label for="filter">Filter</label><input type="search" id="filter" autocomplete="off" placeholder="deliveries, POST …"><span role="status"></span></p>
<p class="jump"><a href="#access">Access</a> <a href="#problems">Problems</a> <a href="#headers">Headers</a></p>
${items.join('\n')}
</nav>`
}

function introduction({ info, components }: ApiDocument, origin: string): string {
  const headers = Object.entries(components?.headers ?? {}).filter(([name]) => !name.endsWith('-sometimes'))
  return `<p>${inline(info.description ?? '')}
<p>Version ${escapeHtml(info.version)}. All paths are below <code>${escapeHtml(origin)}</code>.
<section id="access"><h2>Access</h2>
<p>A call takes an API key or an access token (<code>Authorization: Bearer …</code>), or the cookie of a session. <a href="${origin}/dashboard">The dashboard</a> and <code>postern keys create NAME --scope SCOPE</code> make keys. Routes with a scope are for administrators, and for keys with that scope.
${table(
  ['Scope', 'Allows'],
  Object.entries(scopes).map(([scope, meaning]) => [`<code>${scope}</code>`, inline(meaning)]),
)}</section>
<section id="problems"><h2>Problems</h2>
${prose('Every error is JSON of the type `application/problem+json` (RFC 9457): `type`, `title`, `status`, `code`, `detail`, `advice`, `requestId`, and `source` if a parameter or a field is wrong. Codes stay the same, texts may change.')}
<details><summary>All ${Object.keys(problems).length} codes</summary>
${table(
  ['Code', 'Status', 'Title', 'What to do'],
  Object.entries(problems).map(([code, [status, title, advice]]) => [
    `<code>${code}</code>`,
    String(status),
    inline(title),
    inline(advice),
  ]),
)}</details></section>
<section id="headers"><h2>Headers</h2>
<details><summary>Headers of answers</summary>
${table(
  ['Header', 'Meaning'],
  headers.map(([name, { description = '' }]) => [`<code>${escapeHtml(name)}</code>`, inline(description)]),
)}</details></section>`
}

function groupHtml({ id, name, description, calls }: CallGroup, origin: string): string {
  return `<section id="${id}" class="group"><h2>${escapeHtml(name)}</h2>
<p>${inline(description)}
${calls.map((call) => callHtml(call, origin)).join('\n')}
</section>`
}

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = ([first = '', ...others]: readonly string[]): string =>
    `<tr><th scope="row">${first}${others.map((cell) => `<td>${cell}`).join('')}`
  return `<table><thead><tr>${columns.map((column) => `<th scope="col">${column}`).join('')}<tbody>
${rows.map(line).join('\n')}</table>`
}
