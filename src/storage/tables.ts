import type { ColumnType, Generated } from 'kysely'
import type { AccountTables, AuditTables } from './tables/accounts.ts'
import type { LoginTables, ClientTables, OAuth2Tables } from './tables/login.ts'
import type { EventTables, ReceivingTables } from './tables/receiving.ts'
import type { EmittingTables } from './tables/emitting.ts'

export type * from './tables/accounts.ts'
export type * from './tables/login.ts'
export type * from './tables/receiving.ts'
export type * from './tables/emitting.ts'

/**
 * The rows of every table, with the same types on both engines. Times are whole milliseconds since 1970 unless a comment says
 * otherwise; flags are 0 or 1; JSON is text (docs/adr/0002). migrations/ has their indexes and foreign keys.
 */
export interface Tables
  extends
    AccountTables,
    LoginTables,
    ClientTables,
    OAuth2Tables,
    AuditTables,
    EventTables,
    ReceivingTables,
    EmittingTables,
    AlertTables {
  host_sessions: HostSessionsTable
  host_codes: HostCodesTable
  products: ProductsTable
  posts: PostsTable
  postern_users_total: CountsTotalTable
  postern_users_buckets: CountsBucketsTable
  postern_users_changes: CountsChangesTable
  allowances: AllowancesTable
  handler_slots: HandlerSlotsTable
  source_rates: SourceRatesTable
  call_counts: CallCountsTable
  continuity: ContinuityTable
  metric_history: MetricHistoryTable
  migrations: MigrationsTable
}

/** An applied migration. storage/migrate.ts creates the table and writes it. */
interface MigrationsTable {
  number: number
  name: string
  breaking: number
  applied_at: ColumnType<number, number, never>
  checksum: string
}

/** A session at a host other than the service's own: the cookie there has a token of its own. */
interface HostSessionsTable {
  /** SHA-256 of the cookie's token. */
  token_hash: Uint8Array
  session_id: string
  /** With the port, if it is not the default one. */
  host: string
  created_at: number
}

/** A one-time code that carries a session to another host. */
interface HostCodesTable {
  code_hash: Uint8Array
  session_id: string
  host: string
  /** SHA-256 of the value of the binding cookie at that host. */
  browser_hash: Uint8Array
  /** The path to return to. */
  return_to: string
  expires_at: number
}

/** The server that last gave out the numbers of events and deliveries: one row. PostgreSQL only. */
interface ContinuityTable {
  one: number
  /** A random name, new each time that the database was taken back to an earlier state. */
  life: string
  /** What `postern_server()` returned then. */
  server: string
  since: number
}

/** Counts and durations of a minute or an hour, of all processes together. */
export interface MetricHistoryTable {
  /** Seconds: 60 or 3600. */
  step: number
  /** A name of telemetry/history/recorder.ts, or that of one of its parts, such as `webhooks:github`. */
  series: string
  /** Its first millisecond. */
  at: number
  ok: number
  failed: number
  duplicates: number
  /** See `encodeBuckets` in telemetry/history/durations.ts; null without durations. */
  durations: Uint8Array | null
}

/** The use of a limit that holds for all processes together. See emitting/deliveries/allowances.ts. */
interface AllowancesTable {
  /** The kind of limit and its holder. */
  key: string
  /** When the full allowance is available again. */
  until: number
}

/** The slots of one process for a handler with a declared concurrency. PostgreSQL only. */
interface HandlerSlotsTable {
  /** The type or pattern that the handler was declared for. */
  handler: string
  /** The process: its id in `event_queue_claimers`. */
  claimer: number
  held: number
  wanted: number
  /** When other processes may take the slots, unless the process renews them before. */
  until: number
}

/** The use of a source's declared rate by all processes together. PostgreSQL only. */
interface SourceRatesTable {
  source: string
  /** The time of the last change, in milliseconds and fractions. */
  at: number
  /** When the full rate is available again, in milliseconds and fractions. */
  until: number
}

/** The calls of a minute, counted by all processes together. PostgreSQL only. */
interface CallCountsTable {
  /** A hash of the kind of limit and its holder. */
  key: string
  /** Minutes since 1970. */
  minute: number
  calls: number
  /** Calls in the minute before. */
  before: number
}

export interface ProductsTable {
  id: string
  category: string
  price: number
  stock: number
  name: string
  /** Canonical text: UTC with six digits of fraction, `2026-01-31T08:30:00.000000Z`. Sorts by time. */
  created_at: string
}

export interface PostsTable {
  id: string
  title: string
  body: string
  /** As in products. */
  created_at: string
}

/** The number of users without the changes that are not folded in yet: one row. See storage/maintained-counts. */
interface CountsTotalTable {
  one: number
  size: number
}

/** A bucket of about a thousand users. */
interface CountsBucketsTable {
  id: Generated<number>
  /** The id of the first user in it. */
  k0: string
  size: number
}

/** An inserted (1) or deleted (-1) user. On SQLite the rows have an `id`. */
interface CountsChangesTable {
  k0: string
  size: number
}

interface AlertTables {
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
interface AlertRoundsTable {
  one: number
  due_at: number
}
