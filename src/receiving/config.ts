import type { Transaction } from 'kysely'
import type { StandardSchema } from '../json/standard-schema.ts'
import type { Scheme } from './schemes/scheme.ts'

/** Any tables with any columns: what `tx` knows of a user's tables unless it is told by `tx.withTables<…>()`. */
export type AnyTables = Record<string, Record<string, unknown>>

/** A received event, as a handler gets it. */
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
   * The parsed body; numbers beyond 2^53 lose digits here and are whole in `raw`. Of a form its fields, each a string or an
   * array of them; of anything else that is no JSON `undefined`. Parsed at its first use.
   * With a schema in `eventTypes`: what the schema makes of it.
   */
  readonly payload: Payload
  /** The bytes that came. */
  readonly raw: Buffer
  /** The request's headers, without credentials and signatures. */
  readonly headers: Readonly<Record<string, string>>
  readonly receivedAt: Date
  /** 1 at the first attempt. */
  readonly attempt: number
}

/** An event to send to subscribers. */
export interface EmittedEvent<Type extends string = string, Data = unknown> {
  type: Type
  /** Any JSON. */
  data: Data
  /** The stable id; made up when it is left out. */
  id?: string
  /** The owner whose subscribers get it, or `*` for everybody's. Default: subscribers without an owner. */
  audience?: string
}

/** The part of a pino logger that handlers are promised. */
export type HandlerLog = Record<
  'debug' | 'info' | 'warn' | 'error',
  (first: object | string, message?: string) => void
>

/**
 * A user's access token at an identity provider, by the user's id here or the provider's; refreshed when it is near its
 * end. `undefined` when none is kept, or the user has withdrawn the consent. Call it before the first use of `tx`: it may
 * go over the network.
 */
export type ProviderToken = (
  provider: string,
  owner: { userId: string } | { providerId: string },
) => Promise<string | undefined>

export interface HandlerContext<DB = AnyTables, Emitted = unknown> {
  /**
   * The transaction that also holds the processed-event marker: its writes happen exactly once. It begins at its first
   * use; do slow work before that. Of your own tables it knows nothing: `tx.withTables<{ orders: OrderTable }>()`.
   */
  readonly tx: Transaction<DB>
  /** Sends an event to subscribers, if and only if this handler's work commits. */
  readonly emit: <const Type extends (keyof Emitted & string) | (string & {})>(
    event: EmittedEvent<Type, Type extends keyof Emitted ? Emitted[Type] : unknown>,
  ) => void
  /** Aborted when the handler's time is over or the service stops; its work is then rolled back. */
  readonly signal: AbortSignal
  readonly log: HandlerLog
  /**
   * Whether this run only shows what the handler would do (`POST /events/{id}/reprocess` with `dryRun`): what it writes to `tx`
   * and emits is rolled back. Leave out calls to other systems then.
   */
  readonly dryRun: boolean
  /** For handlers that declare the need: `{ providerTokens: ['github'], handle }`. For others it throws. */
  readonly providerToken: ProviderToken
}

/** Does the work for one event. When it throws, its work is rolled back and it is tried again later. */
export type Handler<DB = AnyTables, Event = ReceivedEvent, Emitted = unknown> = (
  event: Event,
  context: HandlerContext<DB, Emitted>,
) => Promise<void> | void

/** A handler with bounds of its own. */
export interface HandlerOptions<DB = AnyTables, Event = ReceivedEvent, Emitted = unknown> {
  handle: Handler<DB, Event, Emitted>
  /**
   * Events that it works on at once, 1 to 1000, whatever their sources and types. It holds for all processes of the service
   * together. Default: 8 for each source in each process, and on PostgreSQL 64 while they take 50 ms at most.
   */
  concurrency?: number
  /** Seconds that it may take, 0.1 to 3600. Default: HANDLER_TIMEOUT. */
  timeout?: number
  /**
   * Events with the same key are handled one after the other, in the order in which they were received; the next one
   * waits for the retries of the one before, until that is processed or failed. Without a key, in parallel. Asked once, when
   * the event is received: keep it quick, and without effects.
   */
  orderBy?: (event: ReceivedEvent) => string | number | undefined
  /** Identity providers whose access tokens it needs. */
  providerTokens?: readonly string[]
}

/** A handler, plain or with bounds. */
export type DeclaredHandler<DB = AnyTables, Event = ReceivedEvent, Emitted = unknown> =
  | Handler<DB, Event, Emitted>
  | HandlerOptions<DB, Event, Emitted>

/** The `receiving` part of the configuration module. */
export interface ReceivingConfig<DB = AnyTables> {
  /** By name: `POST /webhooks/{name}`. `provider` is always there. */
  sources?: Readonly<Record<string, Scheme>>
  /**
   * Schemas of the payloads that the handler of the same key gets. An event whose payload does not match is stored and acknowledged, and
   * fails without further attempts.
   */
  eventTypes?: Readonly<Record<string, { schema: StandardSchema }>>
  /**
   * By type: `order.paid`, `order.*` (all that begins with `order.`) or `*`. All that match an event run, the most
   * particular first, in one transaction.
   */
  handlers?: Readonly<Record<string, DeclaredHandler<DB>>>
}
