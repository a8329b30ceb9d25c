import type { StandardSchema } from '../json/standard-schema.ts'

/** The declaration of an event type. */
export interface EventTypeDeclaration {
  /** Describes events of this type to subscribers. */
  description?: string
  /**
   * Validates the data of every event of this type: a JSON Schema (draft 2020-12 or older), or a schema of a library that follows Standard
   * Schema and validates synchronously. The data is sent as it was emitted.
   */
  schema?: StandardSchema | object
  /** Examples of the data; they must match the schema. */
  samples?: readonly unknown[]
}

/** The event that a destination receives. */
export interface DestinationEvent {
  /** The same in each attempt, so that consumers can recognize duplicates. */
  readonly id: string
  readonly type: string
  /** When it was emitted, ISO 8601. */
  readonly timestamp: string
  /** The exact bytes that are signed. */
  readonly payload: Buffer
  /** With lowercase names: `content-type`, the signature's headers (`webhook-id`, …), the trace context, and the endpoint's own. */
  readonly headers: Readonly<Record<string, string>>
  /** The number of this attempt, from 1. A replay continues the count. */
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
  /** The title in forms. Default: the destination's name. */
  title?: string
  /** The fields of forms, in this order. */
  fields?: Readonly<Record<string, DestinationField>>
  /** Whether customers may register endpoints with it in the portal. Settings choose what your network connects to. Default false. */
  owners?: boolean
  /** Throws, or returns why the settings are invalid. */
  validate(settings: Settings): string | void | undefined | Promise<string | void | undefined>
  /**
   * Delivers an event. The attempt shows what it returns. If it throws, the attempt fails and the schedule retries it, unless the error has
   * `permanent: true`. With `retryAfter` (seconds), the next attempt waits at least that long.
   */
  deliver(event: DestinationEvent, context: DestinationContext<Settings>): unknown
  /** Called when the service has stopped delivering: closes connections. */
  close?(): unknown
}

/** The `emitting` part of the configuration module. */
export interface EmittingConfig {
  /**
   * Event types, shown at GET /event-types and /docs. Data is checked when an event is emitted, through the API or by a
   * handler.
   */
  eventTypes?: Readonly<Record<string, EventTypeDeclaration>>
  /** Whether events of undeclared types may be emitted. Default `allow`. */
  undeclaredTypes?: 'allow' | 'refuse'
  /**
   * Whether subscribers without an owner also receive events for an owner, such as a subscriber of your own for all
   * events. Default false.
   */
  ownerlessGetAll?: boolean
  /** Kinds of endpoints other than HTTP, by name: lowercase letters, digits and hyphens. */
  destinations?: Readonly<Record<string, DestinationDeclaration>>
}
