import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import { HmacKey } from '../../crypto/secrets.ts'
import {
  asymmetricKey,
  readAsymmetricSeed,
  readSymmetricKey,
  writePublicKey,
} from '../subscribers/secrets.ts'
import { signatures } from './signature.ts'

const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek'
const timestamp = 1614265330
const body = Buffer.from('{"test": 2432232314}')
const seed = Buffer.from(
  '6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==',
  'base64',
).subarray(0, 32)

test('v1 gives the published signature', () => {
  const key = readSymmetricKey('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
  assert.equal(
    signatures([{ id: 'k', scheme: 'v1', key: new HmacKey('sha256', key) }], id, timestamp, body),
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  )
})

test('v1a gives the published signature and public key', () => {
  const signature =
    'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=='
  assert.equal(
    signatures([{ id: 'k', scheme: 'v1a', key: asymmetricKey(seed) }], id, timestamp, body),
    signature,
  )
  assert.equal(writePublicKey(seed), 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=')
})

test('the bytes are signed unchanged, including invalid UTF-8', () => {
  const bytes = Buffer.from([0, 0xff, 0xfe, 0x80])
  const key = asymmetricKey(seed)
  const signature = signatures([{ id: 'k', scheme: 'v1a', key }], id, timestamp, bytes).slice(4)
  assert.ok(
    verify(
      null,
      Buffer.concat([Buffer.from(`${id}.${timestamp}.`), bytes]),
      createPublicKey(key),
      Buffer.from(signature, 'base64'),
    ),
  )
})

test('a secret may have a prefix and padding; an invalid secret is refused without showing it', () => {
  const key = Buffer.alloc(25, 7)
  const base64 = key.toString('base64')
  for (const text of [
    base64,
    `whsec_${base64}`,
    `v1,whsec_${base64}`,
    base64.replaceAll('=', ''),
    ` whsec_${base64} `,
  ])
    assert.deepEqual(readSymmetricKey(text), key)
  const bad = [
    '',
    'whsec_',
    'short',
    Buffer.alloc(15).toString('base64'),
    Buffer.alloc(76).toString('base64'),
    `${base64}!`,
    'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=',
    'a'.repeat(25),
    'bm90IGEg_2VjcmV0IHdpdGggdXJsLXNhZmUgY2hhcmFjdGVycw',
  ]
  for (const text of bad) {
    assert.throws(
      () => readSymmetricKey(text),
      (error: Error) =>
        (error as { code?: string }).code === 'invalid-body' &&
        (text.length <= 6 || !error.message.includes(text.slice(6))),
      text,
    )
  }
})

test('an ed25519 private key is given together with its public key', () => {
  const pair = '6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=='
  const publicKey = 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4='
  assert.equal(writePublicKey(readAsymmetricSeed(`whsk_${pair}`)), publicKey)
  for (const text of [`whsec_${pair}`, `whsk_${pair.replace('6', '7')}`, `whsk_${pair.slice(4)}`, 'whsk_'])
    assert.throws(() => readAsymmetricSeed(text), { code: 'invalid-body' }, text)
})
