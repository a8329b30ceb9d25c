import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Keyring } from '../../crypto/keyring.ts'
import { EntryAuthentication } from './entry-authentication.ts'

const [a, b] = ['a'.repeat(32), 'b'.repeat(32)]
const of = (...secrets: string[]) => new EntryAuthentication(new Keyring(secrets), 'SPOOL')
const content = Buffer.from('webhooks')

test('an entry is read with the key that signed it, before and after the others of a rotation', () => {
  const entry = of(a).sign(content)
  for (const reader of [of(a), of(b, a), of(a, b)])
    assert.deepEqual(Buffer.from(reader.verify(entry)), content)
  assert.deepEqual(Buffer.from(of(a, b).verify(of(b, a).sign(content))), content)
  assert.equal(of(b).verify(entry), 'unknown-key')
})

test('a changed, shortened or unsigned entry, and one of another stream, are forged', () => {
  const entry = of(a).sign(content)
  for (const at of [5, 20, 36, 37, entry.length - 1]) {
    const changed = Buffer.from(entry)
    changed[at]! ^= 1
    assert.equal(of(a).verify(changed), 'forged', String(at))
  }
  assert.equal(of(a).verify(entry.subarray(0, 37)), 'forged')
  for (const short of [0, 1, 36]) assert.equal(of(a).verify(entry.subarray(0, short)), 'forged')
  assert.equal(of(a).verify(content), 'forged')
  const other = new EntryAuthentication(new Keyring([a]), 'OTHER')
  assert.equal(other.verify(entry), 'forged')
})
