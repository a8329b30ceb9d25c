import type { IncomingEvent } from '../incoming.ts'

/** What lies in a spool. */
export interface SpoolState {
  readonly events: number
  /** When the oldest of them was received, in milliseconds since 1970; `undefined` when there is none. */
  readonly oldest: number | undefined
  /** Whether it takes no more. */
  readonly full: boolean
}

/** Spooled events that were read, oldest first. Either `remove` or `release` is to be called, once. */
export interface Portion {
  readonly events: readonly IncomingEvent[]
  /** Takes them from the spool, once they are in the database. */
  remove(): Promise<void>
  /** Leaves them there for another try. */
  release(): Promise<void>
}

/** What is read when all events were read. */
export const noPortion: Portion = {
  events: [],
  remove: () => Promise.resolve(),
  release: () => Promise.resolve(),
}

/** An event that a spool cannot hold, however much room it has. */
export class EventTooLarge extends Error {
  /** @param most bytes of one event. */
  constructor(most: number) {
    super(`the spool takes events of up to ${most} bytes, with their headers`)
    this.name = 'EventTooLarge'
  }
}

/** Keeps acknowledged events while the database is away. */
export interface Spool {
  /**
   * Resolves once the events are durable.
   * @throws Problem `overloaded` when the spool is full; StorageUnavailable when it cannot be written now.
   */
  append(events: readonly IncomingEvent[]): Promise<void>
  /**
   * The oldest events that were not read yet, or were given back: at most `limit` of them, and some megabytes. Several portions may be
   * read before the first one is removed. They have different events, unless one was given back meanwhile.
   * @throws StorageUnavailable
   */
  read(limit: number): Promise<Portion>
  /**
   * Keeps an event that the database refuses apart from those that are read, for an operator to look at.
   * @throws StorageUnavailable
   */
  setAside(event: IncomingEvent, reason: string): Promise<void>
  /** @throws StorageUnavailable when that cannot be known now. */
  state(): Promise<SpoolState>
  /** What lies in it stays for the next start. */
  close(): Promise<void>
}
