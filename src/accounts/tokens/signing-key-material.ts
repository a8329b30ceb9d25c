import { createPrivateKey, type JsonWebKeyInput, type KeyObject } from 'node:crypto'
import type { CryptoKey, JWK } from 'jose'
import { type Keyring, sealedColumns } from '../../crypto/keyring.ts'
import type { SigningKeysTable } from '../../storage/tables.ts'

const contextOf = sealedColumns.signingKey.context

/** A key with its imported public half. */
export interface LoadedKey {
  row: SigningKeysTable
  jwk: JWK
  publicKey: CryptoKey
}

/** A new key pair as a row, active from `now`. RSA keys have 2048 bits. */
export async function newKeyRow(keyring: Keyring, algorithm: string, now: number): Promise<SigningKeysTable> {
  const { calculateJwkThumbprint, exportJWK, generateKeyPair } = await import('jose')
  const pair = await generateKeyPair(algorithm, { extractable: true })
  const publicJwk = await exportJWK(pair.publicKey)
  const kid = await calculateJwkThumbprint(publicJwk)
  return {
    kid,
    algorithm,
    public_jwk: JSON.stringify({ ...publicJwk, kid, alg: algorithm, use: 'sig' }),
    private_jwk: keyring.seal(JSON.stringify(await exportJWK(pair.privateKey)), contextOf({ kid })),
    created_at: now,
    active_at: now,
    retires_at: null,
  }
}

export async function importPublicKey(row: SigningKeysTable): Promise<LoadedKey> {
  const { importJWK } = await import('jose')
  const jwk = JSON.parse(row.public_jwk) as JWK
  return { row, jwk, publicKey: (await importJWK(jwk, row.algorithm)) as CryptoKey }
}

export function openPrivateKey(keyring: Keyring, { kid, private_jwk: sealed }: SigningKeysTable): KeyObject {
  const privateJwk = keyring.open(sealed, contextOf({ kid })).toString()
  return createPrivateKey({ key: JSON.parse(privateJwk) as JsonWebKeyInput['key'], format: 'jwk' })
}
