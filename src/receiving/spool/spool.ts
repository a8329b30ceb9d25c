import type { IncomingEvent } from '../queue/incoming.ts'

/** The contents of a spool. */
export interface SpoolState {
  readonly events: number
  /** When the oldest of them was received, in milliseconds since 1970. */
  readonly oldest: number | undefined
  /** Whether it accepts no more events. */
  readonly full: boolean
}

/** Spooled events that were read, oldest first. Call either `remove` or `release`, once. */
export interface Portion {
  readonly events: readonly IncomingEvent[]
  /** Deletes them, after they were moved into the database. */
  remove(): Promise<void>
  /** Lets them be read again. */
  release(): Promise<void>
}

/** The result of a read when all events were read. */
export const noPortion: Portion = {
  events: [],
  remove: () => Promise.resolve(),
  release: () => Promise.resolve(),
}

/** An event is larger than the spool can store. */
export class EventTooLarge extends Error {
  /** @param most bytes of one event. */
  constructor(most: number) {
    super(`the spool stores events of up to ${most} bytes, with their headers`)
    this.name = 'EventTooLarge'
  }
}

/** Stores acknowledged events while the database is away. */
export interface Spool {
  /**
   * Resolves once the events are durable.
   * @throws Problem `overloaded` if the spool is full; StorageUnavailable if it cannot be written; EventTooLarge
   */
  append(events: readonly IncomingEvent[]): Promise<void>
  /**
   * The oldest events that were not read yet, or were given back: at most `limit` of them, and some megabytes. Several portions may be
   * read before the first one is removed. They have different events, unless one was given back meanwhile.
   * @throws StorageUnavailable
   */
  read(limit: number): Promise<Portion>
  /** Copies an event that the database refuses to a place for operators. @throws StorageUnavailable */
  setAside(event: IncomingEvent, reason: string): Promise<void>
  /** @throws StorageUnavailable */
  state(): Promise<SpoolState>
  /** The events stay for the next start. */
  close(): Promise<void>
}
