import { sql } from 'kysely'
import type { Database, Queryable, Tx } from '../../storage/database.ts'
import type { SigningKeysTable } from '../../storage/tables.ts'
import { createPrivateKey, type JsonWebKeyInput, type KeyObject } from 'node:crypto'
import type { CryptoKey, JWK } from 'jose'
import { type Keyring, sealedColumns } from '../../crypto/keyring.ts'

const contextOf = sealedColumns.signingKey.context

/** A key with its imported public half. */
export type LoadedKey = Awaited<ReturnType<typeof importPublicKey>>

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

export async function importPublicKey(row: SigningKeysTable) {
  const { importJWK } = await import('jose')
  const jwk = JSON.parse(row.public_jwk) as JWK
  return { row, jwk, publicKey: (await importJWK(jwk, row.algorithm)) as CryptoKey }
}

export function openPrivateKey(keyring: Keyring, { kid, private_jwk: sealed }: SigningKeysTable): KeyObject {
  const privateJwk = keyring.open(sealed, contextOf({ kid })).toString()
  return createPrivateKey({ key: JSON.parse(privateJwk) as JsonWebKeyInput['key'], format: 'jwk' })
}

/** All keys, in the order in which they start to sign. */
export function readSigningKeys(db: Queryable): Promise<SigningKeysTable[]> {
  return db.selectFrom('signing_keys').selectAll().orderBy('active_at').orderBy('kid').execute()
}

/** The same in one synchronous read on SQLite, where it happens at each request. */
export async function readCurrentSigningKeys(database: Database): Promise<SigningKeysTable[]> {
  if (database.engine === 'postgres') return readSigningKeys(database.reader)
  return database.readConnection.all<SigningKeysTable>('select * from signing_keys order by active_at, kid')
}

/** Runs `work` in a transaction that no other change of the keys runs beside. */
export function withSigningKeysLocked<T>(database: Database, work: (tx: Tx) => Promise<T>): Promise<T> {
  return database.transaction(async (tx) => {
    if (database.engine === 'postgres')
      await sql`lock table signing_keys in share row exclusive mode`.execute(tx)
    return work(tx)
  })
}

/** Inserts a key. All others of its algorithm retire at `retiresAt`, unless they retire earlier. */
export async function insertSuccessor(tx: Tx, row: SigningKeysTable, retiresAt: number): Promise<void> {
  await tx
    .updateTable('signing_keys')
    .set({ retires_at: retiresAt })
    .where('algorithm', '=', row.algorithm)
    .where((eb) => eb.or([eb('retires_at', 'is', null), eb('retires_at', '>', retiresAt)]))
    .execute()
  await tx.insertInto('signing_keys').values(row).execute()
}

export async function deleteRetiredKeys(database: Database, now: number): Promise<void> {
  await database.inBackground((tx) => tx.deleteFrom('signing_keys').where('retires_at', '<=', now).execute())
}

/** Whether tokens of this key are accepted. */
export function isValid({ retires_at: retiresAt }: SigningKeysTable, now: number): boolean {
  return retiresAt === null || retiresAt > now
}
