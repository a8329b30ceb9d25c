import send from '@fastify/send'
import { readdirSync } from 'node:fs'
import { join, sep } from 'node:path'
import { codeFolder } from '../../code-folder.ts'
import type { App } from '../app.ts'
import { htmlDocument } from './html.ts'
import type { Access } from '../access/principal.ts'

// RFC 9239, section 6: application/javascript is obsolete.
send.mime.define({ 'text/javascript': ['js'] }, true)

const assets = join(codeFolder, 'http/pages/assets')
const names = new Set(
  readdirSync(assets, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll(sep, '/')),
)

/**
 * Serves the pages' files and the API reference. Plain files, no inline script or style: see security-headers.ts.
 * @param docs who may read the reference
 */
export async function serveAssets(app: App, docs: Access): Promise<void> {
  app.get<{ Params: { '*': string } }>(
    '/assets/*',
    { config: { access: 'public' }, schema: { hide: true } },
    async ({ raw, params: { '*': name } }, reply) => {
      if (!names.has(name) || !name.includes('.')) return reply.callNotFound()
      // Asked for each time and mostly not modified: scripts of two versions do not fit together.
      const { statusCode, headers, stream } = await send(raw, name, { root: assets, maxAge: 0 })
      return reply.code(statusCode).headers(headers).send(stream)
    },
  )

  const page = docsPage(app.basePath)
  app.get('/docs', { config: { access: docs }, schema: { hide: true } }, async (_request, reply) =>
    // The reference sets styles from its script, which the strict policy of the other pages forbids.
    reply
      .header(
        'content-security-policy',
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'",
      )
      .type('text/html; charset=utf-8')
      .send(page),
  )
}

const docsPage = (basePath: string): string =>
  htmlDocument({
    basePath,
    title: 'Postern API',
    // The reference brings its own.
    head: '',
    body: `<rapi-doc spec-url="${basePath}/openapi.json" schema-style="table" load-fonts="false"
  show-header="false" allow-server-selection="false" allow-spec-url-load="false" allow-spec-file-load="false"
  show-method-in-nav-bar="as-colored-text" use-path-in-nav-bar="true" regular-font="system-ui, sans-serif"
  mono-font="ui-monospace, monospace" primary-color="#2f5fd0"></rapi-doc>
<script type="module" src="${basePath}/assets/docs.js"></script>`,
  })
