// Pages that show a file of an example, or the programs of the service, show what is there.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Result } from '../../bench/report/results.ts'
import { comparisons, limits, withFigures } from '../../scripts/measured-figures.ts'
import { withReceivers } from '../../scripts/verification-page.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

test('a block below a mark `file: PATH` is that file, and below `part of: PATH` a part of it', () => {
  let count = 0
  for (const page of globSync('docs/**/*.md', { cwd: root })) {
    const text = read(page)
    const marks = text.match(/^<!-- (?:file|part of): .*-->$/gm) ?? []
    const blocks = [...text.matchAll(/^<!-- (file|part of): (\S+) -->\n\n```[^\n]*\n([^]*?)^```$/gm)]
    assert.equal(blocks.length, marks.length, `${page}: a mark without a block`)
    for (const [, kind, path = '', shown = ''] of blocks) {
      const file = read(path)
      if (kind === 'file') assert.equal(shown, file, `${page} shows ${path}`)
      else assert.ok(file.includes(shown), `${page} shows a part of ${path} that is not there:\n${shown}`)
      count += 1
    }
  }
  assert.ok(count >= 6, `${count} blocks`)
})

test('the page for customers shows the receivers of the service, in all nine languages', () => {
  const page = read('docs/guides/customers/verify.md')
  assert.equal(withReceivers(page), page, 'run `npm run docs`')
  assert.equal(page.match(/^<!-- receiver: /gm)?.length, 9)
})

test('pages show the figures of the last recorded runs', () => {
  const page = read('docs/comparison.md')
  assert.equal(withFigures(page, comparisons), page, 'run `npm run docs`')
  const bounds = read('docs/understanding/limits.md')
  assert.equal(withFigures(bounds, limits), bounds, 'run `npm run docs`')

  const other = (bench: string): Result => {
    const result = JSON.parse(read(`bench/results/${bench}.json`)) as Result
    for (const figure of result.figures) figure.median = 12_345.6
    return result
  }
  assert.ok(withFigures(page, comparisons, other).includes('| SQLite | 12,346 | 12,346 | | |'))
  assert.match(
    withFigures(bounds, limits, other),
    /`authorize` \| SQLite: Postern \| at most 2.00 \| 12 346 ms \|/,
  )
  assert.throws(() => withFigures(page, limits), /mark for process/)
  assert.throws(() => withFigures('', limits), /no mark for missed bounds/)
})
