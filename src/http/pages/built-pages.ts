import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { codeFolder } from '../../code-folder.ts'
import type { App } from '../app.ts'
import { brandLink, narrowPage, type Site } from './html.ts'
import { en } from './language/en.ts'
import type { Language } from './language/languages.ts'
import { StaticFolder } from './static-folder.ts'

/** Where the pages of dashboard/ are built to: in the package below dist, in a checkout below dashboard. */
const folder = [join(codeFolder, 'dashboard'), join(dirname(codeFolder), 'dashboard/dist')].find((path) =>
  existsSync(join(path, 'index.html')),
)

/** The page of a build, with its files below the application's path and its own data in it. */
export interface BuiltPage {
  /** @param data what the page's script needs at once; it may hold anything that JSON can write */
  render(data: object): string
}

/** Serves the files of the built pages. */
export function serveBuiltFiles(app: App): void {
  const files = new StaticFolder(folder, { isImmutable: () => true })
  app.get<{ Params: { name: string } }>(
    '/assets/app/:name',
    { config: { access: 'public' }, schema: { hide: true } },
    async (request, reply) => {
      const { name } = request.params
      return /\.(?:js|css)$/.test(name) ? files.send(request, reply, name) : reply.callNotFound()
    },
  )
}

export interface BuiltPageOptions {
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
