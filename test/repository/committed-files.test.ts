// Every checkout can hold every committed file, on Windows too.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const committed = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter(Boolean)

test('no committed path has characters or names that Windows cannot hold', () => {
  assert.ok(committed.length > 1_000)
  // https://learn.microsoft.com/windows/win32/fileio/naming-a-file
  const impossible = /[<>:"\\|?*]|[. ](?:\/|$)|(?:^|\/)(?:con|prn|aux|nul|com\d|lpt\d)(?:\.[^/]*)?(?:\/|$)/i
  assert.deepEqual(
    // oxlint-disable-next-line no-control-regex
    committed.filter((path) => impossible.test(path) || /[\u0000-\u001f]/.test(path)),
    [],
  )
  const byCase = new Set(committed.map((path) => path.toLowerCase()))
  assert.equal(byCase.size, committed.length)
})

test('no committed file is empty', () => {
  const empty = committed.filter((path) => lstatSync(join(root, path), { throwIfNoEntry: false })?.size === 0)
  assert.deepEqual(empty, [])
})
