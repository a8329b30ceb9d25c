import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, extname, join, sep } from 'node:path'
import { codeFolder, posternCommand } from '../../code-folder.ts'
import type { App } from '../app.ts'
import { brandLink, narrowPage, type Site } from './html.ts'
import { en } from './language/en.ts'
import type { Language } from './language/languages.ts'
import type { FastifyReply } from 'fastify'
import { readFile } from 'node:fs/promises'
import { EncodedBodies } from '../caching/tagged-answer.ts'
import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import { version } from '../../runtime/version.ts'
import type { Authenticate, Principal } from '../access/principal.ts'
import { signInPath } from './error-page.ts'

/** Where the pages of dashboard/ are built to: in the package below dist, in a checkout below dashboard. */
const folder = [join(codeFolder, 'dashboard'), join(dirname(codeFolder), 'dashboard/dist')].find((path) =>
  existsSync(join(path, 'index.html')),
)

/** The page of a build, with its files below the application's path and its own data in it. */
interface BuiltPage {
  /** @param data what the page's script needs at once; it may hold anything that JSON can write */
  render(data: object): string
}

/** Serves the files of the built pages. */
export function serveBuiltFiles(app: App): void {
  // The name of a file changes with its content.
  const files = new StaticFolder(folder, 'public, max-age=31536000, immutable')
  app.get<{ Params: { name: string } }>(
    '/assets/app/:name',
    { config: { access: 'public' }, schema: { hide: true } },
    async (request, reply) => {
      const { name } = request.params
      return /\.(?:js|css)$/.test(name) ? files.send(reply, name) : reply.callNotFound()
    },
  )
}

interface BuiltPageOptions {
  /** Whether it has the colours of the brand. Default false. */
  branded?: boolean
  /** The source of a lazy module that is loaded together with the entry, instead of after it. */
  preload?: string
  /** Default: English. */
  language?: Language
}

/** Reads a built page, `index.html` or `portal.html`. */
export function builtPage(site: Site, file: string, options: BuiltPageOptions = {}): BuiltPage {
  const { branded = false, preload, language } = options
  const { basePath } = site
  if (folder === undefined || !existsSync(join(folder, file))) return { render: () => notBuilt(site) }
  const html = readFileSync(join(folder, file), 'utf8')
    .replaceAll(/(src|href)="\.\//g, `$1="${basePath}/assets/app/`)
    .replace('href="/assets/', `href="${basePath}/assets/`)
    .replaceAll(' crossorigin', '')
    .replace(
      '</head>',
      `${preload === undefined ? '' : preloads(basePath, file, preload)}${branded ? brandLink(site) : ''}</head>`,
    )
    .replace('lang="en"', `lang="${language?.tag ?? 'en'}"`)
    .replace('These pages need JavaScript.', (language?.words ?? en).common.needsScript)
  const [before, after] = html.split('<div id="root">') as [string, string]
  return {
    // "<" would end the element; a block of data is no script, so the policy against inline scripts allows it.
    render: (data) =>
      `${before}<script type="application/json" id="boot">${JSON.stringify(data).replaceAll('<', '\\u003c')}</script>\n    <div id="root">${after}`,
  }
}

/** Links to the file of a lazy module, and to those that it imports, as the build's manifest names them. */
function preloads(basePath: string, page: string, source: string): string {
  const manifest = JSON.parse(readFileSync(join(folder!, `${page}.manifest.json`), 'utf8')) as Record<
    string,
    { file: string; imports?: string[] }
  >
  const found = new Set<string>()
  const follow = (name: string): void => {
    const entry = name === page ? undefined : manifest[name]
    if (!entry || found.has(entry.file)) return
    found.add(entry.file)
    entry.imports?.forEach(follow)
  }
  follow(source)
  return [...found]
    .map((name) => `<link rel="modulepreload" href="${basePath}/assets/app/${name}">\n`)
    .join('')
}

const notBuilt = (site: Site): string =>
  narrowPage(
    { site, language: 'en', words: en },
    'The dashboard is not built',
    '<p>Run <code>npm start</code>, or <code>npm run build:dashboard</code>, and load this page again.</p>',
  )

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.png': 'image/png',
}

/** The files of a folder, which do not change while the service runs. Each is read at its first request. */
export class StaticFolder {
  private readonly names: ReadonlySet<string>
  private readonly bodies = new EncodedBodies()
  private readonly folder: string | undefined
  private readonly caching: string

  /**
   * @param folder `undefined`, or one that is missing: it has no files
   * @param caching `Cache-Control`
   */
  constructor(folder: string | undefined, caching: string) {
    this.folder = folder
    this.caching = caching
    const found = folder === undefined ? [] : readdirSync(folder, { recursive: true, encoding: 'utf8' })
    this.names = new Set(
      found.map((name) => name.replaceAll(sep, '/')).filter((name) => extname(name) in types),
    )
  }

  has(name: string): boolean {
    return this.names.has(name)
  }

  /** Answers with a file, or 304 when the client has it. Unknown names are answered with 404. */
  async send(reply: FastifyReply, name: string): Promise<FastifyReply | undefined> {
    if (!this.has(name)) {
      reply.callNotFound()
      return undefined
    }
    return this.bodies.send(reply, name, {
      type: types[extname(name)]!,
      caching: this.caching,
      make: () => readFile(join(this.folder!, name)),
    })
  }
}

export interface DashboardParts {
  authenticate: Authenticate
  /** The answer of GET /auth/session. @throws Problem `not-signed-in` */
  describeSession: (principal: Principal | undefined) => Promise<object>
  demo: boolean
}

/** GET /dashboard and all addresses below it: one page for signed-in browsers. All others are sent to /login. */
export function serveDashboard(app: App, { authenticate, describeSession, demo }: DashboardParts): void {
  const { basePath } = app
  const home = builtPage(app.site, 'index.html', { preload: 'src/pages/home/home-page.tsx' })
  const others = builtPage(app.site, 'index.html')
  app.get('/', { config: { access: 'public' }, schema: { hide: true } }, async (_request, reply) =>
    reply.redirect(`${basePath}/dashboard`, 303),
  )

  for (const [path, schema] of [
    ['/dashboard', description],
    ['/dashboard/*', { hide: true }],
  ] as const)
    app.get(path, { config: { access: 'public' }, schema }, async (request, reply) => {
      const session = await unlessSignedOut(async () => {
        const principal = await authenticate(request)
        // The page has the user's name and address, which an app may get only by its scopes.
        return describeSession(principal?.kind === 'session' ? principal : undefined)
      })
      if (session === undefined) return reply.redirect(signInPath(request), 303)
      const html = (path === '/dashboard' ? home : others).render({
        basePath,
        demo,
        version,
        command: posternCommand,
        session,
      })
      return reply.type('text/html; charset=utf-8').send(html)
    })
}

const description = {
  tags: ['pages'],
  summary: 'The dashboard; redirects to /login without a session',
  response: {
    200: { description: 'The page', content: { 'text/html': { schema: Type.String() } } },
    303: Type.Null({ description: 'To /login' }),
  },
}

async function unlessSignedOut(describe: () => Promise<object>): Promise<object | undefined> {
  try {
    return await describe()
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return undefined
    throw error
  }
}

/** Serves the pages' own files: no inline script or style, see response-headers.ts. */
export function serveAssets(app: App): void {
  // Asked for each time and mostly not modified: scripts of two versions do not fit together.
  const files = new StaticFolder(join(codeFolder, 'http/pages/assets'), 'public, max-age=0')
  app.get<{ Params: { '*': string } }>(
    '/assets/*',
    { config: { access: 'public' }, schema: { hide: true } },
    (request, reply) => files.send(reply, request.params['*']),
  )
}
