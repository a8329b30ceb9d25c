// Plaid: a request that was published with its key, and forged, replayed and confused variants of it.
import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { test } from 'node:test'
import { plaid } from './plaid.ts'
import type { Scheme } from './scheme.ts'

const now = 1_700_000_000_000
const seconds = now / 1000
const asked: { url: string; body: unknown }[] = []
const p256 = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const [known, other, expired] = [p256(), p256(), p256()]
const jwkOf = ({ publicKey }: { publicKey: KeyObject }, more: object = {}) => ({
  ...publicKey.export({ format: 'jwk' }),
  alg: 'ES256',
  use: 'sig',
  created_at: 1,
  expired_at: null,
  ...more,
})
const published: Record<string, object> = {
  // https://stackoverflow.com/questions/62143991
  '6c5516e1-92dc-479e-a8ff-5a51992e0001': {
    alg: 'ES256',
    created_at: 1_560_466_143,
    crv: 'P-256',
    expired_at: null,
    kid: '6c5516e1-92dc-479e-a8ff-5a51992e0001',
    kty: 'EC',
    use: 'sig',
    x: '35lvC8uz2QrWpQJ3TUH8t9o9DURMp7ydU518RKDl20k',
    y: 'I8BuXB2bvxelzJAd7OKhd-ZwjCst05Fx47Mb_0ugros',
  },
  k1: jwkOf(known, { kid: 'k1' }),
  gone: jwkOf(expired, { kid: 'gone', expired_at: 1_600_000_000 }),
}

/** Plaid's API. */
async function fetchKey(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const body = JSON.parse(init.body as string) as { key_id: string }
  asked.push({ url: input as string, body })
  const key = published[body.key_id]
  return key ? Response.json({ key, request_id: 'r' }) : new Response('{}', { status: 400 })
}

async function outcome(scheme: Scheme, body: string, token: string | undefined, at = now): Promise<string> {
  const delivery = {
    rawBody: Buffer.from(body),
    headers: token === undefined ? {} : { 'plaid-verification': token },
    now: at,
  }
  let verdict = scheme.verify(delivery)
  if ('fetchFirst' in verdict) {
    await verdict.fetchFirst(fetchKey)
    verdict = scheme.verify(delivery)
  }
  assert.ok(!('answer' in verdict) && !('fetchFirst' in verdict))
  return 'rejected' in verdict ? (verdict.fault ?? verdict.rejected) : verdict.type
}

const make = (more: object = {}): Scheme => plaid({ clientId: 'client', secret: 'api-secret', ...more })
const body = '{"webhook_type":"ITEM","webhook_code":"ERROR","item_id":"i"}'
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex')
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

interface Made {
  head?: object
  claims?: object
  by?: KeyObject
  dsaEncoding?: 'ieee-p1363' | 'der'
}
function token({ head = {}, claims = {}, by = known.privateKey, dsaEncoding = 'ieee-p1363' }: Made = {}) {
  const signed = `${encode({ alg: 'ES256', kid: 'k1', typ: 'JWT', ...head })}.${encode({ iat: seconds, request_body_sha256: digestOf(body), ...claims })}`
  return `${signed}.${sign('sha256', Buffer.from(signed), { key: by, dsaEncoding }).toString('base64url')}`
}

test('plaid: a request that was published with its key', async () => {
  const sent = `{
  "error": null,
  "item_id": "yxQbxDjnD8hr69pKbQpbcKeVn3GL9QuyA7NV3",
  "new_transactions": 390,
  "webhook_code": "HISTORICAL_UPDATE",
  "webhook_type": "TRANSACTIONS"
}`
  const signed =
    'eyJhbGciOiJFUzI1NiIsImtpZCI6IjZjNTUxNmUxLTkyZGMtNDc5ZS1hOGZmLTVhNTE5OTJlMDAwMSIsInR5cCI6IkpXVCJ9.eyJpYXQiOjE1OTA4ODcwMDEsInJlcXVlc3RfYm9keV9zaGEyNTYiOiJiNjNhMDdiNTQ3YjAwZjk5MjU0N2Y2YmJjOGQ5YWNjNjFhOGNjZWUxMzhiYzgyZjQ0YTZiYWEwOTY4M2E1ZDBmIn0.OOKvIihgqCj7Qrb2bmz7T3t7uK-0JyjiEqL2s1kWeJBM4MMmjaHKK8GmU_z91QolBWMzvPgs718EElY-rE3cwQ'
  const at = 1_590_887_001_000
  assert.equal(await outcome(make(), sent, signed, at), 'TRANSACTIONS.HISTORICAL_UPDATE')
  assert.equal(await outcome(make(), `${sent}\n`, signed, at), 'signature-wrong')
  assert.equal(await outcome(make(), sent, signed, at + 301_000), 'timestamp-too-old')
})

test('plaid: the key is fetched once, from the host of the environment, with the credentials', async () => {
  asked.length = 0
  const scheme = make({ environment: 'sandbox', secret: 'new-secret,old-secret' })
  for (let n = 0; n < 3; n += 1) assert.equal(await outcome(scheme, body, token()), 'ITEM.ERROR')
  const url = 'https://sandbox.plaid.com/webhook_verification_key/get'
  assert.deepEqual(asked, [{ url, body: { client_id: 'client', secret: 'new-secret', key_id: 'k1' } }])
  assert.throws(() => make({ clientId: undefined }), /`clientId` is missing/)
})

test('plaid: what is forged, replayed or confused is rejected, and most of it without a request', async () => {
  const scheme = make()
  assert.equal(await outcome(scheme, body, token()), 'ITEM.ERROR')
  asked.length = 0
  const [head = '', claims = '', signature = ''] = token().split('.')
  for (const [what, sent, expected = 'signature-wrong'] of [
    ['no header', undefined, 'signature-missing'],
    ['no token', 'x', 'signature-missing'],
    ['another key', token({ by: other.privateKey })],
    ['a signature in DER', token({ dsaEncoding: 'der' })],
    ['no signature', `${head}.${claims}.`, 'signature-missing'],
    ['alg none', `${encode({ alg: 'none', kid: 'k1' })}.${claims}.${signature}`],
    ['alg HS256', token({ head: { alg: 'HS256' } })],
    ['alg ES384', token({ head: { alg: 'ES384' } })],
    ['critical extensions', token({ head: { crit: ['b64'], b64: false } })],
    ['a path as the name of the key', token({ head: { kid: '../item/get' } })],
    ['no name of the key', token({ head: { kid: undefined } })],
    ['the digest of another body', token({ claims: { request_body_sha256: digestOf(`${body} `) } })],
    ['no digest', token({ claims: { request_body_sha256: undefined } })],
    ['a digest that is a list', token({ claims: { request_body_sha256: [digestOf(body)] } })],
    ['no time', token({ claims: { iat: undefined } })],
    ['an old time', token({ claims: { iat: seconds - 301 } }), 'timestamp-too-old'],
    ['a future time', token({ claims: { iat: seconds + 301 } }), 'timestamp-in-future'],
    [
      'changed claims',
      `${head}.${encode({ iat: seconds, request_body_sha256: digestOf(body), a: 1 })}.${signature}`,
    ],
  ] as const)
    assert.equal(await outcome(scheme, body, sent), expected, what)
  assert.deepEqual(asked, [])
  for (const kid of ['gone', 'unknown', 'unknown']) {
    const by = kid === 'gone' ? expired.privateKey : known.privateKey
    assert.equal(await outcome(scheme, body, token({ head: { kid }, by })), 'signature-wrong', kid)
  }
  assert.equal(asked.length, 2)
  assert.equal(await outcome(scheme, body, token()), 'ITEM.ERROR')
})

test('plaid: equal bodies are two events in two seconds, and one in one', () => {
  const scheme = make()
  const idOf = (made: Made) => {
    const delivery = { rawBody: Buffer.from(body), headers: { 'plaid-verification': token(made) }, now }
    const verdict = scheme.verify(delivery)
    return 'fetchFirst' in verdict ? verdict : 'id' in verdict ? verdict.id : undefined
  }
  const wanted = idOf({})
  assert.ok(typeof wanted === 'object')
  return wanted.fetchFirst(fetchKey).then(() => {
    assert.equal(idOf({}), idOf({}))
    assert.notEqual(idOf({}), idOf({ claims: { iat: seconds + 1 } }))
  })
})
