import type { StandardSchema } from '../json/standard-schema.ts'

/** The declaration of an event type. */
export interface EventTypeDeclaration {
  /** What an event of this type means, for subscribers. */
  description?: string
  /**
   * What the data of every event of this type must match: a JSON Schema (draft 2020-12 and older ones), or a schema of a library that
   * follows Standard Schema and validates synchronously. The data is sent as it was emitted.
   */
  schema?: StandardSchema | object
  /** Examples of the data; they must match the schema. */
  samples?: readonly unknown[]
}

/** An event as a destination gets it. */
export interface DestinationEvent {
  /** The same for each attempt: consumers recognize duplicates by it. */
  readonly id: string
  readonly type: string
  /** When it was emitted, ISO 8601. */
  readonly timestamp: string
  /** The exact bytes that are signed. */
  readonly payload: Buffer
  /** In lowercase: `content-type`, those of the signature (`webhook-id`, …), of the trace, and the endpoint's own. */
  readonly headers: Readonly<Record<string, string>>
  /** The number of this attempt, from 1. A replay continues the numbers. */
  readonly attempt: number
}

export interface DestinationContext<Settings = Readonly<Record<string, unknown>>> {
  /** Aborted at the endpoint's timeout, and when the service stops. */
  readonly signal: AbortSignal
  /** As registered; the same object until they change. */
  readonly settings: Settings
  readonly secrets: Readonly<Record<string, string>>
  readonly subscriber: { readonly id: string; readonly owner: string | null }
}

/** A setting or a secret of a destination, as forms show it. */
export interface DestinationField {
  label: string
  description?: string
  /** Whether it is one of the secrets, which are encrypted and never shown. */
  secret?: boolean
  required?: boolean
}

/** A kind of endpoint other than HTTP, such as a queue. */
export interface DestinationDeclaration<Settings = Readonly<Record<string, unknown>>> {
  /** For forms. Default: its name. */
  title?: string
  /** For forms, in their order. */
  fields?: Readonly<Record<string, DestinationField>>
  /** Whether customers may register it in the portal. Its settings choose what your network connects to. Default false. */
  owners?: boolean
  /** Throws, or returns why the settings are invalid. */
  validate(settings: Settings): string | void | undefined | Promise<string | void | undefined>
  /**
   * Delivers an event. What it returns is shown in the attempt. An error is a failed attempt, which the schedule retries: with
   * `permanent: true` it is the last one, with `retryAfter` (seconds) the next one waits at least that long.
   */
  deliver(event: DestinationEvent, context: DestinationContext<Settings>): unknown
  /** Called when the service has stopped delivering: closes connections. */
  close?(): unknown
}

/** The `emitting` part of the configuration module. */
export interface EmittingConfig {
  /**
   * Types of events, shown at GET /event-types and /docs. Their data is checked when they are emitted, by a call or by a
   * handler.
   */
  eventTypes?: Readonly<Record<string, EventTypeDeclaration>>
  /** Whether events of undeclared types may be emitted. Default `allow`. */
  undeclaredTypes?: 'allow' | 'refuse'
  /**
   * Whether subscribers without an owner also get events for an owner, for example a subscriber of your own that gets all
   * events. Default false.
   */
  ownerlessGetAll?: boolean
  /** Kinds of endpoints other than HTTP, by their names: lowercase letters, digits and hyphens. */
  destinations?: Readonly<Record<string, DestinationDeclaration>>
}
