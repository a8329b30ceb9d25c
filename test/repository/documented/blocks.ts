import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../../..')

/** What users read. The tutorial has a project of its own, in which test/examples/tutorial.test.ts runs it. Design decisions and the reviews of security name what no longer exists; the reference is generated. */
export const pages: readonly string[] = globSync(
  ['README.md', 'docs/**/*.md', 'packages/*/README.md', 'examples/**/README.md', 'dashboard/README.md'],
  {
    cwd: root,
    exclude: [
      '**/node_modules/**',
      'docs/tutorial/**',
      'docs/adr/**',
      'docs/reference/**',
      'docs/dependencies.md',
    ],
  },
).toSorted()

/** With the tutorial: its names and commands are those of the others. */
export const allPages: readonly string[] = [
  ...pages,
  ...globSync('docs/tutorial/**/*.md', { cwd: root }).toSorted(),
]

export interface Block {
  /** The page and the line at which the block begins. */
  from: string
  page: string
  /** The first word after the fence; of an indented block, nothing. */
  language: string
  /** What follows it: `no-run` and the reason. */
  info: string
  text: string
}

const fence = /^( *)(`{3,})(.*)$/

/** The code blocks of a page, fenced and indented, without their indentation. */
export function blocksOf(page: string): Block[] {
  const lines = readFileSync(join(root, page), 'utf8').split('\n')
  const blocks: Block[] = []
  for (let at = 0; at < lines.length; at++) {
    const [, indent = '', marks, words = ''] = fence.exec(lines[at]!) ?? []
    const first = at
    if (marks !== undefined) {
      while (at + 1 < lines.length && lines[at + 1]!.trim() !== marks) at++
      const text = outdented(lines.slice(first + 1, at + 1), indent.length)
      const [language = '', ...info] = words.trim().split(' ')
      blocks.push({ from: `${page}:${first + 1}`, page, language, info: info.join(' '), text })
      at++
    } else if (isIndented(lines, at)) {
      const margin = /^ */.exec(lines[at]!)![0].length
      const inside = (line: string | undefined) =>
        line !== undefined && (line.startsWith(' '.repeat(margin)) || line.trim() === '')
      while (inside(lines[at + 1])) at++
      const text = outdented(lines.slice(first, at + 1), margin).trimEnd()
      blocks.push({ from: `${page}:${first + 1}`, page, language: '', info: '', text })
    }
  }
  return blocks
}

/** Whether an indented block begins here: four spaces more than the text of the list item that it belongs to. */
function isIndented(lines: readonly string[], at: number): boolean {
  const margin = /^ */.exec(lines[at]!)![0].length
  if (margin < 4 || lines[at]!.trim() === '' || (lines[at - 1] ?? '').trim() !== '') return false
  for (let above = at - 1; above >= 0; above--) {
    const line = lines[above]!
    if (line.trim() === '') continue
    const item = /^( *(?:[-*]|\d+\.) +)/.exec(line)
    if (item && item[1]!.length <= margin) return margin >= item[1]!.length + 4
    if (!line.startsWith(' ')) return true
  }
  return true
}

const outdented = (lines: readonly string[], margin: number): string =>
  lines.map((line) => line.slice(margin)).join('\n')

/** The file that the paragraph before a block names. */
export function fileAbove({ page, from }: Block, extensions: string): string | undefined {
  const lines = readFileSync(join(root, page), 'utf8').split('\n')
  const before = lines
    .slice(0, Number(from.split(':')[1]) - 1)
    .join('\n')
    .trimEnd()
  const paragraph = before.slice(before.lastIndexOf('\n\n') + 2)
  return new RegExp(`\`([\\w./+-]+\\.(?:${extensions}))\``).exec(paragraph)?.[1]
}

/** The file that a block is: its first line or the paragraph before it names it. */
export const fileOf = (block: Block): string | undefined =>
  /^\/\/ ([\w./+-]+\.\w+)\n/.exec(block.text)?.[1] ?? fileAbove(block, 'tsx?|js|sql|csv')

export interface Step {
  command: string
  /** What the page shows below it. */
  output: string
}

/** The commands of a block whose lines begin with `$ `, each with its output. A command goes on after a backslash. */
export function stepsOf({ text }: Block): Step[] {
  const steps: Step[] = []
  let open = false
  for (const line of text.split('\n')) {
    const step = steps.at(-1)
    if (line.startsWith('$ ')) steps.push({ command: line.slice(2), output: '' })
    else if (step && open) step.command += `\n${line.trim()}`
    else if (step) step.output += `${line}\n`
    open = line.endsWith('\\')
  }
  return steps
}
