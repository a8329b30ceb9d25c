import { CompiledQuery } from 'kysely'
import type { Tx } from '../storage/database.ts'
import type { Engine } from '../storage/query-runner.ts'
import { advanceAll, advanceOne, lockKeys } from './order-keys.ts'

/**
 * Lets the next event of each order key go, unless one of it is on its way. To be called last in a transaction: on
 * PostgreSQL the keys are locked until its end.
 */
export async function advance(engine: Engine, tx: Tx, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return
  if (engine === 'sqlite') {
    for (const key of keys) await tx.executeQuery(CompiledQuery.raw(advanceOne, [key, key]))
    return
  }
  await tx.executeQuery(CompiledQuery.raw(lockKeys, [keys]))
  await tx.executeQuery(CompiledQuery.raw(advanceAll, [keys]))
}
