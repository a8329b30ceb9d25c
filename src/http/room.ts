import type { App } from './app.ts'

/** Work that goes on beside requests. */
export interface Worker {
  readonly name: string
  start(): void
  /** Takes no new work, finishes what it has until `deadline` is aborted, and gives the rest back. */
  stop(deadline: AbortSignal): Promise<void>
  /** When the oldest work that could be done now became due, in milliseconds since 1970; `undefined` when there is none. */
  oldestDue?(): Promise<number | undefined>
  /** Milliseconds since it last got through a round of its work with the database; 0 when it does not run in this process. */
  sinceRound?(): number
}

/** What each room hands to service.ts. */
export interface Room {
  routes(app: App): void | Promise<void>
  readonly workers: readonly Worker[]
}

/** Where received webhooks are kept while the database is away. */
export interface SpoolStatus {
  /** Whether the database is known to be away, so that webhooks go to the spool. */
  readonly away: boolean
  /**
   * How many events lie in it, when the oldest of them was received (milliseconds since 1970), and whether it takes no more.
   * @throws StorageUnavailable when that cannot be known now.
   */
  state(): Promise<{ readonly events: number; readonly oldest: number | undefined; readonly full: boolean }>
}
