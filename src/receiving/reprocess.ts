import { Type } from 'typebox'
import type { Clock } from '../clock.ts'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import { readEventNumber } from '../events/event-number.ts'
import type { Database } from '../storage/database.ts'

const Reprocessed = Type.Object({
  id: Type.Integer({ description: 'The number in the event log.' }),
  eventId: Type.String(),
  status: Type.Literal('pending'),
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
      const eventId = await reprocess(database, id, clock.now())
      database.signal('inbox')
      return reply.code(202).send({ id, eventId, status: 'pending' })
    },
  )
}

/** @throws Problem `not-found`; `conflict` when the event was emitted, or has not failed. */
async function reprocess(database: Database, event: number, now: number): Promise<string> {
  return database.transaction(async (tx) => {
    const row = await tx
      .updateTable('inbox')
      .set((eb) => ({ status: 'pending', claim: null, due_at: now, attempts_before: eb.ref('attempts') }))
      .where('event', '=', event)
      .where('status', '=', 'failed')
      .returning('event_id')
      .executeTakeFirst()
    if (row) return row.event_id
    const inbox = await tx.selectFrom('inbox').select('status').where('event', '=', event).executeTakeFirst()
    if (inbox)
      throw new Problem('conflict', {
        detail: `The event is ${inbox.status}: only a failed one can be processed again.`,
      })
    const emitted = await tx.selectFrom('events').select('id').where('id', '=', event).executeTakeFirst()
    if (emitted)
      throw new Problem('conflict', {
        detail: 'The event was emitted, not received: replay its deliveries instead.',
      })
    throw new Problem('not-found')
  })
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
      .orderBy('event')
      .limit(step)
      .execute()
    if (failed.length === 0) return []
    return tx
      .updateTable('inbox')
      .set((eb) => ({ status: 'pending', claim: null, due_at: now, attempts_before: eb.ref('attempts') }))
      .where(
        'event',
        'in',
        failed.map(({ event }) => event),
      )
      .where('status', '=', 'failed')
      .returning('event')
      .execute()
  })
  if (events.length > 0) database.signal('inbox')
  return { count: events.length, last: Math.max(after, ...events.map(({ event }) => event)) }
}
