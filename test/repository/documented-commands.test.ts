// The commands, options and scripts that the documentation names exist.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { allPages, blocksOf, root } from './documented/blocks.ts'
import { callsIn, commandLinesOf, faultOf, npmScripts } from './documented/commands.ts'

/** Code within a sentence. */
const inline = (page: string): string[] =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)].map(([, code]) => code!)

const lines: { from: string; line: string }[] = []
for (const page of allPages) {
  for (const block of blocksOf(page))
    for (const line of commandLinesOf(block)) lines.push({ from: block.from, line })
  for (const line of inline(page)) lines.push({ from: page, line })
}

test('each command of `postern` and each of its options exists', () => {
  const calls = lines.flatMap(({ from, line }) => callsIn(line).map((words) => ({ from, words })))
  assert.ok(calls.length >= 100, `${calls.length} calls`)
  const faults = calls.map(({ from, words }) => [from, faultOf(words)]).filter(([, fault]) => fault)
  assert.deepEqual(faults, [])
})

test('each script of npm exists', () => {
  const scripts = npmScripts()
  const named = lines.flatMap(({ from, line }) =>
    [...line.matchAll(/\bnpm run (?:-s |--silent )?([a-z][\w:-]*)/g)].map(([, name]) => ({
      from,
      name: name!,
    })),
  )
  assert.ok(named.length >= 10, `${named.length} scripts`)
  assert.deepEqual(
    named.filter(({ name }) => !scripts.has(name)),
    [],
  )
})

test('a command that does not exist is found', () => {
  assert.deepEqual(callsIn('X=1 npx postern keys create shop --scope a | jq'), [
    ['keys', 'create', 'shop', '--scope', 'a'],
  ])
  assert.equal(faultOf(['keys', 'create', 'shop', '--scope', 'a']), undefined)
  assert.equal(faultOf(['keys', 'invent']), 'postern keys has no command invent')
  assert.equal(faultOf(['send', 'http://x', '--fast']), 'postern send has no option --fast')
})
