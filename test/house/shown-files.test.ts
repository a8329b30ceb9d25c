// Pages that show a file of an example, or the programs of the service, show what is there.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
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
