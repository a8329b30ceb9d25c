/** Work that runs in the background, beside requests. */
export interface Worker {
  readonly name: string
  start(): void
  /** Takes no new work, finishes current work until `deadline` is aborted, and returns the rest to the queue. */
  stop(deadline: AbortSignal): Promise<void>
  /** When the oldest due work became due, in milliseconds since 1970; `undefined` if no work is due. */
  oldestDue?(): Promise<number | undefined>
  /** Milliseconds since it last completed a round of its work with the database; 0 when it does not run in this process. */
  sinceRound?(): number
}
