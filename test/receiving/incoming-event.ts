import type { IncomingEvent } from '../../src/receiving/queue/store.ts'

/** A verified event on its way into the database or the spool. */
export const incomingEvent = (eventId: string, more: Partial<IncomingEvent> = {}): IncomingEvent => ({
  source: 'shop',
  eventId,
  type: 'order.paid',
  contentType: 'application/json',
  headers: '{}',
  payload: new Uint8Array(1),
  receivedAt: 0,
  dueAt: 0,
  status: 'pending',
  orderKey: null,
  ...more,
})
