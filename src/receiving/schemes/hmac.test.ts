import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { hmac, type HmacOptions } from './hmac.ts'

const rawBody = Buffer.from('{"id":"1","type":"a"}')
const accepted = { id: '1', type: 'a' }

function verify(options: Omit<HmacOptions, 'header'>, signature: string | string[] | undefined) {
  return hmac({ header: 'X-Signature', ...options }).verify({
    rawBody,
    headers: { 'x-signature': signature },
    now: 0,
  })
}

const digest = (algorithm: string, encoding: 'hex' | 'base64', secret = 's') =>
  createHmac(algorithm, secret).update(rawBody).digest(encoding)

test('the digest may be of every algorithm, encoding and prefix that is configured, and of no other', () => {
  for (const algorithm of ['sha1', 'sha256', 'sha384', 'sha512'] as const) {
    for (const encoding of ['hex', 'base64'] as const) {
      const options = { secret: 's', algorithm, encoding, prefix: `${algorithm}=` }
      const right = digest(algorithm, encoding)
      assert.deepEqual(verify(options, `${algorithm}=${right}`), accepted)
      assert.ok('rejected' in verify(options, right), 'the prefix is missing')
      assert.ok('rejected' in verify(options, `${algorithm}=${digest(algorithm, encoding, 'other')}`))
    }
  }
})

test('hex digits may be of either case', () => {
  assert.deepEqual(verify({ secret: 's' }, digest('sha256', 'hex').toUpperCase()), accepted)
})

test('secrets may be a string with commas or an array, whose entries may hold commas', () => {
  assert.deepEqual(verify({ secret: 'new, s' }, digest('sha256', 'hex')), accepted)
  assert.deepEqual(verify({ secret: ['new', 's'] }, digest('sha256', 'hex')), accepted)
  assert.deepEqual(verify({ secret: ['a,b'] }, digest('sha256', 'hex', 'a,b')), accepted)
  assert.ok('rejected' in verify({ secret: ['a,b'] }, digest('sha256', 'hex', 'a')))
})

test('without a secret nothing verifies, not even an HMAC with the empty key', () => {
  for (const secret of [undefined, '', ' , ', []]) {
    const scheme = hmac({ header: 'x-signature', secret })
    assert.equal(scheme.hasSecret, false)
    const signature = createHmac('sha256', '').update(rawBody).digest('hex')
    assert.ok('rejected' in scheme.verify({ rawBody, headers: { 'x-signature': signature }, now: 0 }))
  }
})

test('a scheme shows its secret nowhere', () => {
  assert.equal(JSON.stringify(hmac({ header: 'x', secret: 'top-secret' })).includes('top-secret'), false)
})

test('what follows a valid digest makes it invalid', () => {
  for (const tail of ['0', 'zz', ' ', '\n', ','])
    assert.ok('rejected' in verify({ secret: 's' }, digest('sha256', 'hex') + tail))
  assert.ok('rejected' in verify({ secret: 's' }, [digest('sha256', 'hex')]))
})
