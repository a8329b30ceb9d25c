import type { ColumnType, Generated } from 'kysely'

/**
 * The rows of every table, the same on both engines. Times are whole milliseconds since 1970 unless a comment says
 * otherwise; flags are 0 or 1; JSON is text. See docs/adr for why.
 */
export interface Tables {
  users: UsersTable
  identities: IdentitiesTable
  sessions: SessionsTable
  flows: FlowsTable
  authorization_codes: AuthorizationCodesTable
  token_families: TokenFamiliesTable
  refresh_tokens: RefreshTokensTable
  signing_keys: SigningKeysTable
  api_keys: ApiKeysTable
  audit_log: AuditLogTable
  audit_exports: AuditExportsTable
  provider_tokens: ProviderTokensTable
  events: EventsTable
  inbox: InboxTable
  handler_failures: HandlerFailuresTable
  rejected_webhooks: RejectedWebhooksTable
  rejected_counts: RejectedCountsTable
  outbox: OutboxTable
  subscribers: SubscribersTable
  subscriber_secrets: SubscriberSecretsTable
  deliveries: DeliveriesTable
  attempts: AttemptsTable
  subscriber_hours: SubscriberHoursTable
  jobs: JobsTable
  portal_links: PortalLinksTable
  portal_sessions: PortalSessionsTable
  allowances: AllowancesTable
  handler_slots: HandlerSlotsTable
  source_rates: SourceRatesTable
  call_counts: CallCountsTable
  products: ProductsTable
  posts: PostsTable
  postern_users_total: KeptTotalTable
  postern_users_buckets: KeptBucketsTable
  postern_users_changes: KeptChangesTable
  migrations: MigrationsTable
}

export type Role = 'user' | 'admin'

export interface UsersTable {
  id: string
  email: string | null
  name: string | null
  /** The identity that the user first signed in with, or another one after that was unlinked. */
  provider: string
  provider_id: string
  role: Role
  blocked_at: number | null
  created_at: number
}

/** The link between a provider's identity and a local user. The key is (provider, provider_id), never an e-mail. */
export interface IdentitiesTable {
  provider: string
  provider_id: string
  user_id: string
  email: string | null
  email_verified: number
  name: string | null
  created_at: number
  last_used_at: number
  /** The issuer that vouches for it; null until the first sign-in since this is recorded. */
  issuer: string | null
}

export interface SessionsTable {
  id: string
  /** SHA-256 of the cookie's token. */
  token_hash: Uint8Array
  user_id: string
  provider: string
  address: string | null
  user_agent: string | null
  created_at: number
  /** Written at most once a minute. */
  last_seen_at: number
  /** When the user last proved who they are: `auth_time` of the id_token when it has one, else the sign-in. */
  authenticated_at: number
  /** How far `authenticated_at` is proven; null for sessions of older versions. */
  authentication_proof: AuthenticationProof | null
  /** `acr` of the id_token, and `amr` with spaces between its values. */
  acr: string | null
  amr: string | null
  /** The absolute end; the idle end is last_seen_at plus the idle time. */
  expires_at: number
  revoked_at: number | null
}

/**
 * `verified`: the id_token's `auth_time` tells it. `asserted`: the provider does not tell it, so the time is that of the
 * sign-in. `unproven`: it tells a time that cannot be true.
 */
export type AuthenticationProof = 'verified' | 'asserted' | 'unproven'

/** A sign-in that was begun: one row per `state`, consumed by one atomic statement. */
export interface FlowsTable {
  state_hash: Uint8Array
  /** SHA-256 of the browser's flow cookie. */
  browser_hash: Uint8Array
  provider: string
  callback_url: string
  purpose: 'login' | 'link'
  /** When linking: who began it. */
  user_id: string | null
  session_id: string | null
  return_to: string
  nonce: string | null
  /** The sealed PKCE verifier. */
  verifier: Uint8Array | null
  /** When an app began it (public client): what it sent. */
  client_id: string | null
  client_redirect_uri: string | null
  client_state: string | null
  client_challenge: string | null
  client_scope: string | null
  expires_at: number
  /** When the provider was asked to authenticate the person anew; null when it was not. */
  reauthentication_asked_at: number | null
}

export interface AuthorizationCodesTable {
  code_hash: Uint8Array
  client_id: string
  redirect_uri: string
  challenge: string
  user_id: string
  provider: string
  /** Of the browser in which the user signed in. */
  address: string | null
  user_agent: string | null
  authenticated_at: number
  /** As in sessions. */
  acr: string | null
  amr: string | null
  expires_at: number
  /** Set when it was exchanged; a second exchange revokes the family that the first one began. */
  used_at: number | null
  family_id: string | null
}

/** One sign-in of one app: all refresh tokens that came from it, and what its access tokens name as `sid`. */
export interface TokenFamiliesTable {
  id: string
  user_id: string
  client_id: string
  provider: string
  /** Of the browser in which the user signed in. */
  address: string | null
  user_agent: string | null
  created_at: number
  /** When it was last refreshed. */
  last_seen_at: number
  authenticated_at: number
  /** As in sessions. */
  acr: string | null
  amr: string | null
  /** The absolute end; its refresh tokens end with the idle time. */
  expires_at: number
  revoked_at: number | null
}

export interface RefreshTokensTable {
  token_hash: Uint8Array
  family_id: string
  /** The token that this one was given for; null for a family's first. */
  parent_hash: Uint8Array | null
  created_at: number
  expires_at: number
  used_at: number | null
  /** The address that it was first used from. */
  used_from: string | null
  /** How often it came again and was taken. */
  replays: Generated<number>
}

export interface SigningKeysTable {
  kid: string
  algorithm: string
  public_jwk: string
  /** The sealed private JWK. */
  private_jwk: Uint8Array
  created_at: number
  /** From when on it signs: it is published before, so that whoever verifies has it by then. */
  active_at: number
  /** From when on what it signed is refused; null while no newer key follows. */
  retires_at: number | null
}

export interface ApiKeysTable {
  id: string
  name: string
  /** `admin` for a key with the scope `admin`; read by processes of versions that knew no scopes. */
  role: Role
  /** Separated by spaces (RFC 6749, section 3.3). */
  scopes: string
  /** The first characters, to recognise a key in a list. */
  prefix: string
  key_hash: Uint8Array
  created_at: number
  expires_at: number | null
  revoked_at: number | null
  last_used_at: number | null
}

/** Who did what to which account. Rows are never updated; they outlive the account that they tell of. */
export interface AuditLogTable {
  /** Ever-growing: what a reader follows. Ids are only for people, and for pages by time. */
  seq: Generated<number>
  id: string
  created_at: number
  /** A name of accounts/audit-actions.ts. */
  action: string
  /** Whose account it is about. */
  user_id: string | null
  /** See AuditOrigin.actor in accounts/audit.ts; null when nobody is known. */
  actor: string | null
  session_id: string | null
  provider: string | null
  provider_id: string | null
  /** What else it is about, as `kind:id`, such as `session:<id>` or `subscriber:<id>`. */
  target: string | null
  /** Why it failed; null for what succeeded. */
  code: string | null
  support_id: string | null
  address: string | null
  user_agent: string | null
  /** JSON: a little more, for people. */
  detail: string | null
}

/** How far the audit log was forwarded: one row per destination. */
export interface AuditExportsTable {
  /** SHA-256 (hex) of the destination's address, so that another destination begins on its own. */
  destination: string
  /** The `seq` of the last entry that the destination took. */
  position: number
  /** The process that forwards now, and until when nobody else does. */
  claim: string | null
  claimed_until: number | null
  /** Since when it has not taken anything, and why; null while it does. */
  failing_since: number | null
  last_error: string | null
  updated_at: number
}

/** The tokens of a provider whose configuration asks to keep them. They go with their identity. */
export interface ProviderTokensTable {
  provider: string
  provider_id: string
  /** Sealed. */
  access_token: Uint8Array
  /** Sealed; null when the provider gave none. */
  refresh_token: Uint8Array | null
  scope: string | null
  /** When the access token ends; null when the provider did not say. */
  expires_at: number | null
  updated_at: number
  /** Who is refreshing it now, and until when nobody else does. */
  claim: string | null
  claimed_until: number | null
}

/** The log of received and emitted events. Rows are never updated. */
export interface EventsTable {
  /** Ever-growing; a reader that follows it misses nothing (docs/adr/0004). */
  id: Generated<number>
  /** The stable id of the webhook event. */
  event_id: string
  direction: 'received' | 'emitted'
  /** The name of the source of a received event. */
  source: string | null
  type: string
  content_type: string
  /** The bytes that came, or the bytes that are sent. */
  payload: Uint8Array
  /** JSON: the request's headers, secrets left out. */
  headers: string | null
  created_at: number
  /** Of an emitted event: a random number, drawn when it was emitted. Null for received ones and those of older versions. */
  nonce: Generated<number | null>
}

/** `blocked`: an earlier event of the same order key is not processed yet. */
export type InboxStatus = 'pending' | 'blocked' | 'processed' | 'failed'

/**
 * One row per received event id: the queue's entry while it is pending, and the processed-event marker once
 * `processed_at` is set, in the transaction of the handler's work.
 */
export interface InboxTable {
  event: number
  source: string
  event_id: string
  type: string
  status: InboxStatus
  /** Attempts begun so far. */
  attempts: number
  /** Attempts begun before the last reprocessing; the retry schedule counts from here. */
  attempts_before: number
  /** When it may be claimed. */
  due_at: number
  /** Who holds the lease: fences a worker that outlived its lease. */
  claim: string | null
  /** When the lease of whoever holds the claim ends. */
  leased_until: Generated<number | null>
  /** When an attempt last failed since the retry schedule began; null until one has. */
  failed_at: Generated<number | null>
  processed_at: number | null
  /** Events with the same one are processed one after the other, in the order of receipt. */
  order_key: string | null
}

export interface HandlerFailuresTable {
  event: number
  number: number
  at: number
  duration_ms: number
  error: string
}

/** The last webhooks of each source that were refused, without credentials and signatures. */
export interface RejectedCountsTable {
  /** Its first millisecond, UTC. */
  day: number
  source: string
  /** A key of receiving/rejections/reasons.ts. */
  reason: string
  count: number
  last_at: number
}

export interface RejectedWebhooksTable {
  id: Generated<number>
  source: string
  at: number
  /** A key of receiving/rejections/reasons.ts. */
  reason: string
  /** What the scheme said. */
  detail: string
  address: string | null
  /** JSON. */
  headers: string
  /** Bytes of the whole body, as far as they are known. */
  size: number | null
  /** The first bytes of it. */
  body: Uint8Array | null
}

/** One row per emitted event id: makes the same call twice the same event. */
export interface OutboxTable {
  event: number
  event_id: string
  /** SHA-256 of type and data. */
  digest: Uint8Array
  created_at: ColumnType<number, number | undefined, number>
  /** The received event whose handler emitted it, in the transaction of its work. */
  caused_by: number | null
  /** The owner whose subscribers it is for; null for those without an owner, `*` for all. */
  audience: string | null
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
  /** JSON: milliseconds before each attempt; null for the service's own. */
  retry_schedule: string | null
  timeout_ms: number | null
  /** Deliveries per second; null for no limit. */
  rate_limit: number | null
  concurrency: number | null
  /** Sealed JSON: headers to send along; they may hold credentials. */
  headers: Uint8Array | null
  ordered: number
  signing: SigningScheme
  created_at: number
  updated_at: number
  /** The tenant or user that it belongs to. */
  owner: string | null
  /** JSON: what must hold of an event's data. */
  conditions: string | null
  /** Whether requests are signed by RFC 9421 as well. */
  http_signature: number
  /** Whether it gets the events about deliveries and subscribers, and no others. */
  operational: number
  /** When it was told that its deliveries fail; null once one arrived. */
  failing_since: number | null
  /** When it was told that it will be disabled, since nothing arrives. */
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
  /** Null while it is the newest; set by a rotation. */
  expires_at: number | null
}

export type DeliveryStatus = 'pending' | 'delivered' | 'dead' | 'cancelled'

export interface DeliveriesTable {
  id: Generated<number>
  event: number
  subscriber_id: string
  status: DeliveryStatus
  /** Attempts that are written down. */
  attempts: number
  /** Attempts before the last replay; the retry schedule counts from here. */
  attempts_before: number
  due_at: number
  created_at: number
  finished_at: number | null
  /** That of its event. */
  nonce: Generated<number | null>
}

/** Append-only: one row per attempt of a delivery. */
export interface AttemptsTable {
  delivery: number
  number: number
  at: number
  duration_ms: number
  /** The response's status; null when none came. */
  status: number | null
  error: string | null
  /** What kind of failure it was; null for none, and for attempts of older versions. */
  failure: string | null
  /** JSON: how long each part took. */
  phases: string | null
  request_headers: string
  response_headers: string | null
  response_body: Uint8Array | null
}

export interface JobsTable {
  id: string
  kind: 'replay' | 'reprocess'
  subscriber_id: string | null
  /** JSON: what the job works on. */
  filter: string
  status: 'running' | 'done' | 'cancelled' | 'failed'
  total: number
  done: number
  /** The last row that was dealt with, so that a restart goes on from there. */
  position: number
  /** Deliveries per second; null for no limit. */
  rate: number | null
  due_at: number
  claim: string | null
  created_at: number
  updated_at: number
}

/** How many attempts of a subscriber ended in one hour, by how long they took. */
export interface SubscriberHoursTable {
  subscriber_id: string
  /** When it begins. */
  hour: number
  /** The attempts took at most so many milliseconds; 0 stands for longer than any class. */
  duration_class: number
  delivered: number
  failed: number
}

/** A link to the portal that was not opened yet: opening it deletes the row. */
export interface PortalLinksTable {
  token_hash: Uint8Array
  owner: string
  /** How long the session lasts that it begins. */
  session_ms: number
  created_at: number
  expires_at: number
}

/** Events at once of a handler that declares a concurrency, as a process of the service has them. PostgreSQL only. */
export interface HandlerSlotsTable {
  /** The type or pattern that the handler was declared for. */
  handler: string
  /** The process, by its number in `inbox_claimers`. */
  claimer: number
  held: number
  wanted: number
  /** When others may take them, should the process not have renewed them by then. */
  until: number
}

/** What is used of a source's declared rate, by all processes together. PostgreSQL only. */
export interface SourceRatesTable {
  source: string
  /** The time of the last change, in milliseconds and fractions. */
  at: number
  /** When all of it is there again, in milliseconds and fractions. */
  until: number
}

/** Calls of a minute that all processes count together. PostgreSQL only. */
export interface CallCountsTable {
  /** The hash of what is limited, and whose. */
  key: string
  /** Minutes since 1970. */
  minute: number
  calls: number
  /** Calls in the minute before. */
  before: number
}

/** How much of a limit is used, where it holds for all processes together. */
export interface AllowancesTable {
  /** Of what, and whose. */
  key: string
  /** When all of it is there again. */
  until: number
}

export interface PortalSessionsTable {
  id: string
  /** SHA-256 of the cookie's token. */
  token_hash: Uint8Array
  owner: string
  created_at: number
  expires_at: number
}

export interface ProductsTable {
  id: string
  category: string
  price: number
  stock: number
  name: string
  /** Canonical text: UTC with six digits of fraction, `2026-01-31T08:30:00.000000Z`. Sorts as time does. */
  created_at: string
}

export interface PostsTable {
  id: string
  title: string
  body: string
  /** As in products. */
  created_at: string
}

/** The number of users without the changes that are noted and not folded in yet: one row. See listing/kept. */
export interface KeptTotalTable {
  one: number
  size: number
}

/** Users by thousands. SQLite has a table `postern_users_replaced` beside it, for the triggers alone. */
export interface KeptBucketsTable {
  id: Generated<number>
  /** The id of the first user in it. */
  k0: string
  size: number
}

/** A user who came (1) or went (-1). SQLite numbers the rows. */
export interface KeptChangesTable {
  k0: string
  size: number
}

export interface MigrationsTable {
  number: number
  name: string
  breaking: number
  applied_at: ColumnType<number, number, never>
}
