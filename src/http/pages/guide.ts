import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { codeFolder } from '../../code-folder.ts'
import type { Access } from '../access/principal.ts'
import type { App } from '../app.ts'
import { narrowPage, type Site } from './html.ts'
import { StaticFolder } from './static-folder.ts'

/** Where the site of docs/ is built to: in the package below dist, in a checkout below site. */
const folder = [join(codeFolder, 'guide'), join(dirname(codeFolder), 'site/dist')].find((path) =>
  existsSync(join(path, 'index.html')),
)
/** The path that the site is built for. */
const builtFor = '/docs/guide/'

/**
 * Serves the documentation at /docs/guide.
 * @param access who may read it
 */
export function serveGuide(app: App, access: Access): void {
  const { basePath, site } = app
  const files = new StaticFolder(folder, {
    isImmutable: (name) => name.startsWith('assets/'),
    ...(basePath !== '' && { edit: (text: string) => text.replaceAll(builtFor, basePath + builtFor) }),
  })
  const options = { config: { access }, schema: { hide: true } } as const
  app.get('/docs/guide', options, async (_request, reply) => reply.redirect(`${basePath}${builtFor}`, 301))
  app.get<{ Params: { '*': string } }>('/docs/guide/*', options, async (request, reply) => {
    if (folder === undefined) return reply.code(404).type('text/html; charset=utf-8').send(notBuilt(site))
    const { '*': path } = request.params
    const name = path === '' || path.endsWith('/') ? `${path}index.html` : path
    if (name.endsWith('.html') && files.has(name))
      reply.header('content-security-policy', policyOf(await files.read(name)))
    return files.send(request, reply, name)
  })
}

/**
 * The pages hold two short scripts that set the theme before anything is painted; they are allowed by their hashes. Highlighted code has
 * its colours in attributes.
 */
function policyOf(html: string): string {
  const hashes = [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([^]*?)<\/script>/g)].map(
    ([, script]) => `'sha256-${hash('sha256', script!, 'base64')}'`,
  )
  return [
    "default-src 'none'",
    `script-src 'self' ${hashes.join(' ')}`,
    "style-src 'self'",
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join(';')
}

const notBuilt = (site: Site): string =>
  narrowPage(
    site,
    'The documentation is not built',
    '<p>Run <code>npm run build:site</code>, and load this page again. The same text is in the folder <code>docs</code>.</p>',
  )
