import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AttemptResult, evaluateAttempt, readDirective } from './attempt.ts'

const answered = (status: number | null, more: Partial<AttemptResult> = {}): AttemptResult => ({
  at: 0,
  durationMs: 1,
  status,
  error: status !== null && status < 300 ? null : 'failed',
  failure: null,
  phases: null,
  requestHeaders: '{}',
  responseHeaders: null,
  responseBody: null,
  ...more,
})
const judged = (result: AttemptResult, begun = 1) =>
  evaluateAttempt(result, [0, 1000, 2000], begun, () => 0.5)

test('`webhook-delivery: abort-message` ends the attempts, and does not change a delivery that succeeded', () => {
  assert.deepEqual(judged(answered(503, { directive: 'abort-message' })), { kind: 'dead' })
  assert.deepEqual(judged(answered(200, { directive: 'abort-message' })), { kind: 'delivered' })
})

test('the header is read regardless of case and of other values; unknown values are ignored', () => {
  assert.equal(readDirective(' Disable '), 'disable')
  assert.equal(readDirective('abort-message, later'), 'abort-message')
  assert.equal(readDirective(['x', 'abort-message']), 'abort-message')
  assert.equal(readDirective('disabled'), undefined)
  assert.equal(readDirective(undefined), undefined)
})
