import { Type } from 'typebox'
import type { Clock } from '../clock.ts'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import { readEventNumber } from '../events/event-number.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { Engine } from '../storage/query-runner.ts'
import type { InboxStatus } from '../storage/tables.ts'
import { advance } from './advance.ts'
import { orderKeysOf } from './order-keys.ts'

const Reprocessed = Type.Object({
  id: Type.Integer({ description: 'The number in the event log.' }),
  eventId: Type.String(),
  status: Type.String({
    description: '`pending`, or `blocked` while another event of its order key is not processed yet.',
  }),
})

/** `POST /events/{id}/reprocess`: gives a failed received event all of its attempts again. */
export function reprocessRoutes(app: App, { database, clock }: { database: Database; clock: Clock }): void {
  app.post(
    '/events/:id/reprocess',
    {
      config: { access: 'admin' },
      schema: {
        tags: ['events'],
        summary: 'Run the handlers of a failed received event again',
        params: Type.Object({ id: Type.String() }),
        response: { 202: Reprocessed },
      },
    },
    async ({ params }, reply) => {
      const id = readEventNumber(params.id)
      const { eventId, status } = await reprocess(database, id, clock.now())
      database.signal('inbox')
      return reply.code(202).send({ id, eventId, status })
    },
  )
}

/** @throws Problem `not-found`; `conflict` when the event was emitted, or has not failed; `no-longer-kept`. */
async function reprocess(
  database: Database,
  event: number,
  now: number,
): Promise<{ eventId: string; status: InboxStatus }> {
  return database.transaction(async (tx) => {
    // Locked before it is looked whether the event is still there: it is removed under the same lock.
    const inbox = await tx
      .selectFrom('inbox')
      .select(['status', 'event_id'])
      .where('event', '=', event)
      .$if(database.engine === 'postgres', (query) => query.forUpdate())
      .executeTakeFirst()
    const kept = await tx.selectFrom('events').select('id').where('id', '=', event).executeTakeFirst()
    if (!inbox && kept)
      throw new Problem('conflict', {
        detail: 'The event was emitted, not received: replay its deliveries instead.',
      })
    if (!inbox) throw new Problem('not-found')
    if (inbox.status !== 'failed')
      throw new Problem('conflict', {
        detail: `The event is ${inbox.status}: only a failed one can be processed again.`,
      })
    if (!kept) throw new Problem('no-longer-kept', { detail: 'The event has failed and its body is gone.' })
    await giveAllAttempts(database.engine, tx, [event], now)
    const { status } = await tx
      .selectFrom('inbox')
      .select('status')
      .where('event', '=', event)
      .executeTakeFirstOrThrow()
    return { eventId: inbox.event_id, status }
  })
}

/** Gives failed events all of their attempts again. Returns which had failed. */
async function giveAllAttempts(
  engine: Engine,
  tx: Tx,
  events: readonly number[],
  now: number,
): Promise<number[]> {
  const again = await tx
    .updateTable('inbox')
    .set((eb) => ({
      // Those that have an order wait for whichever of it is on its way, if any is.
      status: eb
        .case()
        .when('order_key', 'is', null)
        .then<InboxStatus>('pending')
        .else<InboxStatus>('blocked')
        .end(),
      claim: null,
      due_at: now,
      attempts_before: eb.ref('attempts'),
    }))
    .where('event', 'in', events)
    .where('status', '=', 'failed')
    // Once more, now that they are locked: whoever removes an event has its lock until the event is gone.
    .where((eb) => eb.exists(eb.selectFrom('events').select('id').whereRef('id', '=', 'inbox.event')))
    .returning(['event', 'order_key as orderKey'])
    .execute()
  await advance(engine, tx, orderKeysOf(again))
  return again.map(({ event }) => event)
}

/** Failed events that one transaction makes due. */
const step = 500

/**
 * Makes the next failed events after number `after` due again, in one short transaction. The last number goes into the
 * next call; a count of 0 means that there are no more.
 */
export async function reprocessFailed(
  database: Database,
  after: number,
  now: number,
): Promise<{ count: number; last: number }> {
  const events = await database.transaction(async (tx) => {
    const failed = await tx
      .selectFrom('inbox')
      .select('event')
      .where('status', '=', 'failed')
      .where('event', '>', after)
      .where((eb) => eb.exists(eb.selectFrom('events').select('id').whereRef('id', '=', 'inbox.event')))
      .orderBy('event')
      .limit(step)
      .$if(database.engine === 'postgres', (query) => query.forUpdate())
      .execute()
    if (failed.length === 0) return []
    return giveAllAttempts(
      database.engine,
      tx,
      failed.map(({ event }) => event),
      now,
    )
  })
  if (events.length > 0) database.signal('inbox')
  return { count: events.length, last: Math.max(after, ...events) }
}
