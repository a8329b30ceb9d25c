import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '../../network/exchange.ts'
import { failureOfError, failureOfStatus, failureOfTime, troubleshootingHint } from './failures.ts'

const ended = (error: unknown, step: Outcome['step'] = 'answer'): Outcome => ({
  status: null,
  headers: null,
  body: null,
  error,
  step,
  unresolved: false,
  phases: { reused: false, total: 10_003 },
})
const withCode = (code: string): Error => Object.assign(new Error('low-level words'), { code })

test('network errors get a kind, a message and a troubleshooting hint', () => {
  const cases: [error: Error, step: Outcome['step'], kind: string, message: RegExp][] = [
    [withCode('ENOTFOUND'), 'dns', 'name-not-found', /does not resolve/],
    [withCode('ECONNREFUSED'), 'connect', 'refused', /refused/],
    [withCode('ECONNRESET'), 'answer', 'closed', /reset/],
    [withCode('ECONNRESET'), 'tls', 'tls-failed', /handshake/],
    [withCode('CERT_HAS_EXPIRED'), 'tls', 'tls-expired', /expired/],
    [withCode('DEPTH_ZERO_SELF_SIGNED_CERT'), 'tls', 'tls-untrusted', /self-signed/],
    [withCode('ERR_TLS_CERT_ALTNAME_INVALID'), 'tls', 'tls-wrong-name', /another host name/],
    [withCode('ERR_SSL_WRONG_VERSION_NUMBER'), 'tls', 'tls-failed', /ERR_SSL_WRONG_VERSION_NUMBER/],
    [withCode('UND_ERR_CONNECT_TIMEOUT'), 'connect', 'timeout-connect', /no connection .* within 10 s/],
    [withCode('RESERVED_ADDRESS'), 'dns', 'address-refused', /low-level words/],
    [withCode('NEVER_HEARD_OF'), 'answer', 'other', /the request failed: low-level words/],
  ]
  for (const [error, step, kind, message] of cases) {
    const failure = failureOfError(ended(error, step))
    assert.equal(failure.kind, kind)
    assert.match(failure.message, message)
    assert.ok(troubleshootingHint(failure.kind), kind)
  }
})

test('of several failed addresses, the first error is reported', () => {
  const error = new AggregateError([withCode('ECONNREFUSED'), withCode('ENETUNREACH')])
  assert.equal(failureOfError(ended(error, 'connect')).kind, 'refused')
})

test('a message can be stored in every database', () => {
  const { message } = failureOfError(ended(new Error(`a\0b\ud800${'x'.repeat(2000)}`)))
  assert.ok(message.length < 600 && message.isWellFormed() && !message.includes('\0'))
})

test('every status that is no success has a hint', () => {
  for (const status of [300, 302, 400, 401, 403, 404, 410, 413, 418, 422, 429, 500, 503, 599]) {
    const failure = failureOfStatus(status, 'https://elsewhere.test/')
    assert.match(failure.message, new RegExp(`^returned HTTP ${status}`))
    assert.ok(troubleshootingHint(failure.kind), String(status))
  }
})

test('a timeout names the phase that took too long', () => {
  for (const step of ['dns', 'connect', 'tls', 'answer', 'body'] as const) {
    const { kind, message } = failureOfTime(step, 1500)
    assert.equal(kind, `timeout-${step}`)
    assert.match(message, /within 1\.5 s$/)
    assert.ok(troubleshootingHint(kind))
  }
})

test('an unknown kind of a newer version has no hint', () => {
  assert.equal(troubleshootingHint('constructor'), null)
  assert.equal(troubleshootingHint(null), null)
})
