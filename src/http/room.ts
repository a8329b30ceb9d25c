import type { App } from './app.ts'

/** Work that goes on beside requests. */
export interface Worker {
  readonly name: string
  start(): void
  /** Takes no new work, finishes what it has until `deadline` is aborted, and gives the rest back. */
  stop(deadline: AbortSignal): Promise<void>
  /** When the oldest work that could be done now became due, in milliseconds since 1970; `undefined` when there is none. */
  oldestDue?(): Promise<number | undefined>
}

/** What each room hands to service.ts. */
export interface Room {
  routes(app: App): void | Promise<void>
  readonly workers: readonly Worker[]
}
