import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { patternOf, sharedSecret, weaknessOf, weakSettings } from './secret-strength.ts'

test('detects patterns and placeholders', () => {
  const expected: [secret: string, reason: RegExp][] = [
    ['a'.repeat(32), /^has only 1 different character$/],
    ['ab'.repeat(16), /^has only 2 different characters$/],
    ['aaaaaaaaaaaaaaab', /^has only 2/],
    ['abcdefgh'.repeat(4), /^repeats the same 8 characters$/],
    ['password'.repeat(4), /^has only 7/],
    ['please-change-me-to-something-else', /^is a placeholder$/],
    ['your_secret_of_32_bytes_comes_here', /^is a placeholder$/],
  ]
  for (const [secret, reason] of expected) assert.match(patternOf(secret) ?? 'fine', reason, secret)
})

test('random secrets in all usual forms, and sentences, are not taken for patterns', () => {
  for (let round = 0; round < 2_000; round++) {
    const bytes = randomBytes(32)
    for (const encoding of ['hex', 'base64', 'base64url'] as const)
      assert.equal(patternOf(bytes.toString(encoding)), undefined)
    assert.equal(patternOf(randomBytes(16).toString('hex')), undefined)
    assert.equal(patternOf(randomBytes(12).toString('base64')), undefined)
  }
  for (const secret of [
    'test-master-secret-of-32-bytes-or-more',
    'test-webhook-secret',
    'pk_test_admin_key_0123456789',
  ])
    assert.equal(weaknessOf(secret, sharedSecret, true), undefined, secret)
})

test('shared secrets below 6 bytes are refused, and below 16 bytes a warning is given', () => {
  assert.deepEqual(weaknessOf('b', sharedSecret, false), { text: 'is shorter than 6 bytes', refused: true })
  assert.equal(weaknessOf('s3cret-8', sharedSecret, false)?.refused, false)
  assert.equal(weaknessOf('a'.repeat(20), sharedSecret, false)?.refused, false)
  assert.equal(
    weaknessOf('0123456789abcdef', sharedSecret, true)?.text,
    'is a sequence of characters and can be guessed',
  )
})

test('warns of one secret that is used for two purposes', () => {
  const same = randomBytes(32).toString('hex')
  const found = weakSettings({
    masterSecrets: [same],
    webhookSecrets: [same],
    adminApiKey: randomBytes(16).toString('hex'),
  })
  assert.deepEqual(found, [
    {
      text: 'POSTERN_SECRET and WEBHOOK_SECRET are the same secret: use a different one for each',
      refused: false,
    },
  ])
})
