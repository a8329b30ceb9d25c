// Sources whose senders prove themselves without HMAC: what is right is accepted once; what is forged, replayed or confused is not.
import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, describe, test } from 'node:test'
import { apiKey, basic, bearer, eventGrid, gitlab, jwt, publicKey, type Scheme } from '../../src/index.ts'
import { weakSources } from '../../src/receiving/sources.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { engines, startedService } from '../harness/index.ts'
import { secretPresets } from '../harness/presets.ts'
import type { AnswerTo } from '../harness/answers.ts'

const body = '{"id":"e1","type":"order.paid"}'
const now = Date.now()
const basicOf = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`
type Headers = Record<string, string>

function outcome(scheme: Scheme, headers: Headers, text = body, at = now): string {
  const verdict = scheme.verify({
    rawBody: Buffer.from(text),
    headers,
    now: at,
    url: 'https://a.example/webhooks/s',
  })
  if ('answer' in verdict) return 'answered'
  if ('fetchFirst' in verdict) return 'fetchFirst'
  return 'rejected' in verdict ? (verdict.fault ?? verdict.rejected) : `${verdict.id} ${verdict.type}`
}

const right = 'e1 order.paid'
const [missing, wrong] = ['signature-missing', 'signature-wrong']

for (const [name, scheme, cases] of [
  [
    'basic',
    basic({ user: 'shop', password: ['new-password', 'old-password'] }),
    [
      [{ authorization: basicOf('shop:new-password') }, right],
      [{ authorization: basicOf('shop:old-password') }, right],
      [{ authorization: basicOf('shop:new-password').replace('Basic', 'basic') }, right],
      [{ authorization: basicOf('shop:other') }, wrong],
      [{ authorization: basicOf('other:new-password') }, wrong],
      [{ authorization: basicOf('shop:') }, wrong],
      [{ authorization: basicOf('shop') }, wrong],
      [{ authorization: 'Bearer new-password' }, wrong],
      [{ authorization: 'Basic shop:new-password' }, wrong],
      [{ authorization: 'Basic' }, wrong],
      [{ authorization: '' }, missing],
      [{}, missing],
    ],
  ],
  [
    'bearer',
    bearer({ token: 'new-token,old-token' }),
    [
      [{ authorization: 'Bearer new-token' }, right],
      [{ authorization: 'bearer old-token' }, right],
      [{ authorization: 'new-token' }, wrong],
      [{ authorization: 'Bearer new-token,old-token' }, wrong],
      [{ authorization: 'Bearer new-toke' }, wrong],
      [{ authorization: 'Bearer ' }, wrong],
      [{ authorization: basicOf('new-token:') }, wrong],
      [{ 'x-token': 'new-token' }, missing],
    ],
  ],
  [
    'apiKey',
    apiKey({ header: 'X-Api-Key', key: 'the-key-of-the-shop' }),
    [
      [{ 'x-api-key': 'the-key-of-the-shop' }, right],
      [{ 'x-api-key': 'the-key-of-the-shop ' }, wrong],
      [{ 'x-api-key': 'THE-KEY-OF-THE-SHOP' }, wrong],
      [{ authorization: 'the-key-of-the-shop' }, missing],
      [{ 'x-api-key': '' }, missing],
    ],
  ],
] as const satisfies [string, Scheme, [Headers, string][]][])
  test(`${name}: only the declared credential is accepted, and doctor says that it signs nothing`, () => {
    for (const [headers, expected] of cases)
      assert.equal(outcome(scheme, headers), expected, JSON.stringify(headers))
    assert.match(
      weakSources({ s: scheme }, true).join('\n'),
      /receiving\.sources\.s gets its credential with each request/,
    )
    assert.equal(outcome(scheme.withSecrets([]), cases[0][0]), 'no-valid-secret')
  })

test('doctor names each preset whose sender does not sign the body, and no other', () => {
  const secret = `whsec_${Buffer.from('a secret of thirty-two bytes, yes').toString('base64')}`
  const cautious = Object.entries(secretPresets).flatMap(([name, preset]) => {
    const [key = secret] = publicHalves[name] ?? []
    return weakSources({ [name]: preset({ secret: [key], header: 'x-signature' }) }, true)
  })
  assert.deepEqual(
    cautious.map((line) => line.split(' ', 2).join(' ')).toSorted(),
    ['adyen', 'auth0', 'cloudEvents', 'eventGrid', 'mailgun', 'microsoftGraph'].map(
      (name) => `receiving.sources.${name} gets`,
    ),
  )
  const repeats = /receiving\.sources\.s gets its credential with each request/
  for (const given of ['a-plain-token-of-gitlab', [secret, 'a-plain-token-of-gitlab']])
    assert.match(weakSources({ s: gitlab({ secret: given }) }, true).join('\n'), repeats)
  assert.deepEqual(weakSources({ s: gitlab({ secret }) }, true), [])
})

test('basic: a weak password is named, and an expired one rejected', () => {
  assert.match(
    weakSources({ s: basic({ user: 'a-long-user-name-of-a-shop', password: 'short' }) }, false).join('\n'),
    /shorter than 6 bytes/,
  )
  const timed = basic({ user: 'a', password: [{ secret: 'password-1', until: new Date(now) }] })
  assert.equal(outcome(timed, { authorization: basicOf('a:password-1') }, body, now - 1), right)
  assert.equal(outcome(timed, { authorization: basicOf('a:password-1') }), 'no-valid-secret')
})

const ed25519 = generateKeyPairSync('ed25519')
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa2 = generateKeyPairSync('rsa', { modulusLength: 2048 })
/** Another pair of the same kind. */
const others = new Map<object, { privateKey: KeyObject }>([
  [ed25519, generateKeyPairSync('ed25519')],
  [rsa, rsa2],
  [p256, generateKeyPairSync('ec', { namedCurve: 'P-256' })],
])
/** Of senders whose secret is a public key, or hex. */
const publicHalves: Record<string, string[]> = {
  adyen: ['44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056'],
  discord: [ed25519.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex')],
  sendgrid: [p256.publicKey.export({ format: 'der', type: 'spki' }).toString('base64')],
}
const pem = (key: KeyObject): string => key.export({ format: 'pem', type: 'spki' })

test('publicKey: each algorithm and form of a key; another key, algorithm or body is rejected', () => {
  const rawEd25519 = ed25519.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  for (const [algorithm, hash, pair, more, keys] of [
    [
      'ed25519',
      null,
      ed25519,
      {},
      [pem(ed25519.publicKey), rawEd25519.toString('hex'), rawEd25519.toString('base64')],
    ],
    [
      'rsa-sha256',
      'sha256',
      rsa,
      {},
      [pem(rsa.publicKey), JSON.stringify(rsa.publicKey.export({ format: 'jwk' }))],
    ],
    ['rsa-sha512', 'sha512', rsa, {}, [pem(rsa.publicKey)]],
    ['rsa-pss-sha256', 'sha256', rsa, { padding: 6, saltLength: -1 }, [pem(rsa.publicKey)]],
    [
      'ecdsa-sha256',
      'sha256',
      p256,
      {},
      [p256.publicKey.export({ format: 'der', type: 'spki' }).toString('base64')],
    ],
    ['ecdsa-sha256-p1363', 'sha256', p256, { dsaEncoding: 'ieee-p1363' }, [pem(p256.publicKey)]],
  ] as const)
    for (const key of keys) {
      const scheme = publicKey({ algorithm, key: [key], header: 'X-Signature' })
      const signed = (text: string, by: KeyObject = pair.privateKey): Headers => ({
        'x-signature': sign(hash, Buffer.from(text), { key: by, ...more }).toString('base64'),
      })
      assert.equal(outcome(scheme, signed(body)), right, algorithm)
      assert.equal(outcome(scheme, signed(`${body} `)), wrong, algorithm)
      assert.equal(outcome(scheme, signed(body, others.get(pair)!.privateKey)), wrong, algorithm)
      for (const value of ['', 'AAAA', 'x', 'A'.repeat(88)])
        assert.match(outcome(scheme, { 'x-signature': value }), /^signature-/)
      assert.deepEqual(weakSources({ s: scheme }, true), [])
    }
  assert.throws(
    () => publicKey({ algorithm: 'rsa-sha256', key: pem(p256.publicKey), header: 'x' }),
    /is no key for rsa-sha256/,
  )
  assert.throws(() => publicKey({ algorithm: 'ed25519', key: 'secret', header: 'x' }), TypeError)
  assert.throws(() => publicKey({ algorithm: 'ed25519', header: 'x' }), /either `key` or `url`/)
  const short = generateKeyPairSync('rsa', { modulusLength: 1024 })
  assert.throws(
    () => publicKey({ algorithm: 'rsa-sha256', key: pem(short.publicKey), header: 'x' }),
    TypeError,
  )
})

test('publicKey: a signed time is checked, so that a replay is rejected', () => {
  const scheme = publicKey({
    algorithm: 'ed25519',
    key: pem(ed25519.publicKey),
    header: 'x-signature',
    timestampHeader: 'x-time',
    signed: '{timestamp}.{body}',
  })
  const time = String(Math.floor(now / 1000))
  const signature = sign(null, Buffer.from(`${time}.${body}`), ed25519.privateKey).toString('base64')
  assert.equal(outcome(scheme, { 'x-signature': signature, 'x-time': time }), right)
  assert.equal(outcome(scheme, { 'x-signature': signature, 'x-time': String(Number(time) + 1) }), wrong)
  assert.equal(
    outcome(scheme, { 'x-signature': signature, 'x-time': time }, body, now + 301_000),
    'timestamp-too-old',
  )
})

/** An issuer, whose answers and requests the tests control. */
const issuer = createServer((request, response) => {
  asked.push(request.url!)
  if (isAway) return response.writeHead(503).end()
  const base = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`
  if (request.url === '/.well-known/openid-configuration')
    return response.end(JSON.stringify({ issuer: base, jwks_uri: `${base}/jwks` }))
  if (request.url === '/jwks') return response.end(JSON.stringify({ keys: published }))
  if (request.url === '/key.pem') return response.end(pem(ed25519.publicKey))
  return response.writeHead(404).end()
})
const asked: string[] = []
let isAway = false
const jwkOf = (kid: string, { publicKey: key }: { publicKey: KeyObject }, more = {}) => ({
  kid,
  ...key.export({ format: 'jwk' }),
  ...more,
})
const published: object[] = [jwkOf('r1', rsa), jwkOf('e1', p256), jwkOf('d1', ed25519)]
await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve))
after(() => issuer.close())
const base = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`

interface Made {
  alg?: string
  kid?: string
  claims?: object
  by?: KeyObject
  hash?: string | null
  more?: object
  head?: object
}
function token({
  alg = 'RS256',
  kid = 'r1',
  claims = {},
  by = rsa.privateKey,
  hash = 'sha256',
  more = {},
  head = {},
}: Made = {}): string {
  const seconds = Math.floor(now / 1000)
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${encode({ alg, kid, ...head })}.${encode({ iss: base, aud: 'https://a.example', exp: seconds + 3600, iat: seconds, email: 'push@a.example', ...claims })}`
  return `${signed}.${sign(hash, Buffer.from(signed), { key: by, ...more }).toString('base64url')}`
}

describe('proofs', () => {
  let passed = 0
  const service = startedService(engines[0]!, () => ({
    env: { ALLOW_PRIVATE_NETWORK: 'true' },
    parts: { clock: { ...systemClock, now: () => systemClock.now() + passed } },
    receiving: {
      sources: {
        plain: basic({ user: 'shop', password: 'a-long-password-of-the-shop' }),
        push: jwt({ issuer: base, audience: 'https://a.example', claims: { email: 'push@a.example' } }),
        kinde: jwt({
          issuer: base,
          audience: 'https://a.example',
          jwks: `${base}/jwks`,
          token: { body: true },
          id: { body: 'event_id' },
        }),
        undeclared: jwt({
          issuer: base,
          jwks: `${base}/jwks`,
          token: { body: true },
          id: { body: 'event_id' },
        }),
        grid: eventGrid({
          issuer: base,
          audience: 'https://a.example',
          claims: { email: 'push@a.example' },
        }),
        signed: publicKey({ algorithm: 'ed25519', url: `${base}/key.pem`, header: 'x-signature' }),
        away: publicKey({ algorithm: 'ed25519', url: `${base}/nothing`, header: 'x-signature' }),
      },
    },
  }))
  async function send(source: string, headers: Headers, text = body): Promise<string> {
    const response = await service.fetch(`/webhooks/${source}`, {
      method: 'POST',
      body: text,
      headers: { 'content-type': 'application/json', ...headers },
    })
    return `${response.status} ${await response.text()}`
  }
  const accepted = '200 {"received":true}'
  const rejected = '401 invalid signature'

  test('basic: accepted, and rejected with the text of every source', async () => {
    assert.equal(
      await send('plain', { authorization: basicOf('shop:a-long-password-of-the-shop') }),
      accepted,
    )
    assert.equal(await send('plain', { authorization: basicOf('shop:other') }), rejected)
    assert.equal(await send('plain', {}), rejected)
    const shown = await (await service.admin('/sources/plain')).json()
    assert.match((shown as { weakness: string }).weakness, /^This source gets its credential/)
    const provider = await (await service.admin('/sources/provider')).json()
    assert.equal((provider as { weakness: string | null }).weakness, null)
  })

  test('jwt: while the issuer does not answer, the sender retries', async () => {
    isAway = true
    assert.match(await send('push', { authorization: `Bearer ${token()}` }), /^503 .*keys cannot be fetched/)
    isAway = false
  })

  test('jwt: the issuer’s tokens are accepted by its keys, fetched once for many at once', async () => {
    // The failure before is remembered for five seconds.
    passed = 5_100
    asked.length = 0
    const all = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        send('push', { authorization: `Bearer ${token()}` }, `{"id":"t${n}","type":"a"}`),
      ),
    )
    assert.deepEqual([...new Set(all)], [accepted])
    assert.deepEqual(asked.toSorted(), ['/.well-known/openid-configuration', '/jwks'])
    for (const made of [
      { alg: 'ES256', kid: 'e1', by: p256.privateKey, more: { dsaEncoding: 'ieee-p1363' } },
      { alg: 'EdDSA', kid: 'd1', by: ed25519.privateKey, hash: null },
      { claims: { aud: ['https://b.example', 'https://a.example'] } },
      { alg: 'PS256', more: { padding: 6, saltLength: -1 } },
    ])
      assert.equal(
        await send('push', { authorization: `Bearer ${token(made)}` }),
        accepted,
        JSON.stringify(made),
      )
  })

  test('jwt: forged, expired and confused tokens are rejected, and make no further requests', async () => {
    asked.length = 0
    const seconds = Math.floor(now / 1000)
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const [head = '', claims = '', signature = ''] = token().split('.')
    const unsigned = `${encode({ alg: 'none' })}.${claims}.`
    const hs256 = token({ alg: 'HS256' })
    for (const [what, sent] of [
      ['no token', ''],
      ['another key', token({ by: rsa2.privateKey })],
      ['another key under an unknown name', token({ by: rsa2.privateKey, kid: 'zz' })],
      ['a key of another name', token({ kid: 'e1' })],
      ['alg none', unsigned],
      ['alg none with a signature', `${encode({ alg: 'none' })}.${claims}.${signature}`],
      ['alg HS256', hs256],
      ['alg of another kind of key', token({ alg: 'ES256' })],
      [
        'the key in the token',
        token({ by: rsa2.privateKey, head: { jwk: rsa2.publicKey.export({ format: 'jwk' }) } }),
      ],
      ['an address in the token', token({ by: rsa2.privateKey, head: { jku: `${base}/other` } })],
      ['critical extensions', token({ head: { crit: ['b64'], b64: false } })],
      [
        'changed claims',
        `${head}.${encode({ iss: base, aud: 'https://a.example', exp: seconds + 99_999 })}.${signature}`,
      ],
      ['another issuer', token({ claims: { iss: 'https://evil.example' } })],
      ['another audience', token({ claims: { aud: 'https://b.example' } })],
      ['no audience', token({ claims: { aud: undefined } })],
      ['another account', token({ claims: { email: 'evil@a.example' } })],
      ['expired', token({ claims: { exp: seconds - 61 } })],
      ['without an end', token({ claims: { exp: undefined } })],
      ['an end that is a text', token({ claims: { exp: String(seconds + 60) } })],
      ['not valid yet', token({ claims: { nbf: seconds + 3_000 } })],
      ['four parts', `${token()}.x`],
    ] as const)
      assert.equal(await send('push', { authorization: `Bearer ${sent}` }), rejected, what)
    assert.deepEqual(asked, [])
    assert.equal(await send('push', { 'x-token': token() }), rejected, 'another header')
  })

  test('jwt: a token that is the body becomes the payload of the event', async () => {
    const claims = { event_id: 'event_1', type: 'user.created', data: { user: 'u' }, exp: undefined }
    assert.equal(await send('kinde', { 'content-type': 'application/jwt' }, token({ claims })), accepted)
    const { data } = (await (
      await service.admin('/events?eventId=event_1')
    ).json()) as AnswerTo<'GET /events'>
    assert.equal(data[0]?.type, 'user.created')
    const event = (await (await service.admin(`/events/${data[0].id}`)).json()) as {
      payload: { data: object }
    }
    assert.deepEqual(event.payload.data, { user: 'u' })
    assert.equal(await send('kinde', {}, token({ claims, by: rsa2.privateKey })), rejected)
    assert.equal(await send('kinde', {}, body), rejected)
    assert.match(await send('kinde', {}, token()), /^400 /, 'a token of another use has no event_id')
  })

  test('jwt: without an audience, a token that is the body must not have one, as of Kinde', async () => {
    // The fields of https://github.com/kinde-oss/webhook: it has no `iss`, `aud`, `iat` and `exp`.
    const event = {
      event_id: 'event_2',
      source: 'admin',
      timestamp: '2024-03-07T21:57:21.133279+11:00',
      type: 'user.created',
      data: { user: { id: 'kp_1', email: 'ada@a.example' } },
    }
    const none = { iss: undefined, aud: undefined, exp: undefined, iat: undefined, email: undefined }
    const send2 = (claims: object, by = rsa.privateKey) =>
      send(
        'undeclared',
        { 'content-type': 'application/jwt' },
        token({ claims: { ...none, ...event, ...claims }, by }),
      )
    assert.equal(await send2({}), accepted)
    assert.equal(await send2({ aud: [], event_id: 'event_3' }), accepted)
    for (const claims of [
      { aud: 'https://a.example' },
      { aud: base },
      { aud: [base] },
      { iss: 'https://evil.example' },
    ])
      assert.equal(await send2(claims), rejected, JSON.stringify(claims))
    assert.equal(await send2({}, rsa2.privateKey), rejected)
    assert.match(await send2({ event_id: undefined }), /^400 /)
    assert.equal(
      await send('kinde', {}, token({ claims: { ...none, ...event } })),
      rejected,
      'a declared audience',
    )
    assert.equal(jwt({ issuer: base }).hasSecret, false)
  })

  test('eventGrid: tokens of the issuer authenticate events and the validation, and nothing else does', async () => {
    const events = '[{"topic":"/t","id":"grid_1","eventType":"a"}]'
    const check =
      '[{"id":"v","eventType":"Microsoft.EventGrid.SubscriptionValidationEvent","data":{"validationCode":"512d38b6-c7b8-40c8-89fe-f46f9e9622b6"}}]'
    const by = { authorization: `Bearer ${token()}` }
    assert.equal(await send('grid', by, events), accepted)
    assert.equal(
      await send('grid', by, check),
      '200 {"validationResponse":"512d38b6-c7b8-40c8-89fe-f46f9e9622b6"}',
    )
    for (const headers of [
      {},
      { authorization: `Bearer ${token({ by: rsa2.privateKey })}` },
      { authorization: `Bearer ${token({ claims: { email: 'evil@a.example' } })}` },
      { authorization: `Bearer ${token({ claims: { aud: 'https://b.example' } })}` },
      { authorization: 'Bearer https://a.example' },
    ] as Headers[])
      for (const text of [events, check]) assert.equal(await send('grid', headers, text), rejected)
    assert.equal(await send(`grid?access_token=${token()}`, {}, events), rejected, 'a token in the query')
    assert.match(
      weakSources({ s: eventGrid({ issuer: base, audience: 'a' }) }, true).join(),
      /accepts tokens of every application/,
    )
  })

  test('publicKey: the key is fetched from the declared address; if it is missing there, every webhook is rejected', async () => {
    const signature = sign(null, Buffer.from(body), ed25519.privateKey).toString('base64')
    assert.equal(await send('signed', { 'x-signature': signature }), accepted)
    assert.equal(await send('signed', { 'x-signature': signature }, `${body} `), rejected)
    asked.length = 0
    assert.equal(await send('away', { 'x-signature': signature }), rejected)
    assert.equal(await send('away', { 'x-signature': signature }), rejected)
    assert.deepEqual(asked, ['/nothing'])
  })
})
