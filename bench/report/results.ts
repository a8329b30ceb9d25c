import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Scale } from '../measure/bench.ts'
import type { Outcome } from '../measure/outcome.ts'
import { asMarkdown } from './format.ts'
import type { Machine } from './machine.ts'

export interface Result extends Outcome {
  bench: string
  about: string
  /** ISO 8601. */
  at: string
  seconds: number
  command: string
  scale: Scale
  machine: Machine
}

const folder = join(import.meta.dirname, '..', 'results')

/** Writes a bench's result, and the page that shows the last result of each. */
export function writeResult(result: Result, names: readonly string[]): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${result.bench}.json`), `${JSON.stringify(result, null, 2)}\n`)
  const found = new Set(readdirSync(folder))
  const results = names.filter((name) => found.has(`${name}.json`)).map(readResult)
  writeFileSync(join(folder, 'README.md'), pageOf(results))
}

function readResult(name: string): Result {
  return JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as Result
}

function pageOf(results: readonly Result[]): string {
  return [
    '# Benchmark results',
    'Written by `npm run bench`; not edited by hand. What is measured against what is described in [bench/README.md](../README.md). Rates depend on the machine; ratios, measured side by side in one run, hold better.',
    ...results.map(sectionOf),
    '',
  ].join('\n\n')
}

function sectionOf(result: Result): string {
  const { cpu, cores, memoryGiB, system, node, sqlite, postgres, durableWriteMs } = result.machine
  const machine = [
    `${cores} cores of ${cpu}, ${memoryGiB} GiB, ${system}`,
    `Node ${node}, SQLite ${sqlite}${postgres === undefined ? '' : `, PostgreSQL ${postgres}`}`,
    `a durable write of 4 KiB takes ${durableWriteMs.toFixed(2)} ms`,
  ]
  const { rounds, warmUp } = result.scale
  return [
    `## ${result.bench}`,
    `${result.about}.`,
    `\`${result.command}\` on ${result.at.slice(0, 10)}, ${Math.round(result.seconds)} s, ${rounds} rounds after ${warmUp} to warm up. ${machine.join('; ')}.`,
    asMarkdown(result),
  ].join('\n\n')
}
