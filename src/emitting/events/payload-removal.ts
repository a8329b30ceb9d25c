import { sql } from 'kysely'
import type { AuditOrigin, RecordAudit } from '../../accounts/audit/audit.ts'
import { Problem } from '../../errors.ts'
import type { ModuleParts } from '../../http/service-module.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { periodicWorker, type Worker } from '../../runtime/worker.ts'
import type { Tx } from '../../storage/database.ts'
import { withoutPayload } from '../attempt/attempt.ts'
import type { Dispatcher } from '../dispatch/dispatcher.ts'

interface PayloadRemovalParts extends Pick<ModuleParts, 'database' | 'clock' | 'log'> {
  record: RecordAudit
  dispatcher: () => Pick<Dispatcher, 'forgetPayload'>
}

/** Milliseconds between two searches for payloads whose retention period has ended. */
const interval = 30_000
/** The most events of one round. */
const perRound = 1_000
/** The most deliveries of one transaction. An event may have one for each of thousands of subscribers. */
const perStep = 200

/**
 * Removes the payloads of emitted events, at once or after their `payloadRetention`. The event, its deliveries and its attempts stay.
 * The bodies of the attempts are removed as well, and pending deliveries become dead.
 */
export class PayloadRemoval {
  readonly worker: Worker
  readonly #parts: PayloadRemovalParts

  constructor(parts: PayloadRemovalParts) {
    this.#parts = parts
    this.worker = periodicWorker('payloads', parts.clock, interval, () =>
      this.round().catch((error: unknown) =>
        parts.log.error({ err: error }, 'payloads could not be removed'),
      ),
    )
  }

  /** Removing it again is no error. @throws Problem `not-found` for an event that was received or removed */
  async remove(event: number, origin: AuditOrigin): Promise<void> {
    const { database, clock, record } = this.#parts
    const expires_at = clock.now()
    const isRemoved = await database.transaction(async (tx) => {
      if (!(await readEvent(tx, event))) throw new Problem('not-found', { detail: 'There is no such event.' })
      // Otherwise, if this process ends before the next step, `round` waits until a late event is sent.
      await cancelScheduled(tx, event, expires_at)
      const before = await tx
        .insertInto('event_options')
        .values({ event, expires_at })
        // The update locks the row. If this process ends now, the worker finishes the removal.
        .onConflict((conflict) => conflict.column('event').doUpdateSet({ expires_at }))
        .returning('expunged_at')
        .executeTakeFirstOrThrow()
      if (before.expunged_at !== null) return true
      await record(tx, { action: 'event.payload_removed', target: `event:${event}`, ...origin })
      return false
    })
    if (!isRemoved) await this.#removeAll(event)
  }

  /** Replaces the response body of an attempt with a text. */
  async removeResponse(delivery: number, number: number, text: string, origin: AuditOrigin): Promise<void> {
    const { database, record } = this.#parts
    await database.transaction(async (tx) => {
      await tx
        .updateTable('attempts')
        .set({ response_body: Buffer.from(text) })
        .where('delivery', '=', delivery)
        .where('number', '=', number)
        .execute()
      const detail = { attempt: number }
      await record(tx, { action: 'event.payload_removed', target: `delivery:${delivery}`, detail, ...origin })
    })
  }

  /** Removes the payloads whose retention period has ended. */
  async round(): Promise<void> {
    const { database, clock } = this.#parts
    const due = await database.reader
      .selectFrom('event_options')
      .select('event')
      .where('expires_at', '<=', clock.now())
      .where('expires_at', 'is not', null)
      .where('expunged_at', 'is', null)
      // The period of an event that is late begins when it is sent.
      .where(
        sql<boolean>`not exists (select 1 from scheduled_events s where s.event = event_options.event
          and s.deliver_at < event_options.expires_at and s.released_at is null and s.canceled_at is null)`,
      )
      .orderBy('expires_at')
      .limit(perRound)
      .execute()
    for (const { event } of due) await this.#removeAll(event)
  }

  async #removeAll(event: number): Promise<void> {
    const { database } = this.#parts
    for (let after: number | undefined = 0; after !== undefined;) {
      const behind: number = after
      const step = await database.inBackground((tx) => this.#step(tx, event, behind))
      if (step.nonce !== null) {
        // Deliveries in memory may still have the payload.
        this.#parts.dispatcher().forgetPayload(step.nonce)
        database.publish('payload', String(step.nonce))
      }
      after = step.next
    }
    // An ordered subscriber continues with the next delivery.
    database.signal('deliveries')
  }

  /** @returns the event's nonce if this step removed the payload, and the delivery after which the next step begins */
  async #step(tx: Tx, event: number, after: number): Promise<{ nonce: number | null; next?: number }> {
    const { database, clock } = this.#parts
    const now = clock.now()
    // First, in the order in which a release locks both rows.
    await cancelScheduled(tx, event, now)
    const row = tx.selectFrom('event_options').select('event').where('event', '=', event)
    await (database.engine === 'postgres' ? row.forUpdate() : row).execute()
    const found = await readEvent(tx, event)
    if (!found) return { nonce: null }
    await removePayload(tx, found)
    const deliveries = tx
      .selectFrom('deliveries')
      .select(['id', 'status'])
      .where('event', '=', event)
      .where('id', '>', after)
      .orderBy('id')
      .limit(perStep)
    // Locked in the same order as when the results of attempts are recorded.
    const page = await (database.engine === 'postgres' ? deliveries.forUpdate() : deliveries).execute()
    await endPending(tx, idsOf(page.filter(({ status }) => status === 'pending')), now)
    await removeBodies(tx, idsOf(page))
    const isLast = page.length < perStep
    if (isLast)
      await tx.updateTable('event_options').set({ expunged_at: now }).where('event', '=', event).execute()
    return { nonce: found.nonce, ...(!isLast && { next: page.at(-1)!.id }) }
  }
}

type Found = NonNullable<Awaited<ReturnType<typeof readEvent>>>

function readEvent(tx: Tx, event: number) {
  return tx
    .selectFrom('events')
    .select(['id', 'event_id', 'type', 'created_at', 'nonce'])
    .where('id', '=', event)
    .where('direction', '=', 'emitted')
    .executeTakeFirst()
}

/** Without the nonce, no delivery sends what remains of the payload. */
async function removePayload(tx: Tx, event: Found): Promise<void> {
  const { id, event_id, type, created_at } = event
  const rest = JSON.stringify({ id: event_id, type, timestamp: isoTime(created_at) })
  await tx
    .updateTable('events')
    .set({ payload: Buffer.from(rest), nonce: null })
    .where('id', '=', id)
    .execute()
}

async function cancelScheduled(tx: Tx, event: number, now: number): Promise<void> {
  await tx
    .updateTable('scheduled_events')
    .set({ canceled_at: now })
    .where('event', '=', event)
    .where('released_at', 'is', null)
    .where('canceled_at', 'is', null)
    .execute()
}

/** Ends them with an attempt that says why. An attempt in flight can then no longer be recorded under its number. */
async function endPending(tx: Tx, ids: readonly number[], now: number): Promise<void> {
  if (ids.length === 0) return
  const ended = await tx
    .updateTable('deliveries')
    .set((eb) => ({
      status: 'dead' as const,
      attempts: eb('attempts', '+', 1),
      planned_at: null,
      finished_at: now,
    }))
    .where('id', 'in', [...ids])
    .where('status', '=', 'pending')
    .returning(['id', 'attempts'])
    .execute()
  if (ended.length === 0) return
  const { error, failure } = withoutPayload(now)
  await tx
    .insertInto('attempts')
    .values(
      ended.map(({ id, attempts }) => ({
        delivery: id,
        number: attempts,
        at: now,
        duration_ms: 0,
        error,
        failure,
        request_headers: '{}',
      })),
    )
    .execute()
}

async function removeBodies(tx: Tx, deliveries: readonly number[]): Promise<void> {
  if (deliveries.length === 0) return
  await tx
    .updateTable('attempts')
    .set({ request_body: null, response_body: null })
    .where('delivery', 'in', [...deliveries])
    .where((eb) => eb.or([eb('request_body', 'is not', null), eb('response_body', 'is not', null)]))
    .execute()
}

const idsOf = (rows: readonly { id: number }[]): number[] => rows.map(({ id }) => id)
