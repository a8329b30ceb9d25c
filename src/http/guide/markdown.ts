import { hash } from 'node:crypto'
import { existsSync, readFileSync, globSync } from 'node:fs'
import { join, posix, dirname, sep } from 'node:path'
import { Marked, type Token, type Tokens } from 'marked'
import { highlight, type LanguageName } from 'sugar-high'
import { escapeHtml } from '../pages/html.ts'
import { codeFolder } from '../../code-folder.ts'

/** Languages of the guide whose names the highlighter does not know. All others are passed on, and the rest is plain text. */
const languages: Record<string, LanguageName> = {
  ts: 'typescript',
  tsx: 'typescript',
  typescript: 'typescript',
  js: 'javascript',
  sh: 'shell',
  bash: 'shell',
  console: 'shell',
  dotenv: 'shell',
  caddyfile: 'hcl',
  nginx: 'hcl',
  svelte: 'html',
  ini: 'toml',
}
const sameName: readonly LanguageName[] = [
  'csharp',
  'dockerfile',
  'go',
  'html',
  'java',
  'json',
  'php',
  'python',
  'ruby',
  'rust',
  'sql',
  'toml',
  'yaml',
]
for (const name of sameName) languages[name] = name

interface Heading {
  level: number
  id: string
  /** Plain text, not escaped. */
  text: string
}

export interface RenderedPage {
  title: string
  html: string
  headings: readonly Heading[]
}

/** The anchor that GitHub makes of a heading, so that links work there and here. */
export function slugOf(text: string, taken: Map<string, number>): string {
  const slug = text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')
  const count = taken.get(slug) ?? 0
  taken.set(slug, count + 1)
  return count === 0 ? slug : `${slug}-${count}`
}

/** The text of inline Markdown, without its marks. */
export function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if ('tokens' in token && token.tokens) return plainText(token.tokens)
      return token.type === 'br' ? ' ' : 'text' in token ? String(token.text) : ''
    })
    .join('')
}

/** The name of the file that holds the drawing of a mermaid block. `npm run docs` draws them. */
export const diagramFile = (source: string): string =>
  `diagrams/${hash('sha256', source.trim(), 'hex').slice(0, 16)}.svg`

/**
 * Renders a page of the guide. Links to Markdown become links to pages; links that lead out of the guide, to files that only the
 * repository has, become plain text.
 * @param page its path below docs/, without `.md`
 * @param folder where the Markdown and its diagrams are
 */
export function renderMarkdown(text: string, page: string, folder: string): RenderedPage {
  const headings: Heading[] = []
  const taken = new Map<string, number>()
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth }: Tokens.Heading): string {
        const plain = plainText(tokens)
        const id = slugOf(plain, taken)
        headings.push({ level: depth, id, text: plain })
        const anchor =
          depth === 1
            ? ''
            : ` <a class="anchor" href="#${id}" aria-label="Link to ${escapeHtml(plain)}">#</a>`
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}${anchor}</h${depth}>\n`
      },
      link({ href, tokens, text: label }: Tokens.Link): string {
        const target = linkTarget(href, page)
        const inner = this.parser.parseInline(tokens)
        return target === undefined
          ? inner || escapeHtml(label)
          : `<a href="${escapeHtml(target)}">${inner}</a>`
      },
      image: ({ href, text: alt }: Tokens.Image) =>
        `<img src="${escapeHtml(href)}" alt="${escapeHtml(alt)}" loading="lazy">`,
      code: ({ text: code, lang = '' }: Tokens.Code) => codeBlock(code, lang.split(' ')[0]!, folder),
      table(token: Tokens.Table): string {
        const inner = (one: Tokens.TableCell): string => this.parser.parseInline(one.tokens)
        const names = token.header.map(({ tokens }) => escapeHtml(plainText(tokens)))
        // On a telephone each row of a wide table is a list of names and values: see guide.css.
        const isWide = names.length > 3
        const role = (name: string): string => (isWide ? ` role="${name}"` : '')
        const label = (at: number): string => (isWide && at > 0 ? ` data-label="${names[at] ?? ''}"` : '')
        const head = token.header.map((one) => `<th${role('columnheader')}>${inner(one)}</th>`)
        const rows = token.rows.map((row) => {
          const cells = row.map((one, at) => `<td${role('cell')}${label(at)}>${inner(one)}</td>`)
          return `<tr${role('row')}>${cells.join('')}</tr>`
        })
        return `<table${isWide ? ' class="wide"' : ''}${role('table')}><thead${role('rowgroup')}><tr${role('row')}>${head.join('')}</tr></thead><tbody${role('rowgroup')}>${rows.join('\n')}</tbody></table>\n`
      },
      html: ({ text: source }) => (source.trimStart().startsWith('<!--') ? '' : escapeHtml(source)),
    },
  })
  const html = marked.parse(text, { async: false })
  const title = headings.find(({ level }) => level === 1)?.text ?? page
  return { title, html, headings }
}

/** @returns `undefined` for a file that only the repository has */
function linkTarget(href: string, page: string): string | undefined {
  if (/^(?:[a-z][a-z0-9+.-]*:|#)/i.test(href)) return href
  const [path = '', anchor] = href.split('#', 2)
  const name = posix.normalize(posix.join(posix.dirname(page), path))
  if (name.startsWith('..') || isForContributors(name)) return undefined
  const target = path.replace(/(?:^|(?<=\/))README\.md$/, 'contents.md').replace(/\.md$/, '.html')
  return anchor === undefined ? target : `${target}#${anchor}`
}

function codeBlock(code: string, language: string, folder: string): string {
  if (language === 'mermaid') {
    const drawing = join(folder, diagramFile(code))
    if (existsSync(drawing))
      return `<figure class="diagram" tabindex="0">${readFileSync(drawing, 'utf8')}</figure>\n`
  }
  return `<pre><code>${highlighted(code, language)}</code></pre>\n`
}

/** Code as HTML. Classes carry the colors: the content security policy forbids styles in attributes. */
export function highlighted(code: string, language: string): string {
  const lang = languages[language]
  return lang === undefined
    ? escapeHtml(code).replaceAll(/^.*$/gm, '<span class="sh__line">$&</span>')
    : highlight(code, { lang }).replaceAll(/ style="[^"]*"/g, '')
}

/** The Markdown of the guide: copied into the package, and docs/ in a checkout. */
export const guideFolder = [join(codeFolder, 'guide'), join(dirname(codeFolder), 'docs')].find((folder) =>
  existsSync(join(folder, 'index.md')),
)

/** Pages for those who change Postern, not for those who use it. The package leaves them out. */
export const isForContributors = (name: string): boolean =>
  /^(?:adr\/|contributing\/|dependencies\.md$)/.test(name)

export interface Entry {
  title: string
  /** The path below docs/, without `.md`. */
  page: string
  /** The pages of the folder with the page's name, such as `guides/senders/` beside `guides/senders.md`. */
  below: readonly Entry[]
}

interface Group {
  title: string
  entries: readonly Entry[]
}

/** The Markdown files of the guide, and the navigation that docs/README.md describes. */
export class Contents {
  /** Paths below the folder, without `.md`. */
  readonly pages: ReadonlySet<string>
  readonly groups: readonly Group[]
  /** All entries, in the order of the navigation. */
  readonly order: readonly Entry[]
  private readonly folder: string

  constructor(folder: string) {
    this.folder = folder
    this.pages = new Set(
      globSync('**/*.md', { cwd: folder })
        .map((name) => name.replaceAll(sep, '/'))
        .filter((name) => !isForContributors(name))
        .map((name) => name.slice(0, -'.md'.length)),
    )
    this.groups = this.readGroups()
    this.order = this.groups.flatMap(({ entries }) => entries.flatMap((entry) => [entry, ...entry.below]))
  }

  /** The Markdown of a page, without comments. */
  read(page: string): string {
    return readFileSync(join(this.folder, `${page}.md`), 'utf8').replaceAll(/^<!--[^]*?-->\n?/gm, '')
  }

  /** In docs/README.md a paragraph that ends with a colon begins a group, and each item of the list below is a page. */
  private readGroups(): Group[] {
    const groups: { title: string; entries: Entry[] }[] = []
    for (const line of this.read('README').split('\n')) {
      const heading = /^([A-Z][^:]*)(?:, [^:]*)?:$/.exec(line)
      if (heading) groups.push({ title: heading[1]!, entries: [] })
      const [, title, page] = /^- \[([^\]]+)\]\((?!\.\.)([^)]+)\.md\)/.exec(line) ?? []
      if (title !== undefined && page !== undefined && this.pages.has(page))
        groups.at(-1)?.entries.push({ title, page, below: this.entriesBelow(page) })
    }
    return groups
  }

  /** In the order in which the page links to them. */
  private entriesBelow(page: string): Entry[] {
    const folder = page.slice(page.lastIndexOf('/') + 1)
    const found = new Map<string, Entry>()
    for (const [, title, of, name] of this.read(page).matchAll(/\[([^\]]+)\]\(([^)/]+)\/([^)/#]+)\.md\)/g))
      if (of === folder && !found.has(name!) && this.pages.has(`${page}/${name}`))
        found.set(name!, { title: title!, page: `${page}/${name}`, below: [] })
    return [...found.values()]
  }
}
