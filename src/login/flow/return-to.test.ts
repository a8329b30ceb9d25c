import assert from 'node:assert/strict'
import { test } from 'node:test'
import { safeReturnTo } from './return-to.ts'

const origin = 'https://gate.example.com'

test('paths of the service are kept as they are', () => {
  for (const path of ['/', '/orders', '/orders?page=2&q=%2F%2Fevil', '/a/b#c', '/%2f%2fevil.example']) {
    assert.equal(safeReturnTo(path, origin), path)
  }
})

test('every text that a browser could read as another site becomes the dashboard', () => {
  const hostile = [
    '',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    'https:evil.example',
    'https://evil.example',
    'https://gate.example.com@evil.example/',
    '@evil.example',
    '.evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
    ' //evil.example',
    '/ //evil.example',
    '/.//evil.example',
    '/x/..//evil.example',
    '/\r\nLocation: https://evil.example',
    `/${'a'.repeat(3_000)}`,
    '/\u0000',
    'dashboard',
    '?x',
    '#x',
  ]
  for (const wanted of hostile)
    assert.equal(safeReturnTo(wanted, origin), '/dashboard', JSON.stringify(wanted))
  assert.equal(safeReturnTo(undefined, origin), '/dashboard')
})
