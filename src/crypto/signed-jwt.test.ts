import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { test } from 'node:test'
import { jwtVerify } from 'jose'
import { signJwt, type SigningAlgorithm } from './signed-jwt.ts'

const pairs: Readonly<Record<SigningAlgorithm, () => { publicKey: KeyObject; privateKey: KeyObject }>> = {
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  EdDSA: () => generateKeyPairSync('ed25519'),
}

for (const [name, generate] of Object.entries(pairs)) {
  test(`another library verifies a token in ${name}, and none that was changed`, async () => {
    const { publicKey, privateKey } = generate()
    const header = { alg: name as SigningAlgorithm, typ: 'at+jwt', kid: 'k1' }
    const claims = { sub: 'u1', name: 'Zoë 🦊' }
    const token = await signJwt(header, claims, privateKey)
    const verified = await jwtVerify(token, publicKey, { algorithms: [name] })
    assert.deepEqual(verified.payload, claims)
    assert.deepEqual(verified.protectedHeader, header)
    const [head, , signature] = token.split('.')
    const other = Buffer.from(JSON.stringify({ ...claims, sub: 'u2' })).toString('base64url')
    await assert.rejects(jwtVerify(`${head}.${other}.${signature}`, publicKey), /signature/)
  })
}
