import { inspect } from 'node:util'
import type { Random } from '../clock.ts'
import type { Database } from '../storage/database.ts'
import { nextDelay } from '../network/retry.ts'
import { advance } from './advance.ts'
import { askedToWait } from './forward.ts'
import { orderKeysOf } from './order-keys.ts'
import type { ClaimedEvent } from './store.ts'

/** Bytes of an error's text that are kept. */
const longestError = 8 * 1024

export interface Failure {
  claimed: ClaimedEvent
  error: unknown
  startedAt: number
  now: number
}

/**
 * Records a failed attempt and sets when the next one is due; after the last entry of the schedule the event is failed
 * for good and shown so. What counts are recorded failures, not attempts begun: a process that was killed takes none of
 * an event's chances. `lost` when somebody else holds the event: then nothing is written.
 */
export async function recordFailure(
  database: Database,
  { claimed, error, startedAt, now }: Failure,
  schedule: readonly number[],
  random: Random,
): Promise<'retry' | 'failed' | 'lost'> {
  const { event, claim, attempts, attemptsBefore } = claimed
  return database.transaction(
    async (tx) => {
      const held = await tx
        .updateTable('inbox')
        .set({ claim: null, leased_until: null })
        .where('event', '=', event)
        .where('claim', '=', claim)
        .where('status', '=', 'pending')
        .executeTakeFirst()
      if (held.numUpdatedRows === 0n) return 'lost'
      await tx
        .insertInto('handler_failures')
        .values({
          event,
          number: attempts,
          at: startedAt,
          duration_ms: Math.max(0, now - startedAt),
          error: describeError(error),
        })
        .execute()
      const { failures } = await tx
        .selectFrom('handler_failures')
        .select((eb) => eb.fn.countAll<number>().as('failures'))
        .where('event', '=', event)
        .where('number', '>', attemptsBefore)
        .executeTakeFirstOrThrow()
      const delay = nextDelay(schedule, failures, random, askedToWait(error))
      const next = delay === undefined ? ({ status: 'failed' } as const) : { due_at: now + delay }
      await tx.updateTable('inbox').set(next).where('event', '=', event).execute()
      if (delay !== undefined) return 'retry'
      await advance(database.engine, tx, orderKeysOf([claimed]))
      return 'failed'
    },
    { lane: 'work' },
  )
}

/** Gives claimed events back untouched: the attempt does not count, and they are due again at `dueAt`. */
export async function giveBack(
  database: Database,
  claimed: readonly ClaimedEvent[],
  dueAt: number,
): Promise<void> {
  if (claimed.length === 0) return
  await database.transaction(
    async (tx) => {
      for (const [claim, events] of Map.groupBy(claimed, (one) => one.claim)) {
        await tx
          .updateTable('inbox')
          .set((eb) => ({ claim: null, leased_until: null, due_at: dueAt, attempts: eb('attempts', '-', 1) }))
          .where(
            'event',
            'in',
            events.map(({ event }) => event),
          )
          .where('claim', '=', claim)
          .where('status', '=', 'pending')
          .execute()
      }
    },
    { lane: 'work' },
  )
}

/** The error with its stack and causes, as a text that both engines can store. */
export function describeError(error: unknown): string {
  const text = inspect(error, { depth: 4, breakLength: 110, maxStringLength: longestError })
    .replaceAll('\0', '')
    .toWellFormed()
  if (Buffer.byteLength(text) <= longestError) return text
  // Cutting may split a character: what is left of it is dropped.
  return (
    new TextDecoder().decode(Buffer.from(text).subarray(0, longestError - 4)).replace(/\uFFFD$/, '') + '…'
  )
}
