import type { FastifyReply, FastifyRequest } from 'fastify'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { codeFolder } from '../../code-folder.ts'
import type { App } from '../app.ts'
import { acceptedCoding } from '../caching/content-coding.ts'
import type { Site } from './brand.ts'
import { brandLink, narrowPage } from './html.ts'

/** Where the pages of dashboard/ are built to: in the package below dist, in a checkout below dashboard. */
const folder = [join(codeFolder, 'dashboard'), join(dirname(codeFolder), 'dashboard/dist')].find((path) =>
  existsSync(join(path, 'index.html')),
)

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const [compressBrotli, compressGzip] = [promisify(brotliCompress), promisify(gzip)]
const encoders = {
  br: (body: Buffer) => compressBrotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (body: Buffer) => compressGzip(body, { level: 9 }),
  identity: (body: Buffer) => Promise.resolve(body),
}

/** The page of a build, with its files below the application's path and its own data in it. */
export interface BuiltPage {
  /** @param data what the page's script needs at once; it may hold anything that JSON can write */
  render(data: object): string
}

/** Serves the files of the built pages. Their names change with their contents, so browsers keep them for a year. */
export function serveBuiltFiles(app: App): void {
  const names = new Set(
    folder === undefined ? [] : readdirSync(folder).filter((name) => extname(name) in types),
  )
  const encoded = new Map<string, Promise<Buffer>>()
  app.get<{ Params: { name: string } }>(
    '/assets/app/:name',
    { config: { access: 'public' }, schema: { hide: true } },
    async (
      { headers, params: { name } }: FastifyRequest<{ Params: { name: string } }>,
      reply: FastifyReply,
    ) => {
      if (!names.has(name)) return reply.callNotFound()
      const coding = acceptedCoding(headers['accept-encoding'])
      const key = `${coding} ${name}`
      let body = encoded.get(key)
      if (!body) encoded.set(key, (body = encoders[coding](readFileSync(join(folder!, name)))))
      if (coding !== 'identity') reply.header('content-encoding', coding)
      return reply
        .header('cache-control', 'public, max-age=31536000, immutable')
        .header('vary', 'accept-encoding')
        .type(types[extname(name)]!)
        .send(await body)
    },
  )
}

/** Reads a built page, `index.html` or `portal.html`. @param branded whether it has the colours of the brand */
export function builtPage(site: Site, file: string, { branded = false } = {}): BuiltPage {
  const { basePath } = site
  if (folder === undefined) return { render: () => notBuilt(site) }
  const html = readFileSync(join(folder, file), 'utf8')
    .replaceAll(/(src|href)="\.\//g, `$1="${basePath}/assets/app/`)
    .replace('href="/assets/', `href="${basePath}/assets/`)
    .replaceAll(' crossorigin', '')
    .replace('</head>', `${branded ? brandLink(site) : ''}</head>`)
  const [before, after] = html.split('<div id="root">') as [string, string]
  return {
    // "<" would end the element; a block of data is no script, so the policy against inline scripts allows it.
    render: (data) =>
      `${before}<script type="application/json" id="boot">${JSON.stringify(data).replaceAll('<', '\\u003c')}</script>\n    <div id="root">${after}`,
  }
}

const notBuilt = (site: Site): string =>
  narrowPage(
    site,
    'The dashboard is not built',
    '<p>Run <code>npm start</code>, or <code>npm run build:dashboard</code>, and load this page again.</p>',
  )
