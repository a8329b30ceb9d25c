import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isId, newId } from './ids.ts'
import { Keyring, UnknownMasterKey, type SealContext } from './keyring.ts'

/** Contexts are made by `sealedColumns`; here any will do. */
const context = (name: string): SealContext => name as SealContext

const old = 'an old master secret of 32 bytes or more'
const current = 'the current master secret, 32 bytes or more'

test('opens a sealed value only in the same context', () => {
  const keyring = new Keyring([current])
  const sealed = keyring.seal('whsec_x', context('subscriber_secrets:1'))
  assert.equal(keyring.open(sealed, context('subscriber_secrets:1')).toString(), 'whsec_x')
  assert.throws(() => keyring.open(sealed, context('subscriber_secrets:2')))
})

test('the same text is sealed differently each time', () => {
  const keyring = new Keyring([current])
  assert.notDeepEqual(keyring.seal('x', context('c')), keyring.seal('x', context('c')))
})

test('any changed byte is refused', () => {
  const keyring = new Keyring([current])
  const sealed = keyring.seal('secret', context('c'))
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Buffer.from(sealed)
    changed[index] = changed[index]! ^ 1
    assert.throws(() => keyring.open(changed, context('c')), `byte ${index}`)
  }
})

test('after a rotation the old key opens and verifies, the new one seals and signs', () => {
  const before = new Keyring([old])
  const after = new Keyring([current, old])
  assert.equal(after.open(before.seal('x', context('c')), context('c')).toString(), 'x')
  assert.ok(after.verify('m', before.sign('m', 'cursor'), 'cursor'))
  assert.throws(() => before.open(after.seal('x', context('c')), context('c')), UnknownMasterKey)
  assert.ok(!before.verify('m', after.sign('m', 'cursor'), 'cursor'))
})

test('a signature is invalid for another purpose, and when it is too short', () => {
  const keyring = new Keyring([current])
  const mac = keyring.sign('m', 'cursor')
  assert.ok(keyring.verify('m', mac.subarray(0, 16), 'cursor'))
  assert.ok(!keyring.verify('m', mac, 'other'))
  assert.ok(!keyring.verify('m', mac.subarray(0, 15), 'cursor'))
  assert.ok(!keyring.verify('m', Buffer.alloc(0), 'cursor'))
})

test('ids ascend strictly, also within a millisecond and when the clock goes back', () => {
  const now = Date.now()
  const ids = Array.from({ length: 10_000 }, (_, index) => newId(now - index))
  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, ids.length)
  assert.ok(ids.every(isId))
})
