// docs/guides/operating/logs.md explains each line that the service logs at level info or above, and no other.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/guides/operating/logs.md'), 'utf8')
const sources = globSync('src/**/*.ts', { cwd: root })
  .filter((file) => !file.endsWith('.test.ts') && !file.startsWith('src/demo'))
  .map((file) => readFileSync(join(root, file), 'utf8'))

/** The arguments of a call, from behind its opening bracket. */
function argumentsAt(text: string, start: number): string {
  let depth = 1
  let end = start
  for (; depth > 0 && end < text.length; end += 1) {
    if (text[end] === '(') depth += 1
    if (text[end] === ')') depth -= 1
  }
  return text.slice(start, end - 1)
}

/** The messages that are written as literals: the quoted texts with a space, outside of a call within the arguments. */
function loggedBy(text: string): string[] {
  return [...text.matchAll(/\blog\w*\??\.(?:info|warn|error|fatal)\(/g)].flatMap((call) => {
    const given = argumentsAt(text, call.index + call[0].length)
    return [...given.matchAll(/(['`])((?:(?!\1).)*)\1/gs)]
      .map(([, , message]) => message!)
      .filter((message) => message.includes(' '))
  })
}

test('each logged message is explained', () => {
  const messages = sources.flatMap(loggedBy)
  assert.ok(messages.length > 60, `found only ${messages.length}`)
  const missing = messages.filter((message) => !page.includes(message.replaceAll(/\$\{[^}]*\}/g, '…')))
  assert.deepEqual(missing, [])
})

test('each explained message is logged', () => {
  const all = sources.join('\n')
  const rows = [...page.matchAll(/^- ((?:`[^`]+`(?:,\s+)?)+)\s+\((?:info|warning|error)/gm)].map(
    ([, first]) => first!,
  )
  assert.ok(rows.length > 50, `found only ${rows.length}`)
  const explained = rows.flatMap((row) => [...row.matchAll(/`([^`]+)`/g)].map(([, message]) => message!))
  const unknown = explained.filter((message) => !message.split('…').every((part) => all.includes(part)))
  assert.deepEqual(unknown, [])
})
