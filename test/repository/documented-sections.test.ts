// A merge can bring the same section into a page twice: Git sees no conflict if its two copies differ in a word.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { allPages, root } from './documented/blocks.ts'

/** Headings of a page with those above them: two sections may have parts of the same name. */
function sectionsOf(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/^( *)```.*?^\1```/gms, '')
  const above: string[] = []
  return [...text.matchAll(/^(#{1,6}) (.+)$/gm)].map(([, marks = '', name = '']) => {
    above.splice(marks.length - 1, above.length, name)
    return above.join(' > ')
  })
}

test('no page has a section twice', () => {
  for (const page of allPages) {
    const sections = sectionsOf(page)
    const twice = sections.filter((section, at) => sections.indexOf(section) !== at)
    assert.deepEqual(twice, [], page)
  }
})
