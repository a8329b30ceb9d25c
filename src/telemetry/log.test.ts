import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { translateError } from '../storage/unavailable.ts'
import { createLog } from './log.ts'

test('an error is logged with its causes, without properties that libraries add', () => {
  const lines: string[] = []
  const log = createLog('info', { write: (line) => lines.push(line) })
  const cause = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED', token: 'hush' })
  const error = Object.assign(new Error('no answer', { cause }), {
    response: { headers: { authorization: 'hush' } },
  })
  log.error({ err: error }, 'failed')
  const { err } = JSON.parse(lines[0]!) as { err: { message: string; cause: { code: string } } }
  assert.equal(err.message, 'no answer')
  assert.equal(err.cause.code, 'ECONNREFUSED')
  assert.ok(!lines[0]!.includes('hush'))
})

test('a line on standard output cannot control the terminal that it is read at', () => {
  const hostile = 'x\u001b[2J\u007f\u009b31m\u2028\u202e'
  const module = JSON.stringify(new URL('log.ts', import.meta.url).href)
  const script = `const { createLog } = await import(${module}); createLog('info').info({ type: ${JSON.stringify(hostile)} }, 'x')`
  const text = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' })
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e]/)
  assert.equal((JSON.parse(text) as { type: string }).type, hostile)
})

test('an unavailable database is logged without stacks, and a fault of the program with one', () => {
  const lines: string[] = []
  const log = createLog('info', { write: (line) => lines.push(line) })
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  log.warn({ err: translateError(refused) }, 'could not sweep')
  log.error({ err: new TypeError('x is not a function', { cause: translateError(refused) }) }, 'failed')
  const [outage, fault] = lines.map((line) => (JSON.parse(line) as { err: object }).err)
  assert.deepEqual(outage, {
    type: 'StorageUnavailable',
    message: 'the database does not answer: connect ECONNREFUSED',
    cause: { type: 'Error', message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' },
  })
  assert.match((fault as { stack: string }).stack, /^TypeError: x is not a function\n +at /)
})
