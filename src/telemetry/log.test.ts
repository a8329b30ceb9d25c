import assert from 'node:assert/strict'
import { test } from 'node:test'
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
