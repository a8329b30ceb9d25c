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
}
