import { CompiledQuery } from 'kysely'
import type { Tx } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import { advanceAll, advanceOne, lockKeys } from './order-keys.ts'

/** Makes the next event of each order key pending. Call it last in a transaction: on PostgreSQL it locks the keys. */
export async function advance(engine: Engine, tx: Tx, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return
  if (engine === 'sqlite') {
    for (const key of keys) await tx.executeQuery(CompiledQuery.raw(advanceOne, [key, key]))
    return
  }
  await tx.executeQuery(CompiledQuery.raw(lockKeys, [keys]))
  await tx.executeQuery(CompiledQuery.raw(advanceAll, [keys]))
}
