import type { Generated } from 'kysely'
import { type EngineSql, postgresTable, table, tableByKey, typed } from './table.ts'

export type SubscriberStatus = 'active' | 'paused' | 'disabled'

export type SigningScheme = 'v1' | 'v1a' | 'both'

export type DeliveryStatus = 'pending' | 'delivered' | 'dead'

/** Emitted events, the subscribers that get them, and their deliveries. */
export const emitting = {
  /**
   * One row for each emitted event, which makes a repeated call with the same event id the same event. The transaction that
   * emits inserts it. No foreign keys: the row outlives its event and the event that caused it (MARKER_RETENTION_DAYS).
   */
  idempotency_keys: table({
    event: 'bigint primary key',
    event_id: 'text not null unique',
    /** SHA-256 of type and data. */
    digest: 'bytes not null',
    /** The owner whose subscribers get it; null for subscribers without an owner, `*` for all. */
    audience: 'sortedText',
    created_at: 'time not null default 0',
    /** The received event whose handler emitted it, in the transaction of its work. */
    caused_by: 'bigint',
    // For the page of a received event, which lists the events that its handler emitted.
    'index idempotency_keys_caused': '(caused_by) where caused_by is not null',
    // For the events of a customer.
    'index idempotency_keys_of_audience': '(audience, event) where audience is not null',
  }),

  /**
   * One row for each emitted event with a uid, channels, tags or a retention period of its own, and for each whose payload was
   * removed. The transaction that emits the event, or the removal, inserts it. Deleted with its event.
   */
  event_options: tableByKey({
    event: 'bigint primary key',
    /** The id that the caller chose. */
    uid: 'text',
    /** JSON: only subscribers without channels, or with one of these, get it. */
    channels: 'text',
    /** JSON: labels by which it can be found. */
    tags: 'text',
    /** When its payload is removed; null: with the event. */
    expires_at: 'time',
    /** When its payload was removed. */
    expunged_at: 'time',
    // For the payloads to remove.
    'index event_options_by_end': '(expires_at) where expires_at is not null and expunged_at is null',
  }),

  /** One row for each event type that was created through the API. The configuration module declares others. */
  event_types: table({
    type: 'sortedText primary key',
    description: 'text not null',
    /** JSON: JSON Schemas of the data by version. */
    schemas: 'text',
    group_name: 'text',
    /** JSON: names. */
    feature_flags: 'text',
    archived: 'integer not null default 0',
    deprecated: 'integer not null default 0',
    created_at: 'time not null',
    updated_at: 'time not null',
  }),

  /**
   * One row for each emitted event with a time of its own. The transaction that emits inserts it; the worker that inserts its
   * deliveries at that time, or the request that cancels it, updates it. Deleted with its event.
   */
  scheduled_events: tableByKey({
    event: 'bigint primary key',
    deliver_at: 'time not null',
    /** When its deliveries were inserted. */
    released_at: 'time',
    canceled_at: 'time',
    // For the next events, and for the scheduled events of the log.
    'index scheduled_events_next': '(deliver_at) where released_at is null and canceled_at is null',
  }),

  /** One row for each endpoint that gets events. Admins and owners write it; the dispatcher disables one that keeps failing. */
  subscribers: table({
    id: 'sortedText primary key',
    /** The tenant or user that it belongs to. */
    owner: 'sortedText',
    url: 'text not null',
    description: 'text',
    /** JSON: patterns of event types, `*` and `order.*` included. */
    event_types: `text not null default '["*"]'`,
    /** JSON: conditions on an event's data. */
    conditions: 'text',
    /** JSON: the channels whose events it gets; null for all events. */
    channels: 'text',
    /** The id that the caller chose, unique among the subscribers of an owner. */
    uid: 'sortedText',
    /** JSON: texts of the caller by name. */
    metadata: 'text',
    /** Whether it gets operational events, which are about deliveries and subscribers, and no others. */
    operational: 'integer not null default 0',
    status: typed<Generated<SubscriberStatus>>("text not null default 'active'"),
    disabled_reason: 'text',
    /** When the operational event that its deliveries fail was emitted; null after a success. */
    failing_since: 'time',
    /** When the operational event that it will be disabled was emitted. */
    warned_at: 'time',
    /** JSON: milliseconds before each attempt; null for the schedule of the service. */
    retry_schedule: 'text',
    timeout_ms: 'integer',
    /** Deliveries per second; null for no limit. */
    rate_limit: 'double',
    concurrency: 'integer',
    ordered: 'integer not null default 0',
    /** Sealed JSON: additional request headers, which may contain credentials. */
    headers: 'bytes',
    /** Sealed JSON: how requests authenticate, and certificates. */
    credentials: 'bytes',
    /** JSON: method, statuses and compression, if they are not the defaults. */
    request: 'text',
    /** JavaScript that changes its requests. */
    transformation: 'text',
    signing: typed<Generated<SigningScheme>>("text not null default 'v1'"),
    /** Whether requests are signed by RFC 9421 as well. */
    http_signature: 'integer not null default 0',
    created_at: 'time not null',
    updated_at: 'time not null',
    // For the subscribers of an event's audience, and for the portal's list.
    'index subscribers_of_owner': '(owner, id) where owner is not null',
    // The ids that callers choose, unique among the subscribers of an owner.
    'unique index subscribers_by_uid': "(uid, coalesce(owner, '')) where uid is not null",
    // For operational events, which few subscribers get.
    'index subscribers_operational': '(id) where operational = 1',
    // For what needs attention: few fail or are disabled.
    'index subscribers_failing': '(failing_since) where failing_since is not null',
    'index subscribers_disabled': "(updated_at) where status = 'disabled'",
    // For values that a start cannot open, as in provider_tokens.
    'index subscribers_headers_master_key': '(substr(headers, 2, 4))',
    'index subscribers_credentials_master_key': '(substr(credentials, 2, 4))',
  }),

  /** One row for each signing secret of a subscriber: the newest, and older ones that are still valid after a rotation. */
  subscriber_secrets: table({
    id: 'sortedText primary key',
    subscriber_id: 'sortedText not null references subscribers (id) on delete cascade',
    /** v1: a symmetric key (whsec_). v1a: an ed25519 pair (whsk_). */
    scheme: typed<'v1' | 'v1a'>('text not null'),
    /** Sealed. */
    secret: 'bytes not null',
    created_at: 'time not null',
    /** Set by a rotation; null for the newest one. */
    expires_at: 'time',
    // For signing, and for the cascade.
    'index secrets_of_subscriber': '(subscriber_id)',
    // For the older secrets that end soon.
    'index subscriber_secrets_by_end': '(expires_at) where expires_at is not null',
    'index subscriber_secrets_secret_master_key': '(substr(secret, 2, 4))',
  }),

  /**
   * One row for each event and subscriber that it goes to. The transaction that emits inserts it, and the dispatcher that
   * owns the subscriber's deliveries updates it. No foreign key to events: see receiving.ts. None to subscribers: a job deletes
   * the deliveries of a removed one in steps. An insert locks the subscriber, so none comes after the removal.
   */
  deliveries: table({
    id: 'countedKey',
    event: 'bigint not null',
    /** The nonce of its event. */
    nonce: 'bigint',
    subscriber_id: 'sortedText not null',
    /** The owner of its subscriber. */
    owner: 'sortedText',
    status: typed<DeliveryStatus>('text not null'),
    /** Recorded attempts. */
    attempts: 'integer not null default 0',
    /** Attempts before the last replay; the retry schedule counts from here. */
    attempts_before: 'integer not null default 0',
    due_at: 'time not null',
    created_at: 'time not null',
    finished_at: 'time',
    /** When the schedule's next attempt is due, if somebody asked for one before that. */
    planned_at: 'time',
    // For the dispatcher, which reads first attempts and retries separately, each from its last position on.
    'index deliveries_due':
      "(subscriber_id, (case when attempts > 0 then 1 else 0 end), due_at, id) where status = 'pending'",
    // For the delivery log of a subscriber, and for its removal.
    'index deliveries_of_subscriber': '(subscriber_id, id)',
    // For the delivery log of a customer. The owner is that of the subscriber, which never changes.
    'index deliveries_of_owner': '(owner, id) where owner is not null',
    'index deliveries_open_of_owner': "(owner, status, id) where owner is not null and status <> 'delivered'",
    // For deliveries of one status across subscribers. Without the delivered ones, so that the usual delivery writes it once.
    'index deliveries_open': "(status, id) where status <> 'delivered'",
    // For the deliveries of a subscriber that were given up. deliveries_in_order has those that wait.
    'index deliveries_dead_of_subscriber': "(subscriber_id, id) where status = 'dead'",
    // For the state and the deliveries of an event.
    'index deliveries_of_event': '(event, status)',
    // For the failed events of the log. Only a delivery that is given up writes to it.
    'index deliveries_dead_of_event': "(event) where status = 'dead'",
    // For the retried events of the log. Only a delivery that failed since its schedule began, and waits for a retry, is in it.
    // Without the status, SQLite would take deliveries_of_event, and read each pending delivery of an event.
    'index deliveries_retrying_of_event':
      "(event, status) where status = 'pending' and attempts > attempts_before",
    // For the dead letters of the last hour: a start emits the operational events that an ended process did not.
    'index deliveries_dead': "(finished_at) where status = 'dead'",
  }),

  /**
   * One row for each recorded attempt of a delivery. The dispatcher inserts it; it is never updated. Deleted with its delivery.
   * The bodies come last, for the same reason as the payload of an event. No foreign key to deliveries: see receiving.ts.
   */
  attempts: tableByKey({
    delivery: 'bigint not null',
    number: 'integer not null',
    at: 'time not null',
    duration_ms: 'integer not null',
    /** The status of the response; null without a response. */
    status: 'integer',
    error: 'text',
    /** The kind of failure; null for a success. */
    failure: 'text',
    /** JSON: the duration of each phase. */
    phases: 'text',
    /** JSON: the headers, and the address under `:url`. */
    request_headers: 'text not null',
    response_headers: 'text',
    /** The beginning of what was sent, if a transformation changed the body. */
    request_body: 'bytes',
    response_body: 'bytes',
    'primary key': '(delivery, number)',
  }),

  /** One row for each subscriber, hour and class of duration: the number of attempts. The recorder of attempts adds to it. */
  subscriber_hours: tableByKey({
    subscriber_id: 'sortedText not null references subscribers (id) on delete cascade',
    /** Its first millisecond. */
    hour: 'time not null',
    /** The longest duration of the class in milliseconds; 0 is the class of all longer ones. */
    duration_class: 'integer not null',
    delivered: 'integer not null',
    failed: 'integer not null',
    'primary key': '(subscriber_id, hour, duration_class)',
    // For the deletion of old hours.
    'index subscriber_hours_by_hour': '(hour)',
  }),

  /**
   * One row for each link to the portal that was not opened yet. Opening it deletes the row and inserts a session.
   * No foreign keys in these two: an owner is a name that the operator chooses, and no row.
   */
  portal_links: tableByKey({
    token_hash: 'bytes primary key',
    owner: 'sortedText not null',
    /** The duration of the session that it opens, in milliseconds. */
    session_ms: 'bigint not null',
    created_at: 'time not null',
    expires_at: 'time not null',
    // For the end of all access of an owner, and for the deletion of expired links.
    'index portal_links_of_owner': '(owner)',
    'index portal_links_by_end': '(expires_at)',
  }),

  /** One row for each open session of the portal, and for each owner's token of the Svix-compatible API. */
  portal_sessions: table({
    id: 'sortedText primary key',
    /** SHA-256 of the token, which a cookie, a frame or a client of the Svix-compatible API has. */
    token_hash: 'bytes not null unique',
    owner: 'sortedText not null',
    /** JSON: names. The holder also sees event types with one of these feature flags. */
    feature_flags: 'text',
    created_at: 'time not null',
    expires_at: 'time not null',
    // As for links.
    'index portal_sessions_of_owner': '(owner)',
    'index portal_sessions_by_end': '(expires_at)',
  }),

  /** One row for each owner whose portal has a brand of its own. What is null is as in the settings. */
  owner_brands: tableByKey({
    owner: 'sortedText primary key',
    name: 'text',
    /** `#rrggbb`. */
    color: 'text',
    /** A `data:` URI. */
    logo: 'text',
    updated_at: 'time not null',
  }),

  /**
   * One row for each customer. Admins and programs create it; so does the transaction that registers an owner's first
   * subscriber.
   */
  owners: tableByKey({
    owner: 'sortedText primary key',
    /** The display name. */
    name: 'text',
    /** The id that a caller chose. Null: the owner is the uid, unless its id was generated. The application's id: no uid. */
    uid: 'sortedText unique',
    /** JSON: texts of the caller by name. */
    metadata: 'text',
    /** Events per second, as a caller of the Svix-compatible API set it. Not enforced. */
    rate_limit: 'integer',
    /** The last event of removed customers with this id, which is not for this one; 0 without any. */
    events_after: 'bigint not null default 0',
    created_at: 'time not null',
    updated_at: 'time not null',
    // For the list of customers by creation time.
    'index owners_by_time': '(created_at, owner)',
  }),

  /** One row for each id of a removed customer, at least as long as events for it are stored: a new customer does not get them. */
  removed_owners: tableByKey({
    owner: 'sortedText primary key',
    removed_at: 'time not null',
    // For the deletion of old rows.
    'index removed_owners_by_time': '(removed_at)',
  }),

  /** One row for each request with an Idempotency-Key, for twelve hours. Without a status, the request is in progress. */
  idempotent_responses: tableByKey({
    /** SHA-256 of the caller, the route and the key. */
    key_hash: 'bytes primary key',
    /** Null while the request is in progress. */
    status: 'integer',
    /** Sealed, because some responses contain secrets. Null for a response without a body. */
    body: 'bytes',
    created_at: 'time not null',
    // For the deletion of old ones.
    'index idempotent_responses_by_time': '(created_at)',
  }),

  /** One row for each subscriber whose deliveries a process owns (docs/adr/0012-subscriber-queues.md). */
  queue_owners: postgresTable({
    subscriber_id: 'sortedText primary key references subscribers (id) on delete cascade',
    claimer: 'integer not null references claimers (id) on delete cascade',
    // For the cascade.
    'index queue_owners_of_claimer': '(claimer)',
  }),
}

export const emittingOn: EngineSql = {
  sqlite: `
    -- For the first pending delivery of an ordered subscriber. The queries name the index that they need.
    create index deliveries_in_order on deliveries (subscriber_id, id) where status = 'pending';
    -- For the step from a paused subscriber to the next active one.
    create index subscribers_active on subscribers (id) where status = 'active';
  `,
  postgres: `
    -- As on SQLite. A query cannot name its index here, so only the index that it needs has the order that it asks for:
    -- the planner would otherwise take the delivery log or the primary key, and read past finished deliveries.
    create index deliveries_in_order on deliveries (subscriber_id, (id + 0)) where status = 'pending';
    create index subscribers_by_status on subscribers ((status || ':' || id));
  `,
}
