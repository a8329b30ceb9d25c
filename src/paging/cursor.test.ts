import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Keyring } from '../crypto/keyring.ts'
import { Problem } from '../errors.ts'
import { Cursors, type CursorScope } from './cursor.ts'

const keyring = new Keyring(['a-master-secret-of-32-bytes-or-more'])
const cursors = new Cursors(keyring)
/** One that has issued nothing: another process, or this one after a restart. */
const fresh = (): Cursors => new Cursors(keyring)
const scope: CursorScope = {
  list: 'posts',
  keys: [
    { name: 'createdAt', type: 'text' },
    { name: '_id', type: 'text' },
  ],
  query: { sort: ['-createdAt'] },
}
const numbers: CursorScope = {
  list: 'products',
  keys: [
    { name: 'price', type: 'number' },
    { name: 'n', type: 'integer' },
  ],
  query: null,
}
const refused = (error: unknown): boolean =>
  error instanceof Problem &&
  error.code === 'invalid-cursor' &&
  error.status === 400 &&
  error.extras.parameter === 'cursor'

test('texts of any script survive, and the cursor has only letters and digits', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), (first, second) => {
      const cursor = cursors.encode(scope, [first, second])
      assert.match(cursor, /^[A-Za-z0-9]+$/)
      assert.deepEqual(fresh().decode(scope, cursor), [first, second])
    }),
  )
})

test('a cursor that would be refused for its length is not issued, and the field is named', () => {
  let issued = 0
  for (let length = 5_900; length < 6_200; length += 1) {
    const values = ['x'.repeat(length), 'p-1']
    try {
      assert.deepEqual(fresh().decode(scope, cursors.encode(scope, values)), values)
      issued = length
    } catch (error) {
      assert.ok(error instanceof Problem && error.code === 'invalid-parameter' && error.status === 400)
      assert.equal(error.extras.parameter, 'sort')
      assert.match(error.message, /`createdAt`/)
      assert.equal(length, Math.max(length, issued + 1), 'shorter values are accepted')
    }
  }
  assert.ok(issued > 5_900 && issued < 6_199)
})

test('numbers survive exactly', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger(), (price, n) => {
      const [first, second] = fresh().decode(numbers, cursors.encode(numbers, [price, n]))
      // -0 becomes 0, which is equal to it in every database.
      assert.ok(first === price && second === n)
    }),
  )
})

const timed: CursorScope = { ...scope, keys: [{ name: 'createdAt', type: 'time' }, scope.keys[1]!] }

test('a cursor of any length decodes to JSON', () => {
  for (let length = 0; length < 7; length += 1) {
    const text = Buffer.from(cursors.encode(scope, ['x'.repeat(length), 'y']), 'base64').toString()
    assert.equal(text, JSON.stringify(JSON.parse(text)))
  }
})

test('a cursor that this service did not issue is refused', () => {
  const cursor = cursors.encode(scope, ['a', 'b'])
  const json = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')
  const foreign = new Cursors(new Keyring(['another-master-secret-of-32-bytes-at-least']))
  for (const text of [
    '',
    ' ',
    '0',
    'null',
    'undefined',
    'AAAA',
    `${cursor}AAAA`,
    `${cursor}=`,
    ` ${cursor}`,
    `${cursor}\n`,
    cursor.slice(0, -4),
    cursor.repeat(2),
    'A'.repeat(100_000),
    '\u0000',
    '💥',
    json({ createdAt: 'a', _id: 'b' }),
    json({ createdAt: 'a', _id: 'b', $sig: `1.${'A'.repeat(16)}.${'A'.repeat(24)}` }),
    json([1, 2]),
    foreign.encode(scope, ['a', 'b']),
  ]) {
    assert.throws(() => fresh().decode(scope, text), refused, text.slice(0, 40))
  }
})

test('types are checked even with a valid signature, because SQLite would sort a text after every number', () => {
  for (const values of [
    ['1', 1],
    [1, 1.5],
    [1, null],
    [1, 2 ** 53],
  ] as const) {
    assert.throws(() => fresh().decode(numbers, cursors.encode(numbers, values)), refused)
  }
  assert.throws(() => fresh().decode(timed, cursors.encode(timed, ['soon', 'x'])), refused)
})

test('a cursor has as many values as its query has keys', () => {
  for (const values of [[], ['a'], ['a', 'b', 'c'], ['a', undefined as never]])
    assert.throws(() => cursors.encode(scope, values), /^TypeError: a cursor of posts needs 2 values$/)
  // Signed by a version that held more or fewer values for the same query.
  const [, keys, scopeHash] = /^(.+),"\$sig":"1\.([\w-]{16})/.exec(
    Buffer.from(cursors.encode(scope, ['a', 'b']), 'base64').toString('latin1'),
  )!
  const signed = (members: string): string => {
    const mac = keyring.sign(`1.${scopeHash}.${members}`, 'cursor').subarray(0, 18).toString('base64url')
    const text = `${members},"$sig":"1.${scopeHash}.${mac}`
    return Buffer.from(`${text}${'.'.repeat((3 - ((text.length + 2) % 3)) % 3)}"}`, 'latin1').toString(
      'base64',
    )
  }
  assert.deepEqual(fresh().decode(scope, signed(keys!)), ['a', 'b'])
  assert.throws(() => fresh().decode(scope, signed(`${keys!},"more":"c"`)), refused)
  assert.throws(() => fresh().decode(scope, signed('{"createdAt":"a"')), refused)
})

test('decoding with several scopes tells which one matched', () => {
  const scopes = [scope, { ...scope, query: 'backward' }]
  const back = cursors.encode(scopes[1]!, ['a', 'b'])
  assert.deepEqual(fresh().decodeOneOf(scopes, back), { values: ['a', 'b'], which: 1 })
  assert.throws(() => fresh().decode(scope, back), refused)
})

test('after a rotation of the master key, old cursors work until the old key is removed', () => {
  const newest = 'the-newest-master-secret-of-32-bytes'
  const rotated = new Cursors(new Keyring([newest, 'a-master-secret-of-32-bytes-or-more']))
  const old = cursors.encode(scope, ['a', 'b'])
  assert.deepEqual(rotated.decode(scope, old), ['a', 'b'])
  assert.throws(() => fresh().decode(scope, rotated.encode(scope, ['a', 'b'])), refused)
  assert.throws(() => new Cursors(new Keyring([newest])).decode(scope, old), refused)
})

test('a cached cursor decodes like an uncached one', () => {
  const known = new Cursors(keyring)
  const cursor = known.encode(scope, ['a', 'b'])
  for (const reader of [known, fresh()]) {
    for (let time = 0; time < 2; time += 1) {
      assert.deepEqual(reader.decode(scope, cursor), ['a', 'b'])
      assert.throws(() => reader.decode({ ...scope, query: null }, cursor), refused)
      assert.throws(() => reader.decode(scope, cursor.replace(/.$/, 'A')), refused)
    }
  }
  // Many others push it out, and it stays good.
  for (let number = 0; number < 2_000; number += 1) known.encode(scope, ['a', String(number)])
  assert.deepEqual(known.decode(scope, cursor), ['a', 'b'])
})

test('only short cursors are cached, so that the memory of the cache is bounded', () => {
  let macs = 0
  class CountingKeyring extends Keyring {
    override sign(...given: Parameters<Keyring['sign']>): Buffer {
      macs += 1
      return super.sign(...given)
    }
    override verify(...given: Parameters<Keyring['verify']>): boolean {
      macs += 1
      return super.verify(...given)
    }
  }
  const counted = new Cursors(new CountingKeyring(['a-master-secret-of-32-bytes-or-more']))
  const macsOf = (values: string[]): number => {
    macs = 0
    const cursor = counted.encode(scope, values)
    assert.equal(counted.encode(scope, values), cursor)
    assert.deepEqual(counted.decode(scope, cursor), values)
    return macs
  }
  assert.equal(macsOf(['short', 'p-1']), 1)
  assert.equal(macsOf(['x'.repeat(500), 'p-1']), 3)
})
