import assert from 'node:assert/strict'
import { createHmac, createPublicKey } from 'node:crypto'
import { test } from 'node:test'
import { createVerifier, httpbis } from 'http-message-signatures'
import { HmacKey } from '../../crypto/secrets.ts'
import { asymmetricKey } from '../subscribers/secrets.ts'
import { httpSignatureHeaders, type SigningKey } from './signature.ts'

const seed = Buffer.alloc(32, 7)
const symmetric = Buffer.alloc(32, 3)
const keys: SigningKey[] = [
  { id: 'key-1', scheme: 'v1', key: new HmacKey('sha256', symmetric) },
  { id: 'key-2', scheme: 'v1a', key: asymmetricKey(seed) },
]
const request = {
  method: 'POST',
  url: 'https://shop.example.com/hooks?a=b%20c',
  headers: { 'content-type': 'application/json', 'webhook-id': 'msg_1', 'webhook-timestamp': '1614265330' },
  body: Buffer.from('{"test": 2432232314}'),
}

/** Whether the independent verifier takes all signatures. */
async function verifies(changed: Partial<typeof request>, headers: Record<string, string>): Promise<boolean> {
  const { method, url, headers: own } = { ...request, ...changed }
  const result = await httpbis.verifyMessage(
    {
      all: true,
      // A signature of 2021, as in the published vectors of webhooks.
      maxAge: 100 * 365 * 86_400,
      requiredFields: ['@method', '@target-uri', 'content-digest', 'webhook-id'],
      keyLookup: async ({ keyid, alg }) => {
        const key = keyid === 'key-1' ? symmetric : createPublicKey(asymmetricKey(seed))
        return { id: String(keyid), algs: [String(alg)], verify: createVerifier(key, String(alg)) }
      },
    },
    { method, url, headers: { ...own, ...headers } },
  )
  return result === true
}

test('a changed request does not verify', async () => {
  const headers = httpSignatureHeaders(keys, request, 1614265330)
  for (const changed of [
    { method: 'PUT' },
    { url: 'https://shop.example.com/hooks' },
    { url: request.url.replace('shop', 'evil') },
    { headers: { ...request.headers, 'webhook-id': 'msg_2' } },
    { headers: { ...request.headers, 'webhook-timestamp': '1614265331' } },
    { headers: { ...request.headers, 'content-type': 'text/plain' } },
  ])
    assert.ok(!(await verifies(changed, headers).catch(() => false)), JSON.stringify(changed))
  const other = httpSignatureHeaders(keys, { ...request, body: Buffer.from('{}') }, 1614265330)
  assert.ok(
    !(await verifies({}, { ...headers, 'content-digest': other['content-digest']! }).catch(() => false)),
  )
})

test('the signature base follows RFC 9421, section 2.5', () => {
  const headers = httpSignatureHeaders(keys.slice(0, 1), request, 1614265330)
  const parameters =
    '("@method" "@target-uri" "content-type" "content-digest" "webhook-id" "webhook-timestamp");created=1614265330;keyid="key-1";alg="hmac-sha256"'
  const base = [
    '"@method": POST',
    '"@target-uri": https://shop.example.com/hooks?a=b%20c',
    '"content-type": application/json',
    '"content-digest": sha-256=:roWJMfZ4h+gVDW+Wyf4DBiwd82tEZMTdyOACwITV0Zg=:',
    '"webhook-id": msg_1',
    '"webhook-timestamp": 1614265330',
    `"@signature-params": ${parameters}`,
  ].join('\n')
  const expected = createHmac('sha256', symmetric).update(base).digest('base64')
  assert.equal(headers['signature-input'], `sig1=${parameters}`)
  assert.equal(headers['signature'], `sig1=:${expected}:`)
})
