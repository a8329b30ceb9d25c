import type { Transaction } from 'kysely'
import type { StandardSchema } from '../json/standard-schema.ts'
import type { Scheme } from './schemes/scheme.ts'
import type { Spool } from './spool/spool.ts'

/** Any tables with any columns: the type of `tx` without `tx.withTables<…>()`. */
export type AnyTables = Record<string, Record<string, unknown>>

/** A received event, as handlers get it. */
export interface ReceivedEvent<
  Payload = unknown,
  Type extends string = string,
  Source extends string = string,
> {
  /** The sender's id of the event. */
  readonly id: string
  readonly type: Type
  /** The name of the source in the configuration. */
  readonly source: Source
  /**
   * The parsed body. Numbers beyond 2^53 are rounded, as JSON.parse does. `emit` still sends the exact digits of the payload and of its
   * unchanged parts, and `exactPayload(event)` returns them. For a form: its fields, each a string or an array of strings. For other
   * bodies that are not JSON: `undefined`. The body is parsed at the first access. With a schema in `eventTypes`: the output of the schema.
   */
  readonly payload: Payload
  /** The bytes of the body. */
  readonly raw: Buffer
  /** The request's headers, without credentials and signatures. */
  readonly headers: Readonly<Record<string, string>>
  readonly receivedAt: Date
  /** The number of the attempt, from 1. */
  readonly attempt: number
}

/** An event to send to subscribers. */
export interface EmittedEvent<Type extends string = string, Data = unknown> {
  type: Type
  /** Any JSON value. Numbers may be bigint or `JSON.rawJSON`. Unchanged objects and arrays of the payload keep the digits of their numbers. */
  data: Data
  /** The stable id. Default: a new id. */
  id?: string
  /** The owner whose subscribers get it, or `*` for all subscribers. Default: subscribers without an owner. */
  audience?: string
  /** When it is sent: ISO 8601, at most a year from now. Default: at once. */
  deliverAt?: string
  /** Instead: seconds from now. */
  delay?: number
  /** Subscribers with channels get it only if they share one of these: 1 to 5. Others get it regardless. */
  channels?: string[]
  /** Labels of the event in the log: 1 to 5. They are not sent to subscribers. */
  tags?: string[]
  /** Seconds for which the payload is stored after the event is sent. Default: as long as the event. */
  payloadRetention?: number
}

/** The part of a pino logger that handlers can use. */
export type HandlerLog = Record<
  'debug' | 'info' | 'warn' | 'error',
  (first: object | string, message?: string) => void
>

/**
 * Returns a user's access token at an identity provider, by the local or the provider's user id; it is refreshed shortly before it
 * expires. Returns `undefined` if no token is stored or the user has revoked the consent. Call it before the first use of `tx`,
 * because it may use the network.
 */
export type ProviderToken = (
  provider: string,
  owner: { userId: string } | { providerId: string },
) => Promise<string | undefined>

export interface HandlerContext<DB = AnyTables, Emitted = unknown> {
  /**
   * The transaction that also stores the processed-event marker, so its writes happen exactly once. It begins at its first use; do
   * slow work before that. For typed access to your own tables: `tx.withTables<{ orders: OrderTable }>()`.
   */
  readonly tx: Transaction<DB>
  /** Emits an event to subscribers if this handler's transaction commits. */
  readonly emit: <const Type extends (keyof Emitted & string) | (string & {})>(
    event: EmittedEvent<Type, Type extends keyof Emitted ? Emitted[Type] : unknown>,
  ) => void
  /** Aborted at the handler's time limit or when the service stops; the transaction is then rolled back. */
  readonly signal: AbortSignal
  readonly log: HandlerLog
  /**
   * Whether this is a dry run (`POST /events/{id}/dry-run`): its writes to `tx` and its events are rolled back. Do not call other
   * systems then.
   */
  readonly dryRun: boolean
  /** Only for handlers that declare `{ providerTokens: ['github'], handle }`. It throws for others. */
  readonly providerToken: ProviderToken
}

/** Processes one event. If it throws, its transaction is rolled back and it is retried later. */
export type Handler<DB = AnyTables, Event = ReceivedEvent, Emitted = unknown> = (
  event: Event,
  context: HandlerContext<DB, Emitted>,
) => Promise<void> | void

/** A handler with its own limits. */
export interface HandlerOptions<DB = AnyTables, Event = ReceivedEvent, Emitted = unknown> {
  handle: Handler<DB, Event, Emitted>
  /**
   * The most events that it processes at once, 1 to 1000, for all sources and types and all processes of the service together.
   * Default: 8 for each source in each process, and on PostgreSQL 64 if they take 50 ms at most.
   */
  concurrency?: number
  /** The time limit in seconds, 0.1 to 3600. Default: HANDLER_TIMEOUT. */
  timeout?: number
  /**
   * Returns an order key. Events with the same key are processed one after the other, in the order of their arrival; the next one
   * waits until the one before is processed or has failed. Events without a key are processed in parallel. It is called once, on
   * arrival: it must be quick and without side effects.
   */
  orderBy?: (event: ReceivedEvent) => string | number | undefined
  /** The identity providers whose access tokens it needs. */
  providerTokens?: readonly string[]
}

/** A handler, with or without limits. */
export type DeclaredHandler<DB = AnyTables, Event = ReceivedEvent, Emitted = unknown> =
  | Handler<DB, Event, Emitted>
  | HandlerOptions<DB, Event, Emitted>

/** The `receiving` part of the configuration module. */
export interface ReceivingConfig<DB = AnyTables> {
  /** By name: `POST /webhooks/{name}`. `provider` always exists. */
  sources?: Readonly<Record<string, Scheme>>
  /**
   * Schemas of the payloads that the handler of the same key gets. An event whose payload does not match is stored and acknowledged, and
   * fails without further attempts.
   */
  eventTypes?: Readonly<Record<string, { schema: StandardSchema }>>
  /**
   * By type or pattern: `order.paid`, `order.*`, `*.created`, `order.*.paid` or `*`. All handlers that match an event run, the most
   * specific first, in one transaction.
   */
  handlers?: Readonly<Record<string, DeclaredHandler<DB>>>
  /** Stores acknowledged webhooks while the database is unavailable, in place of the file of `SPOOL_URL`. */
  spool?: Spool
}
