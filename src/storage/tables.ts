import type { ColumnType } from 'kysely'
import type { ApiKeysTable, IdentitiesTable, SessionsTable, UsersTable } from './tables/accounts.ts'
import type {
  AuthorizationCodesTable,
  FlowsTable,
  ProviderTokensTable,
  RefreshTokensTable,
  SigningKeysTable,
  TokenFamiliesTable,
} from './tables/login.ts'
import type {
  AuthorizationRequestsTable,
  BackchannelLogoutsTable,
  ConsentsTable,
  DeviceCodesTable,
} from './tables/oauth2.ts'
import type {
  ClientAssertionsTable,
  ClientOriginsTable,
  ClientSecretsTable,
  ClientsTable,
} from './tables/clients.ts'
import type { HostCodesTable, HostSessionsTable } from './tables/forward-auth.ts'
import type { AuditExportsTable, AuditLogTable } from './tables/audit.ts'
import type {
  AlertDestinationsTable,
  AlertRoundsTable,
  AlertSendingsTable,
  AlertStatesTable,
} from './tables/alerts.ts'
import type { EventsTable, JobsTable } from './tables/events.ts'
import type {
  FailureGroupsTable,
  HandlerFailuresTable,
  EventQueueClaimersTable,
  EventQueueTable,
  PausedHandlersTable,
  ReceivingActivityTable,
  RejectedCountsTable,
  RejectedWebhooksTable,
} from './tables/receiving.ts'
import type {
  AttemptsTable,
  DeliveriesTable,
  QueueOwnersTable,
  DispatchersTable,
  IdempotencyKeysTable,
  OwnerBrandsTable,
  OwnerNamesTable,
  PortalLinksTable,
  PortalSessionsTable,
  SubscriberHoursTable,
  SubscriberSecretsTable,
  SubscribersTable,
} from './tables/emitting.ts'
import type {
  CountsBucketsTable,
  CountsChangesTable,
  CountsTotalTable,
  PostsTable,
  ProductsTable,
} from './tables/lists.ts'
import type {
  AllowancesTable,
  CallCountsTable,
  HandlerSlotsTable,
  SourceRatesTable,
} from './tables/limits.ts'
import type { ContinuityTable, ReplicaBeatsTable } from './tables/servers.ts'
import type { MetricHistoryTable } from './tables/telemetry.ts'

export type * from './tables/accounts.ts'
export type * from './tables/clients.ts'
export type * from './tables/login.ts'
export type * from './tables/oauth2.ts'
export type * from './tables/forward-auth.ts'
export type * from './tables/alerts.ts'
export type * from './tables/audit.ts'
export type * from './tables/events.ts'
export type * from './tables/receiving.ts'
export type * from './tables/emitting.ts'
export type * from './tables/lists.ts'
export type * from './tables/limits.ts'
export type * from './tables/servers.ts'
export type * from './tables/telemetry.ts'

/**
 * The rows of every table, with the same types on both engines. Times are whole milliseconds since 1970 unless a comment says
 * otherwise; flags are 0 or 1; JSON is text (docs/adr/0002). migrations/ has their indexes and foreign keys.
 */
export interface Tables {
  users: UsersTable
  identities: IdentitiesTable
  sessions: SessionsTable
  api_keys: ApiKeysTable

  flows: FlowsTable
  token_families: TokenFamiliesTable
  authorization_requests: AuthorizationRequestsTable
  authorization_codes: AuthorizationCodesTable
  refresh_tokens: RefreshTokensTable
  signing_keys: SigningKeysTable
  provider_tokens: ProviderTokensTable

  clients: ClientsTable
  client_secrets: ClientSecretsTable
  client_origins: ClientOriginsTable
  client_assertions: ClientAssertionsTable

  consents: ConsentsTable
  device_codes: DeviceCodesTable
  backchannel_logouts: BackchannelLogoutsTable

  host_sessions: HostSessionsTable
  host_codes: HostCodesTable

  audit_log: AuditLogTable
  audit_exports: AuditExportsTable

  events: EventsTable
  jobs: JobsTable

  event_queue: EventQueueTable
  event_queue_claimers: EventQueueClaimersTable
  handler_failures: HandlerFailuresTable
  rejected_webhooks: RejectedWebhooksTable
  rejected_counts: RejectedCountsTable
  failure_groups: FailureGroupsTable
  paused_handlers: PausedHandlersTable
  receiving_activity: ReceivingActivityTable

  idempotency_keys: IdempotencyKeysTable
  subscribers: SubscribersTable
  subscriber_secrets: SubscriberSecretsTable
  deliveries: DeliveriesTable
  attempts: AttemptsTable
  subscriber_hours: SubscriberHoursTable
  dispatchers: DispatchersTable
  queue_owners: QueueOwnersTable
  owner_brands: OwnerBrandsTable
  owner_names: OwnerNamesTable
  portal_links: PortalLinksTable
  portal_sessions: PortalSessionsTable

  alert_destinations: AlertDestinationsTable
  alert_states: AlertStatesTable
  alert_sendings: AlertSendingsTable
  alert_rounds: AlertRoundsTable

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
  replica_beats: ReplicaBeatsTable

  metric_history: MetricHistoryTable

  migrations: MigrationsTable
}

/** An applied migration. storage/migrate.ts creates the table and writes it. */
interface MigrationsTable {
  number: number
  name: string
  breaking: number
  applied_at: ColumnType<number, number, never>
}
