import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { createLog } from './log.ts'
import { readableLines } from './readable.ts'

function logged(write: (log: ReturnType<typeof createLog>) => void): string {
  const out = new PassThrough()
  write(createLog('info', readableLines(out)))
  return (out.read() as Buffer | null)?.toString() ?? ''
}

const hostile = 'x\n12:00:00  info  forged\r\u001b[2J\u001b]0;title\u0007\u009b31m\u2028\u202egnp'
// oxlint-disable-next-line no-control-regex
const commands = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/

test('logged text cannot start a new line or send control characters to the terminal', () => {
  const text = logged((log) => log.info({ agent: hostile, nested: { agent: hostile } }, hostile))
  assert.equal(text.split('\n').length, 2)
  assert.doesNotMatch(text, commands)
  assert.ok(text.includes(String.raw`\u001b[2J`))
})

test('all lines of an error are indented, including those of its message', () => {
  const text = logged((log) => log.error({ err: new Error(hostile) }, 'failed'))
  const [head, ...lines] = text.trimEnd().split('\n')
  assert.match(head!, /ERROR {2}failed$/)
  assert.doesNotMatch(text, commands)
  for (const line of lines) assert.match(line, /^(Error: | {4})/)
})

test('a line about a failed request has its reference ID, and others do not', () => {
  const reqId = 'cb3a5644-20b5-4ee7-952b-aafa46aa9f43'
  assert.match(
    logged((log) => log.info({ reqId, status: 404 }, 'request')),
    / reqId=cb3a5644\n$/,
  )
  assert.match(
    logged((log) => log.warn({ reqId }, 'sign-in failed')),
    / reqId=cb3a5644\n$/,
  )
  assert.doesNotMatch(
    logged((log) => log.info({ reqId, status: 200 }, 'request')),
    /reqId/,
  )
})
