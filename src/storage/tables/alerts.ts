import type { Generated } from 'kysely'

export interface AlertTables {
  alert_destinations: AlertDestinationsTable
  alert_states: AlertStatesTable
  alert_sendings: AlertSendingsTable
  alert_rounds: AlertRoundsTable
}

/** A person or room that alerts go to. */
export interface AlertDestinationsTable {
  id: string
  kind: 'email' | 'slack' | 'discord' | 'teams'
  name: string
  /** Sealed JSON: `{"url":…}` or `{"to":[…]}`. The address of an incoming webhook is a credential. */
  target: Uint8Array
  /** JSON: the kinds of conditions; null for all. */
  conditions: string | null
  /** The least severity. */
  severity: 'warning' | 'error'
  /** Milliseconds after which a condition that lasts is sent again; null: never. */
  repeat_ms: number | null
  enabled: number
  created_at: number
  updated_at: number
}

/** A condition that a destination was told of, until it was told of its end. */
export interface AlertStatesTable {
  destination_id: string
  /** Kind and subject. */
  condition: string
  /** As the last message about it told it. */
  severity: 'warning' | 'error'
  text: string
  path: string
  since: number | null
  /** When the last message about it was written. */
  told_at: number
  /** Since when the condition is gone; null while it lasts. */
  gone_since: number | null
}

/** A message to a destination. */
export interface AlertSendingsTable {
  id: string
  destination_id: string
  what: 'opened' | 'repeated' | 'resolved' | 'test'
  subject: string
  /** JSON: the conditions of the message. */
  lines: string
  status: 'pending' | 'sent' | 'failed'
  attempts: Generated<number>
  due_at: number
  error: string | null
  created_at: number
  finished_at: number | null
}

/** One row: the process that updates it evaluates the conditions until then. */
export interface AlertRoundsTable {
  one: number
  due_at: number
}
