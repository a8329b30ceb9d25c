import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { Marked, type Token, type Tokens } from 'marked'
import { highlight, type LanguageName } from 'sugar-high'
import { escapeHtml } from '../pages/html.ts'
import { isForContributors } from './contents.ts'

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

export interface Heading {
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
