import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkContents } from './contents.ts'

test('an unforeseen error is a fault of the contents, not of the database', async () => {
  const [found, ...others] = await Array.fromAsync(checkContents({} as never, { configuration: {} } as never))
  assert.deepEqual([found?.state, found?.about, others], ['fault', 'contents', []])
  assert.match(found!.text, /^TypeError/)
})
