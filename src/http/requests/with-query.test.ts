import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withQuery } from './with-query.ts'

test('the own query of an address stays as it is written', () => {
  const added = [
    ['code', 'a b'],
    ['iss', 'https://gate.example.com'],
  ] as const
  const written = 'code=a+b&iss=https%3A%2F%2Fgate.example.com'
  for (const [uri, expected] of [
    ['https://app.example.com/cb', `https://app.example.com/cb?${written}`],
    ['https://app.example.com', `https://app.example.com/?${written}`],
    ['https://app.example.com/cb?', `https://app.example.com/cb?${written}`],
    ['https://app.example.com/cb?flag', `https://app.example.com/cb?flag&${written}`],
    ['https://app.example.com/cb?a=1&', `https://app.example.com/cb?a=1&${written}`],
    ['https://app.example.com/cb?to=/a%20b(c)*', `https://app.example.com/cb?to=/a%20b(c)*&${written}`],
    ['com.example.app:/cb', `com.example.app:/cb?${written}`],
  ] as const)
    assert.equal(withQuery(uri, added), expected)
  assert.equal(withQuery('https://app.example.com/cb?to=/a%20b', []), 'https://app.example.com/cb?to=/a%20b')
})
