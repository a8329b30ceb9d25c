import type { Generated } from 'kysely'

export interface EventTables {
  events: EventsTable
  jobs: JobsTable
}

/** The log of received and emitted events. Rows are never updated. */
export interface EventsTable {
  /** Grows with each event; a reader that follows it misses none (docs/adr/0004). */
  id: Generated<number>
  /** The stable id of the webhook event. */
  event_id: string
  direction: 'received' | 'emitted'
  /** The name of the source of a received event. */
  source: string | null
  type: string
  content_type: string
  /** The received bytes, or the bytes to send. */
  payload: Uint8Array
  /** JSON: the request's headers without secrets. */
  headers: string | null
  created_at: number
  /** Of an emitted event: a random number, by which a reused id is detected (docs/adr/0029). Null for received ones. */
  nonce: Generated<number | null>
}

export interface JobsTable {
  id: string
  /** Of deliveries; of failed received events; of a removed subscriber's deliveries; a result that was computed at once. */
  kind: 'replay' | 'reprocess' | 'removal' | 'statistics'
  subscriber_id: string | null
  /** JSON: selects the rows that the job works on. Of `statistics`: the result. */
  filter: string
  status: 'running' | 'done' | 'cancelled' | 'failed'
  total: number
  done: number
  /** The last row that is done: a restart continues behind it. */
  position: number
  /** Deliveries per second; null for no limit. */
  rate: number | null
  due_at: number
  claim: string | null
  created_at: number
  updated_at: number
}
