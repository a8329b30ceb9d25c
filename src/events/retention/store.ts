/** Tables that old rows are removed from. */
export type RetainedTable =
  | 'events'
  | 'handler_failures'
  | 'deliveries'
  | 'attempts'
  | 'inbox'
  | 'outbox'
  | 'rejected_webhooks'
  | 'jobs'

export type Removed = Partial<Record<RetainedTable, number>>

/** What one step did, and after which number the next one goes on; without one, nothing that is old enough follows. */
export interface Step {
  readonly removed: Removed
  readonly next: number | undefined
}

/**
 * Short transactions that remove old rows, each bounded in rows and, on SQLite, in time. They go through a table in the
 * order of its numbers, which is nearly that of time, and end at the first page of which nothing is old enough. Whatever
 * changed since a page was read is looked at again within the transaction.
 */
export interface RetentionSteps {
  /**
   * Events created by `until` (milliseconds since 1970), with what happened to them. One that is still to be processed or
   * delivered stays.
   */
  removeEvents: (after: number, until: number) => Promise<Step>
  /** Markers of received events that were done by `until` and whose event is gone. */
  removeInboxMarkers: (after: number, until: number) => Promise<Step>
  /** Markers of emitted events of `until` or before whose event is gone. */
  removeOutboxMarkers: (after: number, until: number) => Promise<Step>
  removeRejected: (after: number, until: number) => Promise<Step>
  /** Jobs that ended by `until`. They have no numbers: `after` says nothing. */
  removeJobs: (after: number, until: number) => Promise<Step>
}

export interface RetentionStore {
  /** Runs `work` unless another process does so at this time, and tells whether it did. */
  alone(work: (steps: RetentionSteps) => Promise<void>): Promise<boolean>
}

/** A row by the number that orders its table. */
export interface Candidate {
  readonly id: number
  /** What its age counts from; null while that has no beginning. */
  readonly at: number | null
  /** Whether it stays, however old it is; 1 or 0. */
  readonly held: number
}

/**
 * Which rows of a page go, and whether looking further is worth it: a page of rows that all are too young ends it, one
 * of rows that stay for another reason does not.
 */
export function choose<Row extends Candidate>(
  page: readonly Row[],
  until: number,
): { chosen: Row[]; next: number | undefined } {
  const aged = page.filter(({ at }) => at !== null)
  const old = aged.filter(({ at }) => at! <= until)
  const goesOn = page.length > 0 && (aged.length === 0 || old.length > 0)
  return { chosen: old.filter(({ held }) => held === 0), next: goesOn ? page.at(-1)!.id : undefined }
}

/** An event that is still to be processed or delivered, as SQL that both engines understand. */
export const isHeld = `case when e.direction = 'received'
  then exists (select 1 from inbox i where i.event = e.id and i.status not in ('processed', 'failed'))
  else exists (select 1 from deliveries d where d.event = e.id and d.status = 'pending') end`

/** Jobs that one step removes. */
export const jobsPerStep = 100

/** With one parameter, what they must have ended by. */
export const deleteJobs = (placeholder: string): string =>
  `delete from jobs where id in (
    select id from jobs where status <> 'running' and updated_at <= ${placeholder} order by id limit ${jobsPerStep}
  )`

/** What a marker's age counts from: the end of its work, or of its last attempt. */
export const doneAt = `case when i.status in ('processed', 'failed') then coalesce(i.processed_at, i.due_at) end`
