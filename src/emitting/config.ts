/** What is said of a type of events. */
export interface EventTypeDeclaration {
  /** What it tells, for those who subscribe. */
  description?: string
  /** JSON Schema (draft 2020-12 and older ones) that the data of every event of this type must match. */
  schema?: object
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
  /** What becomes of events whose type is not declared. Default `allow`. */
  undeclaredTypes?: 'allow' | 'refuse'
  /**
   * Whether subscribers without an owner also get events that are addressed to an owner, as a subscriber of your own that
   * is to see everything does. Default false: an addressed event goes to nobody else.
   */
  ownerlessGetAll?: boolean
}
