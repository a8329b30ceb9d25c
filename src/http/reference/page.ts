import { problems } from '../../errors.ts'
import { scopes, type Access } from '../access/principal.ts'
import { docsPage, escapeHtml } from '../pages/html.ts'
import { highlighted } from '../guide/markdown.ts'
import { callHtml, inline, prose } from './call-html.ts'
import { type ApiDocument, type Call, type CallGroup, groupsOf } from './document.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { acceptedCoding, encodeOnce } from '../caching/tagged-answer.ts'

interface ReferencePage {
  document: ApiDocument
  basePath: string
  /** The public address of the service, with its base path. */
  origin: string
}

/** The start of the API reference: access, problems, headers, and all calls by area. */
function startPage(parts: ReferencePage): string {
  const { document, basePath, origin } = parts
  const groups = groupsOf(document)
  const areas = groups.map(
    ({
      id,
      name,
      description,
      calls,
    }) => `<section class="area"><h3><a href="${basePath}/docs/${id}">${escapeHtml(name)}</a></h3>
<p>${inline(description)}
<ul>${calls.map((call) => `<li id="${call.id}">${callLink(call, `${basePath}/docs/${id}`)} <span>${inline(call.operation.summary ?? '')}</span>`).join('\n')}</ul></section>`,
  )
  return referencePage(
    parts,
    groups,
    undefined,
    `<h1>API reference</h1>
${introduction(document, origin, basePath)}
<section id="areas"><h2>Areas</h2>
${areas.join('\n')}</section>`,
  )
}

/** The calls of one area; undefined if there is no such area. */
function areaPage(parts: ReferencePage, area: string): string | undefined {
  const groups = groupsOf(parts.document)
  const at = groups.findIndex(({ id }) => id === area)
  const group = groups[at]
  if (!group) return undefined
  const link = (rel: 'prev' | 'next', to: CallGroup | undefined): string =>
    to === undefined
      ? ''
      : `<a rel="${rel}" href="${parts.basePath}/docs/${to.id}">${rel === 'prev' ? 'Previous' : 'Next'}: ${escapeHtml(to.name)}</a>`
  return referencePage(
    parts,
    groups,
    group,
    `<h1>${escapeHtml(group.name)}</h1>
<p>${inline(group.description)}
${group.calls.map((call) => callHtml(call, parts.origin)).join('\n')}
<nav class="neighbors" aria-label="Neighboring areas">${link('prev', groups[at - 1])} ${link('next', groups[at + 1])}</nav>`,
  )
}

function referencePage(
  { basePath }: ReferencePage,
  groups: readonly CallGroup[],
  group: CallGroup | undefined,
  main: string,
): string {
  return docsPage({
    basePath,
    title: group === undefined ? 'API reference' : `${escapeHtml(group.name)} · API reference`,
    part: 'reference',
    scripts: ['reference.js'],
    side: navigation(basePath, groups, group),
    main,
  })
}

function callLink({ id, method, path, isSent }: Call, page: string): string {
  return `<a href="${page}#${id}"><b class="method ${isSent ? 'sent' : method}">${isSent ? '' : method.toUpperCase()}</b> ${escapeHtml(path)}</a>`
}

function navigation(basePath: string, groups: readonly CallGroup[], current: CallGroup | undefined): string {
  const items = groups.map((group) => {
    const page = `${basePath}/docs/${group.id}`
    const here = group === current
    const calls = group.calls.map((call) => `<li>${callLink(call, here ? '' : page)}`)
    return `<details${here ? ' open' : ''}><summary>${escapeHtml(group.name)}</summary><ul>
<li><a href="${page}"${here ? ' aria-current="page"' : ''}>All of ${escapeHtml(group.name)}</a>
${calls.join('\n')}</ul></details>`
  })
  return `<nav class="calls" aria-label="Calls">
<p class="filter" hidden><label for="filter">Filter</label><input type="search" id="filter" autocomplete="off" placeholder="deliveries, POST …"><span role="status"></span></p>
<p class="jump"><a href="${basePath}/docs#access">Access</a> <a href="${basePath}/docs#problems">Problems</a> <a href="${basePath}/docs#headers">Headers</a></p>
${items.join('\n')}
</nav>`
}

function introduction({ info, components }: ApiDocument, origin: string, basePath: string): string {
  const headers = Object.entries(components?.headers ?? {}).filter(([name]) => !name.endsWith('-sometimes'))
  return `<p>${inline(info.description ?? '')}
<p>Version ${escapeHtml(info.version)}. All paths are below <code>${escapeHtml(origin)}</code>. Also available as an <a href="${basePath}/openapi.json">OpenAPI document</a>.
<p>The TypeScript examples use the <a href="${basePath}/docs/guide/guides/client.html">client library</a>:
<pre><code>${highlighted(client(origin), 'ts')}</code></pre>
<section id="access"><h2>Access</h2>
<p>Send an API key or an access token as <code>Authorization: Bearer …</code>, or the cookie of a session. Create keys in <a href="${basePath}/dashboard/system/keys">the dashboard</a> or with <code>postern keys create NAME --scope SCOPE</code>. Administrators can make every request. An API key can make the requests that its scopes allow.
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
<details><summary>Headers of responses</summary>
${table(
  ['Header', 'Meaning'],
  headers.map(([name, { description = '' }]) => [`<code>${escapeHtml(name)}</code>`, inline(description)]),
)}</details></section>`
}

const client = (origin: string): string => `import { createClient } from 'postern-client/api'

const postern = createClient({ url: '${origin}', token: process.env.POSTERN_KEY })`

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = ([first = '', ...others]: readonly string[]): string =>
    `<tr><th scope="row">${first}${others.map((cell) => `<td>${cell}`).join('')}`
  return `<table><thead><tr>${columns.map((column) => `<th scope="col">${column}`).join('')}<tbody>
${rows.map(line).join('\n')}</table>`
}

interface ReferenceParts {
  /** Who may read the reference. */
  access: Access
  baseUrl: () => string
}

/** GET /docs and a page for each area below it: the API reference, each page made at its first request. */
export function serveReference(app: App, { access, baseUrl }: ReferenceParts): void {
  const options = { config: { access }, schema: { hide: true } } as const
  const pages = new Map<string, Buffer>()
  const encoded = new Map<string, Promise<Buffer>>()
  const pageOf = (area: string): Buffer | undefined => {
    const parts = { document: app.swagger() as ApiDocument, basePath: app.basePath, origin: baseUrl() }
    const html = area === '' ? startPage(parts) : areaPage(parts, area)
    return html === undefined ? undefined : Buffer.from(html)
  }
  const send = async (
    { headers }: FastifyRequest,
    reply: FastifyReply,
    area: string,
  ): Promise<FastifyReply> => {
    const page = pages.get(area) ?? pageOf(area)
    if (!page) {
      reply.callNotFound()
      return reply
    }
    pages.set(area, page)
    const coding = acceptedCoding(headers['accept-encoding'])
    const key = `${coding} ${area}`
    let body = encoded.get(key)
    if (!body) encoded.set(key, (body = encodeOnce(page, coding)))
    if (coding !== 'identity') reply.header('content-encoding', coding)
    return reply
      .header('vary', 'accept-encoding')
      .type('text/html; charset=utf-8')
      .send(await body)
  }
  app.get('/docs', options, (request, reply) => send(request, reply, ''))
  app.get<{ Params: { area: string } }>('/docs/:area', options, (request, reply) =>
    send(request, reply, request.params.area),
  )
}
