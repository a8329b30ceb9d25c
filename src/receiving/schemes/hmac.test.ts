import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
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

test('accepts the configured algorithm, encoding and prefix only', () => {
  for (const algorithm of ['sha1', 'sha256', 'sha384', 'sha512'] as const) {
    for (const encoding of ['hex', 'base64'] as const) {
      const options = { secret: 's', algorithm, encoding, prefix: `${algorithm}=` }
      const right = digest(algorithm, encoding)
      assert.partialDeepStrictEqual(verify(options, `${algorithm}=${right}`), accepted)
      assert.ok('rejected' in verify(options, right), 'the prefix is missing')
      assert.ok('rejected' in verify(options, `${algorithm}=${digest(algorithm, encoding, 'other')}`))
    }
  }
})

test('an array is refused as a body that is not an object, unless the paths lead into it', () => {
  const read = (body: string, options: Partial<HmacOptions> = {}) => {
    const signature = createHmac('sha256', 's').update(body).digest('hex')
    const scheme = hmac({ header: 'x-signature', secret: 's', ...options })
    return scheme.verify({ rawBody: Buffer.from(body), headers: { 'x-signature': signature }, now: 0 })
  }
  const refused = read('[]')
  assert.ok('rejected' in refused)
  assert.equal(refused.detail, 'The body is not a JSON object.')
  const first = { id: { body: '0.id' }, type: { body: '0.type' } }
  assert.partialDeepStrictEqual(read('[{"id":"1","type":"a"}]', first), accepted)
  assert.ok('rejected' in read('[]', first))
})

test('hex digits may be in either case', () => {
  assert.partialDeepStrictEqual(verify({ secret: 's' }, digest('sha256', 'hex').toUpperCase()), accepted)
})

test('secrets are a comma-separated string or an array, whose entries may contain commas', () => {
  assert.partialDeepStrictEqual(verify({ secret: 'new, s' }, digest('sha256', 'hex')), accepted)
  assert.partialDeepStrictEqual(verify({ secret: ['new', 's'] }, digest('sha256', 'hex')), accepted)
  assert.partialDeepStrictEqual(verify({ secret: ['a,b'] }, digest('sha256', 'hex', 'a,b')), accepted)
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

test('a scheme does not expose its secret', () => {
  assert.equal(JSON.stringify(hmac({ header: 'x', secret: 'top-secret' })).includes('top-secret'), false)
})

test('text after a valid digest makes it invalid', () => {
  for (const tail of ['0', 'zz', ' ', '\n', ','])
    assert.ok('rejected' in verify({ secret: 's' }, digest('sha256', 'hex') + tail))
  assert.ok('rejected' in verify({ secret: 's' }, [digest('sha256', 'hex')]))
})

const seconds = 1_700_000_000
const sha256 = (key: string, text: string) => createHmac('sha256', key).update(text).digest('hex')

test('header, unit and template of a signed time are configurable', () => {
  const units = {
    seconds: String(seconds),
    milliseconds: `${seconds}000`,
    iso: '2023-11-14T22:13:20Z',
  } as const
  for (const [timestampUnit, time] of Object.entries(units)) {
    const scheme = hmac({
      header: 'X-Sig',
      secret: 's',
      timestampHeader: 'X-Time',
      timestampUnit: timestampUnit as keyof typeof units,
      signed: 'v0:{timestamp}:{body}:{header:X-Tenant}',
      tolerance: 60,
    })
    const signature = sha256('s', `v0:${time}:${rawBody.toString()}:acme`)
    const headers = { 'x-sig': signature, 'x-time': time, 'x-tenant': 'acme' }
    const at = (offset: number, others = {}) =>
      scheme.verify({ rawBody, headers: { ...headers, ...others }, now: (seconds + offset) * 1000 })
    for (const offset of [-60, 0, 60]) assert.partialDeepStrictEqual(at(offset), accepted, timestampUnit)
    for (const offset of [-61, 61]) assert.ok('rejected' in at(offset), timestampUnit)
    assert.ok('rejected' in at(0, { 'x-tenant': 'other' }), 'a signed header is changed')
    assert.ok('rejected' in at(0, { 'x-tenant': undefined }), 'a signed header is missing')
    assert.ok('rejected' in at(0, { 'x-time': `${time} ` }), 'a time of another form is signed by nobody')
  }
})

test('a header of pairs may have several digests and any separator', () => {
  for (const separator of [',', ';', ' '] as const) {
    const pairs = { separator, timestamp: 'ts', signature: 'h1' }
    const scheme = hmac({ header: 'x-sig', secret: 's', pairs, signed: '{timestamp}.{body}' })
    const right = sha256('s', `${seconds}.${rawBody.toString()}`)
    const verify = (...items: string[]) =>
      scheme.verify({ rawBody, headers: { 'x-sig': items.join(separator) }, now: seconds * 1000 })
    assert.partialDeepStrictEqual(verify(`ts=${seconds}`, `h1=${'00'.repeat(32)}`, `h1=${right}`), accepted)
    for (const items of [
      [`h1=${right}`],
      [`ts=${seconds}`],
      [`ts=${seconds}`, `h0=${right}`],
      ['ts=', `h1=${right}`],
    ])
      assert.ok('rejected' in verify(...items), items.join(separator))
    const afterWrong = (count: number) =>
      verify(`ts=${seconds}`, ...Array<string>(count).fill(`h1=${'00'.repeat(32)}`), `h1=${right}`)
    assert.partialDeepStrictEqual(afterWrong(11), accepted)
    assert.ok('rejected' in afterWrong(16), 'no long header has more verified')
  }
})

test('the signed address is the one of the request or a configured one', () => {
  const options = { header: 'x-sig', secret: 's', signed: '{url}{body}' }
  const called = 'https://hooks.example.com/webhooks/shop?a=1'
  const headers = { 'x-sig': sha256('s', called + rawBody.toString()) }
  assert.partialDeepStrictEqual(hmac(options).verify({ rawBody, headers, now: 0, url: called }), accepted)
  assert.ok('rejected' in hmac(options).verify({ rawBody, headers, now: 0, url: `${called}2` }))
  const scheme = hmac({ ...options, url: called })
  assert.partialDeepStrictEqual(
    scheme.verify({ rawBody, headers, now: 0, url: 'http://10.0.0.1:3000/webhooks/shop' }),
    accepted,
  )
})

test('id and type come from the body, from headers, or are fixed', () => {
  const body = Buffer.from('{"meta":[{"id":42}],"data":{"kind":"paid"},"__proto__":{"kind":"x"}}')
  const headers = { 'x-signature': sha256('s', body.toString()), 'x-event': 'h', 'x-delivery': 'd1' }
  const verify = (options: Pick<HmacOptions, 'id' | 'type'>) =>
    hmac({ header: 'x-signature', secret: 's', ...options }).verify({ rawBody: body, headers, now: 0 })
  assert.partialDeepStrictEqual(verify({ id: { body: 'meta.0.id' }, type: { body: 'data.kind' } }), {
    id: '42',
    type: 'paid',
  })
  assert.partialDeepStrictEqual(verify({ id: { header: 'X-Delivery' }, type: { header: 'X-Event' } }), {
    id: 'd1',
    type: 'h',
  })
  assert.partialDeepStrictEqual(verify({ id: 'digest', type: { always: 'shop' } }), {
    id: `sha256:${createHash('sha256').update(body).digest('hex')}`,
    type: 'shop',
  })
  for (const path of ['meta.1.id', 'data', 'data.kind.length', 'constructor.name', 'toString', ''])
    assert.ok('rejected' in verify({ id: { body: path }, type: { always: 'a' } }), path)
})

test('an integer is an id with all of its digits, however it is written, and other numbers are none', () => {
  const idOf = (number: string, others = '') => {
    const body = Buffer.from(`\ufeff{"items":[{"id":${number}}]${others}}`)
    const place = { body: 'items.0.id' }
    const verdict = hmac({ header: 'x-signature', secret: 's', id: place, type: { always: 'a' } }).verify({
      rawBody: body,
      headers: { 'x-signature': sha256('s', body.toString()) },
      now: 0,
    })
    return 'id' in verdict ? verdict.id : 'rejected' in verdict && verdict.rejected
  }
  for (const [number, id] of [
    ['12', '12'],
    ['-0', '0'],
    ['1.0', '1'],
    ['1e3', '1000'],
    ['12.50e1', '125'],
    ['9007199254740992', '9007199254740992'],
    ['9007199254740993', '9007199254740993'],
    ['-9007199254740993.00', '-9007199254740993'],
    ['900719925474099.3e1', '9007199254740993'],
    ['1E+21', '1000000000000000000000'],
    ['12345678901234567890123', '12345678901234567890123'],
    ['120e-1', '12'],
  ] as const)
    assert.equal(idOf(number), id, number)
  for (const number of ['1.5', '12e-1', '1e-400', '1e400', '1e99999', `1${'0'.repeat(300)}`, 'true', 'null'])
    assert.equal(idOf(number), 'malformed', number)
  // Numbers that deep are not read once more.
  const deep = `,"deep":${'['.repeat(20_000)}1e400${']'.repeat(20_000)}`
  assert.deepEqual([idOf('12', deep), idOf('9007199254740993', deep)], ['12', 'malformed'])
})

test('bodies that are not JSON are verified if no field of them is read', () => {
  const bytes = Buffer.from([0xff, 0x00, 0x3c, 0x61, 0x3e])
  const headers = { 'x-signature': createHmac('sha256', 's').update(bytes).digest('hex'), 'x-id': '1' }
  const options: HmacOptions = {
    header: 'x-signature',
    secret: 's',
    id: { header: 'x-id' },
    type: { always: 'feed' },
  }
  const scheme = hmac({ ...options, mediaTypes: ['application/xml'] })
  assert.partialDeepStrictEqual(scheme.verify({ rawBody: bytes, headers, now: 0 }), { id: '1', type: 'feed' })
  assert.partialDeepStrictEqual(hmac(options).verify({ rawBody: bytes, headers, now: 0 }), {
    rejected: 'malformed',
    detail: 'The body is not valid UTF-8.',
  })
})

test('options that would verify nothing are refused', () => {
  assert.throws(() => hmac({ header: 'x', secret: 's', signed: '{timestamp}' }), /\{body\}/)
  assert.throws(() => hmac({ header: 'x', secret: 's', timestampHeader: 'x-time' }), /\{timestamp\}/)
  assert.throws(() => hmac({ header: 'x', secret: 's', signed: '{timestamp}.{body}' }), /a time/)
})

test('a secret verifies only during its validity period', () => {
  const scheme = hmac({
    header: 'x-signature',
    secret: [
      { secret: 'old', until: '2023-11-14T22:13:20Z' },
      { secret: 'new', from: new Date((seconds - 10) * 1000) },
    ],
  })
  const verifies = (secret: string, at: number): boolean =>
    !(
      'rejected' in
      scheme.verify({ rawBody, headers: { 'x-signature': digest('sha256', 'hex', secret) }, now: at * 1000 })
    )
  assert.partialDeepStrictEqual(
    [-11, -10, -1, 0].map((offset) => [verifies('old', seconds + offset), verifies('new', seconds + offset)]),
    [
      [true, false],
      [true, true],
      [true, true],
      [false, true],
    ],
  )
  assert.equal(scheme.withSecrets(['other']).hasSecret, true)
  assert.throws(() => hmac({ header: 'x', secret: [{ secret: 's', until: 'soon' }] }), /ISO 8601/)
})
