import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCustomHeaders, showCustomHeaders } from './request-options.ts'

test('headers of the connection, the body and the signature are refused', () => {
  for (const name of [
    'Host',
    'connection',
    'Content-Type',
    'content-length',
    'Transfer-Encoding',
    'TE',
    'Upgrade',
    'Expect',
    'Webhook-Id',
    'webhook-signature',
    'Proxy-Authorization',
    'Sec-Fetch-Site',
    'User-Agent',
  ]) {
    assert.throws(() => readCustomHeaders({ [name]: 'x' }), { code: 'invalid-body' }, name)
  }
})

test('invalid and repeated headers, and too many of them, are refused', () => {
  for (const value of ['', ' ', 'a\r\nb: c', 'a\n', 'a\0', 'é', 'x'.repeat(4097)])
    assert.throws(() => readCustomHeaders({ 'x-a': value }), { code: 'invalid-body' }, JSON.stringify(value))
  for (const name of ['', 'a b', 'a:', 'a\r\n', 'é', '__proto__', 'a'.repeat(129)]) {
    const given = Object.fromEntries([[name, 'x']])
    assert.throws(() => readCustomHeaders(given), { code: 'invalid-body' }, JSON.stringify(name))
  }
  assert.throws(() => readCustomHeaders({ 'x-a': '1', 'X-A': '2' }), { code: 'invalid-body' })
  assert.throws(
    () => readCustomHeaders(Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`x-${n}`, 'x']))),
    { code: 'invalid-body' },
  )
})

test('credentials are not shown, and the shown headers can be sent back unchanged', () => {
  const kept = { authorization: 'Bearer secret', 'x-api-key': 'k', 'x-tenant': 'acme' }
  const shown = showCustomHeaders(kept)
  assert.deepEqual(shown, { authorization: '[redacted]', 'x-api-key': '[redacted]', 'x-tenant': 'acme' })
  assert.deepEqual(readCustomHeaders(shown, kept), kept)
})
