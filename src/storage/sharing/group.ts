import type { Batch } from './batch.ts'
import type { Carrier } from './carrier.ts'

/** A part that was kept and waits for the commit. */
export interface Kept<Note> {
  readonly note: Note
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** The parts of one transaction. Times are those of `Scheduler.elapsed`. */
export interface Group<Note> {
  readonly carrier: Carrier
  /** For one part only. */
  readonly alone: boolean
  readonly kept: Kept<Note>[]
  readonly since: number
  /** When the loop was last let go. */
  burst: number
  /** Savepoints so far. */
  parts: number
  /** Has the turn. */
  batch: Batch<Note> | undefined
}

export function newGroup<Note>(carrier: Carrier, alone: boolean, since: number): Group<Note> {
  return { carrier, alone, kept: [], since, burst: since, parts: 0, batch: undefined }
}
