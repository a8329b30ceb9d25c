import type { EventQueueStatus } from '../../storage/tables.ts'

/** A verified event on its way into the event queue. Times are milliseconds since 1970. */
export interface IncomingEvent {
  readonly source: string
  readonly eventId: string
  readonly type: string
  readonly contentType: string
  readonly payload: Uint8Array
  /** JSON. */
  readonly headers: string
  readonly receivedAt: number
  /** `processed` from the start if no handler matches its type; lists show it as `unhandled`. */
  readonly status: Extract<EventQueueStatus, 'pending' | 'processed'>
  readonly dueAt: number
  /** Events with the same key are processed one after the other. */
  readonly orderKey: string | null
}
