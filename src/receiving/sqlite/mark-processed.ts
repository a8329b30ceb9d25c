import { CompiledQuery } from 'kysely'
import { advance } from '../queue/advance.ts'
import { orderKeysOf } from '../queue/order-keys.ts'
import type { EventQueue } from '../queue/store.ts'
import { ClaimLost } from '../worker/interruptions.ts'

const markOne = `
  update event_queue set status = 'processed', processed_at = ?, claim = null, leased_until = null, attempts = attempts + 1
  where event = ? and claim = ? and status = 'pending'`

export const markProcessed: EventQueue['markProcessed'] = async (tx, marks) => {
  for (const { event, claim, at } of marks) {
    const { numAffectedRows } = await tx.executeQuery(CompiledQuery.raw(markOne, [at, event, claim]))
    if (numAffectedRows !== 1n) throw new ClaimLost()
  }
  await advance('sqlite', tx, orderKeysOf(marks))
  return undefined
}
