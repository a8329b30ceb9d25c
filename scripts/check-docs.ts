// What the documentation promises and can be checked by reading: links lead somewhere, the README opens with the two
// commands, every dependency has its reason, and no file tells about the machine that it was written on.
import { execFileSync, type StdioOptions } from 'node:child_process'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const files = listFiles().filter(
  (file) => existsSync(join(root, file)) && statSync(join(root, file)).isFile(),
)
// Of the parts of generated pages, the links are those of the pages.
const pages = files.filter((file) => file.endsWith('.md') && !/^scripts\/\w+-pages\//.test(file))

function listFiles(): string[] {
  try {
    // New files count before they are added: `git add` should not be what breaks the check.
    const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
    const stdio: StdioOptions = ['ignore', 'pipe', 'ignore']
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio }).split('\0').slice(0, -1)
  } catch {
    // No git on the machine, or an unpacked archive.
    const exclude = ['**/node_modules/**', 'data/**', '**/dist/**', '**/*.log', '**/.env']
    return globSync(['**/*', '.*', '.*/**'], { cwd: root, exclude: [...exclude, '.git/**', '.git'] })
  }
}

function* brokenLinks(): Generator<string> {
  for (const page of pages) {
    for (const link of linksOf(read(page))) {
      if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(link)) continue
      const [path = '', anchor] = link.split('#', 2)
      const target = path === '' ? join(root, page) : join(root, dirname(page), decodeURI(path))
      if (!existsSync(target)) yield `${page}: no such file: ${link}`
      else if (anchor && target.endsWith('.md') && !anchorsOf(readFileSync(target, 'utf8')).has(anchor)) {
        yield `${page}: ${relative(root, target)} has no heading #${anchor}`
      }
    }
  }
}

/** A blank line in a table ends it: the rows behind it are shown as text. */
function* tablesWithoutHead(): Generator<string> {
  for (const page of pages)
    for (const [row] of read(page)
      .replace(FENCE, '')
      .matchAll(/(?<=\n\n)\|.*\n(?!\|[-:| ]+\|\n)/g))
      yield `${page}: a table without a head: ${row.trim()}`
}

const FENCE = /^ {0,3}(`{3,}|~{3,})[^\n]*\n[\s\S]*?^ {0,3}\1[`~]* *$/gm

function linksOf(text: string): string[] {
  const prose = text.replace(FENCE, '').replace(/`[^`\n]*`/g, '')
  const forms = [
    /\]\(\s*<?([^)\s>]+)>?(?:\s+["'(][^\n]*?["')])?\s*\)/g,
    /^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)/gm,
    /\b(?:href|src)="([^"]+)"/g,
  ]
  return forms.flatMap((form) => [...prose.matchAll(form)].map((match) => match[1]!))
}

/** The anchors that GitHub makes of headings, and those set by hand. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set(
    [...text.matchAll(/<[a-z]+ [^>]*\b(?:id|name)="([^"]+)"/g)].map((match) => match[1]!),
  )
  for (const match of text.replace(FENCE, '').matchAll(/^ {0,3}#{1,6} +(.+?) *#*$/gm)) {
    const plain = match[1]!.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const slug = plain.replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '').replaceAll(' ', '-')
    let anchor = slug
    for (let n = 1; anchors.has(anchor); n++) anchor = `${slug}-${n}`
    anchors.add(anchor)
  }
  return anchors
}

function* readme(): Generator<string> {
  if (!files.includes('README.md')) {
    yield 'README.md is missing'
    return
  }
  const first = /^```[^\n]*\n([\s\S]*?)^```/m.exec(read('README.md'))?.[1] ?? ''
  for (const command of ['npm start', 'npm test']) {
    if (!first.includes(command)) yield `README.md: its first code block does not show \`${command}\``
  }
  const [above = '', further] = read('README.md').split('\n## Further\n')
  if (further === undefined || /^## /m.test(further)) yield 'README.md: its last section is not "Further"'
  const pictures = above.match(/^!\[/gm)?.length ?? 0
  const lines = above.split('\n').length + pictures * LINES_OF_A_PICTURE
  if (lines > THREE_SCREENS)
    yield `README.md has ${lines} lines before "Further": three screens are ${THREE_SCREENS}`
}

const THREE_SCREENS = 150
const LINES_OF_A_PICTURE = 22

function* architecture(): Generator<string> {
  if (!files.includes('ARCHITECTURE.md')) {
    yield 'ARCHITECTURE.md is missing'
    return
  }
  const lines = read('ARCHITECTURE.md').trimEnd().split('\n').length
  if (lines >= 150) yield `ARCHITECTURE.md has ${lines} lines: under 150, so that it is read`
}

function* dependencies(): Generator<string> {
  const page = 'docs/dependencies.md'
  if (!files.includes(page)) {
    yield `${page} is missing`
    return
  }
  const groups = ['dependencies', 'optionalDependencies', 'devDependencies']
  const wanted = new Set(
    ['package.json', 'scripts/node/package.json', 'dashboard/package.json'].flatMap((file) => {
      const manifest = JSON.parse(read(file)) as Record<string, Record<string, string> | undefined>
      return groups.flatMap((group) => Object.keys(manifest[group] ?? {}))
    }),
  )
  const rows = read(page).matchAll(/^\| (`[^|]+) \| *([^|]*?) *\|/gm)
  const given = new Map(
    [...rows].flatMap(([, names = '', reason = '']) => namesIn(names).map((name) => [name, reason])),
  )
  for (const name of wanted) if (!given.get(name)) yield `${page}: no reason for ${name}`
  for (const name of given.keys()) if (!wanted.has(name)) yield `${page}: ${name} is in no package.json`
}

const namesIn = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]!)

// Written so that this file does not match itself.
const MACHINE =
  /(?<![\w.-])\/(?:work|root|farm)\/[\w.-]*|https?:\/\/[\w.-]*(?:registry|artifactory|nexus|verdaccio)[\w.-]*/g

function* machineTraces(): Generator<string> {
  for (const file of files) {
    const text = read(file)
    if (text.includes('\0')) continue
    for (const [index, line] of text.split('\n').entries()) {
      for (const match of line.matchAll(MACHINE))
        yield `${file}:${index + 1}: names a machine's path or registry: ${match[0]}`
    }
  }
  if (/"resolved": "http/.test(read('package-lock.json')))
    yield 'package-lock.json: holds the addresses of a registry'
}

const problems: string[] = []
for (const check of [brokenLinks, tablesWithoutHead, readme, architecture, dependencies, machineTraces])
  problems.push(...check())
for (const problem of problems) console.log(problem)
console.log(`${pages.length} pages, ${files.length} files: ${problems.length} problems`)
process.exitCode = problems.length > 0 ? 1 : 0
