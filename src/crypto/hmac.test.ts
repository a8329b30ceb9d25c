import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { HmacKey } from './hmac.ts'

const bytes = (maxLength: number) => fc.uint8Array({ maxLength })
const part = fc.oneof(bytes(300), fc.string({ unit: 'binary', maxLength: 100 }), fc.string())

test('equals createHmac for all keys, algorithms and parts', () => {
  const key = fc.oneof(bytes(200), fc.string({ unit: 'binary', maxLength: 100 }))
  const algorithm = fc.constantFrom('sha1', 'sha256', 'sha384', 'sha512')
  fc.assert(
    fc.property(
      algorithm,
      key,
      fc.array(fc.array(part, { maxLength: 4 }), { maxLength: 3 }),
      (name, secret, messages) => {
        const mac = new HmacKey(name, secret)
        for (const parts of messages) {
          const expected = createHmac(name, secret)
          for (const one of parts) expected.update(one)
          assert.deepEqual(mac.digest(...parts), expected.digest())
        }
      },
    ),
    { seed: 4, numRuns: 500 },
  )
})

// RFC 4231, test cases 1 and 6: a short key, and one that is longer than a block.
test('matches the test vectors of RFC 4231', () => {
  const hex = (mac: HmacKey, message: string) => mac.digest(message).toString('hex')
  assert.equal(
    hex(new HmacKey('sha256', new Uint8Array(20).fill(0x0b)), 'Hi There'),
    'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
  )
  assert.equal(
    hex(
      new HmacKey('sha256', new Uint8Array(131).fill(0xaa)),
      'Test Using Larger Than Block-Size Key - Hash Key First',
    ),
    '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
  )
})

test('lengths around the block size and the copy limit, and two keys used alternately', () => {
  const [one, other] = [new HmacKey('sha256', 'one'), new HmacKey('sha512', 'other')]
  for (const length of [0, 1, 63, 64, 65, 127, 128, 129, 5_461, 5_462, 16_383, 16_384, 16_385, 100_000]) {
    for (const message of [Buffer.alloc(length, 'x'), 'é'.repeat(length)]) {
      assert.deepEqual(one.digest(message), createHmac('sha256', 'one').update(message).digest())
      assert.deepEqual(
        other.digest('a', message),
        createHmac('sha512', 'other').update('a').update(message).digest(),
      )
    }
  }
})
