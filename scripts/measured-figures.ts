import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { tableOf } from '../bench/report/format.ts'
import type { Result } from '../bench/report/results.ts'

type Read = (bench: string) => Result
/** What a page says of recorded runs, between a mark of this name and the next `<!-- end -->`. */
type Blocks = Record<string, (read: Read) => string>

const folder = join(import.meta.dirname, '../bench/results')
const readResult: Read = (bench) => JSON.parse(readFileSync(join(folder, `${bench}.json`), 'utf8')) as Result

/** docs/comparison.md */
export const comparisons: Blocks = {
  process: sideBySide('process', 'events handled per second', {
    Postern: 'Postern',
    'BullMQ, Redis with `appendfsync always`': 'BullMQ on Redis (appendfsync always)',
    'Graphile Worker': 'Graphile Worker',
    'pg-boss, a transaction for each event': 'pg-boss, a transaction for each event',
  }),

  deliver: sideBySide('deliver', 'deliveries per second', {
    Postern: 'Postern',
    'a sender on BullMQ': 'sender on BullMQ',
    'a sender on Graphile Worker': 'sender on Graphile Worker',
  }),

  'forward-auth': sideBySide('forward-auth', 'forward authentication requests per second', {
    Postern: 'Postern',
    'a bare Fastify handler that only returns 204': 'bare Fastify',
  }),

  depth: (read) => {
    const result = read('depth')
    return [
      `With cursors, the last page reaches ${ratio(result, 'PostgreSQL: far end by cursor / first page')} times the first page's requests per second.`,
      `With page numbers, page 50,000 reaches ${ratio(result, 'PostgreSQL: page 50000 / page 1')} times page 1's requests per second.`,
      `${sourceOf(result)}.`,
    ].join('\n')
  },

  beside: (read) => {
    const result = read('beside')
    const rivals = result.figures.map(({ name }) => name).filter((name) => !name.endsWith(', Postern'))
    const rows = [
      ['', 'requests per second'],
      ['---', '---'],
      ['Postern', rate(result, 'GET /products, Postern')],
      ...rivals.map((name) => [name.replace(/ on Node.*/, ''), rate(result, name)]),
    ]
    return `${table(rows)}\n\n${sourceOf(result)}.`
  },
}

/** docs/understanding/limits.md */
export const limits: Blocks = {
  'missed bounds': (read) => {
    const missed = readdirSync(folder)
      .filter((file) => file.endsWith('.json'))
      .toSorted()
      .flatMap((file) => missedOf(read(basename(file, '.json'))))
    return missed.length === 0
      ? 'All targets were met.'
      : table([['benchmark', 'figure', 'target', 'measured'], ['---', '---', '---', '---'], ...missed])
  },
}

function missedOf(result: Result): string[][] {
  const { ratios, figures } = tableOf(result)
  return [...ratios, ...figures]
    .filter(([, , , bound]) => bound.includes('MISSED'))
    .map(([name, median, , bound]) => [`\`${result.bench}\``, name, bound.replace('MISSED: ', ''), median])
}

const sourceOf = ({ bench, command, at, machine }: Result): string =>
  `\`${command}\`, ${at.slice(0, 10)}, ${machine.cores} cores, medians ([all figures](../bench/results/README.md#${bench}))`

const table = (rows: string[][]): string =>
  rows.map((cells) => `|${cells.map((cell) => (cell === '' ? ' |' : ` ${cell} |`)).join('')}`).join('\n')

/** A row for each engine, a column for each side. A side without a figure was not run on that engine. */
function sideBySide(bench: string, title: string, sides: Record<string, string>): Blocks[string] {
  return (read) => {
    const result = read(bench)
    const cell = (engine: string, side: string): string => {
      const found = figureOf(result, `${engine}: ${side}`)
      return found ? shown(found.median) : ''
    }
    const rows = ['SQLite', 'PostgreSQL'].map((engine) =>
      [engine].concat(Object.values(sides).map((side) => cell(engine, side))),
    )
    const missing = Object.keys(sides).find((_side, at) => rows.every((cells) => cells[at + 1] === ''))
    if (missing !== undefined) throw new Error(`the last run of ${bench} has no figure of ${missing}`)
    const head = [title, ...Object.keys(sides)]
    return `${table([head, head.map(() => '---'), ...rows])}\n\n${sourceOf(result)}.`
  }
}

/** By its name, which may end with the settings that were the fastest. */
function figureOf({ figures }: Result, wanted: string): { median: number } | undefined {
  return figures.find(({ name }) => name === wanted || name.startsWith(`${wanted}, {`))
}

function rate(result: Result, name: string): string {
  const found = figureOf(result, name)
  if (!found) throw new Error(`${result.bench} has no figure ${name}`)
  return shown(found.median)
}

function ratio(result: Result, name: string): string {
  const found = result.ratios.find((one) => one.name === name)
  if (!found) throw new Error(`${result.bench} has no ratio ${name}`)
  return found.median.toFixed(2)
}

const shown = (value: number): string => Math.round(value).toLocaleString('en-US')

/**
 * The page with the text between each mark `<!-- figures: process -->` and `<!-- end -->` replaced by what the last recorded run says.
 * @throws Error for a block without a mark, and for a mark without a block
 */
export function withFigures(page: string, blocks: Blocks, read: Read = readResult): string {
  const left = new Set(Object.keys(blocks))
  const filled = page.replaceAll(/^<!-- figures: (.+) -->\n[^]*?^<!-- end -->$/gm, (_found, name: string) => {
    if (!left.delete(name)) throw new Error(`the page has a mark for ${name}, which has no text here`)
    return `<!-- figures: ${name} -->\n\n${blocks[name]!(read)}\n\n<!-- end -->`
  })
  if (left.size > 0) throw new Error(`the page has no mark for ${[...left].join(', ')}`)
  return filled
}
