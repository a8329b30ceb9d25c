import type { ColumnType, Generated } from 'kysely'

export interface EmittingTables {
  idempotency_keys: IdempotencyKeysTable
  scheduled_events: ScheduledEventsTable
  subscribers: SubscribersTable
  subscriber_secrets: SubscriberSecretsTable
  deliveries: DeliveriesTable
  attempts: AttemptsTable
  subscriber_hours: SubscriberHoursTable
  dispatchers: DispatchersTable
  queue_owners: QueueOwnersTable
  owner_brands: OwnerBrandsTable
  owners: OwnersTable
  event_options: EventOptionsTable
  event_types: EventTypesTable
  idempotent_responses: IdempotentResponsesTable
  portal_links: PortalLinksTable
  portal_sessions: PortalSessionsTable
}

/** One row per emitted event id, which makes a repeated call the same event. */
export interface IdempotencyKeysTable {
  event: number
  event_id: string
  /** SHA-256 of type and data. */
  digest: Uint8Array
  created_at: ColumnType<number, number | undefined, number>
  /** The received event whose handler emitted it, in the transaction of its work. */
  caused_by: number | null
  /** The owner whose subscribers get it; null for subscribers without an owner, `*` for all. */
  audience: string | null
}

/** When an event with a time of its own is sent. */
export interface ScheduledEventsTable {
  event: number
  deliver_at: number
  /** When its deliveries were inserted. */
  released_at: Generated<number | null>
  canceled_at: Generated<number | null>
}

export type SubscriberStatus = 'active' | 'paused' | 'disabled'

export type SigningScheme = 'v1' | 'v1a' | 'both'

export interface SubscribersTable {
  id: string
  url: string
  description: string | null
  /** JSON: patterns of event types, `*` and `order.*` included. */
  event_types: string
  status: SubscriberStatus
  disabled_reason: string | null
  /** JSON: milliseconds before each attempt; null for the schedule of the service. */
  retry_schedule: string | null
  timeout_ms: number | null
  /** Deliveries per second; null for no limit. */
  rate_limit: number | null
  concurrency: number | null
  /** Sealed JSON: additional request headers, which may contain credentials. */
  headers: Uint8Array | null
  /** Sealed JSON: how requests authenticate, and certificates. */
  credentials: Uint8Array | null
  /** JSON: method, statuses and compression, if they are not the defaults. */
  request: string | null
  /** JavaScript that changes its requests. */
  transformation: string | null
  ordered: number
  signing: SigningScheme
  created_at: number
  updated_at: number
  /** The tenant or user that it belongs to. */
  owner: string | null
  /** JSON: conditions on an event's data. */
  conditions: string | null
  /** JSON: the channels whose events it gets; null for all events. */
  channels: string | null
  /** The id that the caller chose, unique among the subscribers of an owner. */
  uid: string | null
  /** JSON: texts of the caller by name. */
  metadata: string | null
  /** Whether requests are signed by RFC 9421 as well. */
  http_signature: number
  /** Whether it gets operational events, which are about deliveries and subscribers, and no others. */
  operational: number
  /** When the operational event that its deliveries fail was emitted; null after a success. */
  failing_since: number | null
  /** When the operational event that it will be disabled was emitted. */
  warned_at: number | null
}

export interface SubscriberSecretsTable {
  id: string
  subscriber_id: string
  /** v1: a symmetric key (whsec_). v1a: an ed25519 pair (whsk_). */
  scheme: 'v1' | 'v1a'
  /** Sealed. */
  secret: Uint8Array
  created_at: number
  /** Set by a rotation; null for the newest one. */
  expires_at: number | null
}

export type DeliveryStatus = 'pending' | 'delivered' | 'dead'

export interface DeliveriesTable {
  id: Generated<number>
  event: number
  subscriber_id: string
  /** The owner of its subscriber. */
  owner: Generated<string | null>
  status: DeliveryStatus
  /** Recorded attempts. */
  attempts: number
  /** Attempts before the last replay; the retry schedule counts from here. */
  attempts_before: number
  /** When the schedule's next attempt is due, if somebody asked for one before that. */
  planned_at: Generated<number | null>
  due_at: number
  created_at: number
  finished_at: number | null
  /** The nonce of its event. */
  nonce: Generated<number | null>
}

/** Append-only: one row per attempt of a delivery. */
export interface AttemptsTable {
  delivery: number
  number: number
  at: number
  duration_ms: number
  /** The status of the response; null without a response. */
  status: number | null
  error: string | null
  /** The kind of failure; null for a success. */
  failure: string | null
  /** JSON: the duration of each phase. */
  phases: string | null
  /** JSON: the headers, and the address under `:url`. */
  request_headers: string
  response_headers: string | null
  /** The beginning of what was sent, if a transformation changed the body. */
  request_body: Uint8Array | null
  response_body: Uint8Array | null
}

/** The number of attempts of a subscriber that ended in one hour, by duration. */
export interface SubscriberHoursTable {
  subscriber_id: string
  /** Its first millisecond. */
  hour: number
  /** The longest duration of the class in milliseconds; 0 is the class of all longer ones. */
  duration_class: number
  delivered: number
  failed: number
}

/** A process that sends deliveries. PostgreSQL only. */
export interface DispatchersTable {
  /** The process holds an advisory lock on it. */
  id: Generated<number>
}

/** The dispatcher that owns the deliveries of a subscriber. PostgreSQL only. */
export interface QueueOwnersTable {
  subscriber_id: string
  dispatcher: number
}

/** The brand of an owner's portal. */
export interface OwnerBrandsTable {
  owner: string
  name: string | null
  /** `#rrggbb`. */
  color: string | null
  /** A `data:` URI. */
  logo: string | null
  updated_at: number
}

export interface OwnersTable {
  owner: string
  /** The display name. */
  name: string | null
  /** The id that a caller chose. Null: the owner is the uid, unless its id was generated. The application's id: no uid. */
  uid: Generated<string | null>
  /** JSON: texts of the caller by name. */
  metadata: Generated<string | null>
  /** Events per second, as a caller of the Svix-compatible API set it. Not enforced. */
  rate_limit: Generated<number | null>
  created_at: number
  updated_at: number
}

/** What an emitted event has beyond its type and payload. */
export interface EventOptionsTable {
  event: number
  /** The id that the caller chose. */
  uid: string | null
  /** JSON: only subscribers without channels, or with one of these, get it. */
  channels: string | null
  /** JSON: labels by which it can be found. */
  tags: string | null
  /** When its payload is removed; null: with the event. */
  expires_at: number | null
  /** When its payload was removed. */
  expunged_at: Generated<number | null>
}

/** Event types that were created through the API. */
export interface EventTypesTable {
  type: string
  description: string
  /** JSON: JSON Schemas of the data by version. */
  schemas: string | null
  group_name: string | null
  /** JSON: names. */
  feature_flags: string | null
  archived: number
  deprecated: number
  created_at: number
  updated_at: number
}

/** Responses to requests with an Idempotency-Key. */
export interface IdempotentResponsesTable {
  /** SHA-256 of the caller, the route and the key. */
  key_hash: Uint8Array
  /** Null while the request is in progress. */
  status: number | null
  /** Sealed, because some responses contain secrets. Null for a response without a body. */
  body: Uint8Array | null
  created_at: number
}

/** A link to the portal. Opening it deletes the row. */
export interface PortalLinksTable {
  token_hash: Uint8Array
  owner: string
  /** The duration of the session that it opens, in milliseconds. */
  session_ms: number
  created_at: number
  expires_at: number
}

export interface PortalSessionsTable {
  id: string
  /** SHA-256 of the token, which a cookie, a frame or a client of the Svix-compatible API has. */
  token_hash: Uint8Array
  owner: string
  /** JSON: names. The holder also sees event types with one of these feature flags. */
  feature_flags: Generated<string | null>
  created_at: number
  expires_at: number
}
