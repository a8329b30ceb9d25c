/** Tables from which old rows are removed. */
export type RetainedTable =
  | 'events'
  | 'handler_failures'
  | 'deliveries'
  | 'attempts'
  | 'event_queue'
  | 'idempotency_keys'
  | 'rejected_webhooks'
  | 'jobs'
  | 'idempotent_responses'
  | 'removed_owners'

export type Removed = Partial<Record<RetainedTable, number>>

/** What one step removed, and the number behind which the next one continues; `undefined` if no old rows follow. */
export interface Step {
  readonly removed: Removed
  readonly next: number | undefined
}

/**
 * Short transactions that remove old rows, each bounded in rows and, on SQLite, in time. They go through a table in the order of
 * its numbers, which is nearly the order of time, and end at the first page without old rows. Each transaction checks the rows
 * again, because they may have changed since the page was read.
 */
export interface RetentionSteps {
  /**
   * Events created until `until` (milliseconds since 1970), with their failures, deliveries and attempts. Events that are not
   * completely processed and delivered stay.
   */
  removeEvents: (after: number, until: number) => Promise<Step>
  /** Markers of received events that were finished until `until` and whose events were removed. */
  removeProcessedMarkers: (after: number, until: number) => Promise<Step>
  /** Markers of emitted events of `until` or before whose events were removed. */
  removeIdempotencyKeys: (after: number, until: number) => Promise<Step>
  removeRejected: (after: number, until: number) => Promise<Step>
  /** Responses to requests with an Idempotency-Key that were made until `until`. They have no numbers, so `after` is ignored. */
  removeResponses: (after: number, until: number) => Promise<Step>
  /** Ids of customers that were removed until `until`, and for whom no event is known. `after` is ignored. */
  removeOwners: (after: number, until: number) => Promise<Step>
  /** Jobs that ended until `until`. They have no numbers, so `after` is ignored. */
  removeJobs: (after: number, until: number) => Promise<Step>
}

export interface RetentionStore {
  /** Runs `work` unless another process does so at this time. Returns whether it ran. */
  alone(work: (steps: RetentionSteps) => Promise<void>): Promise<boolean>
}

/** A row that may be removed. `id` is the number that orders its table. */
export interface Candidate {
  readonly id: number
  /** When its retention period started; null before that. */
  readonly at: number | null
  /** 1 if it must stay regardless of its age, else 0. */
  readonly held: number
}

export interface EventCandidate extends Candidate {
  readonly direction: 'received' | 'emitted'
}

/**
 * Selects the rows of a page to remove. A page with only young rows ends the sweep; a page of rows that stay for another reason
 * does not.
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

/** SQL, for both engines, that is true for an event that is not completely processed or delivered. */
export const isHeld = `case when e.direction = 'received'
  then exists (select 1 from event_queue q where q.event = e.id and q.status not in ('processed', 'failed'))
  else exists (select 1 from deliveries d where d.event = e.id and d.status = 'pending')
    or exists (select 1 from scheduled_events s where s.event = e.id and s.released_at is null and s.canceled_at is null) end`

/** The most jobs, responses or owners that one step removes. */
const jobsPerStep = 100

/** SQL for both engines, with the time as its parameter. */
type DeleteUntil = (placeholder: string) => string

const deleteJobs: DeleteUntil = (placeholder) =>
  `delete from jobs where id in (
    select id from jobs where status <> 'running' and updated_at <= ${placeholder} order by id limit ${jobsPerStep}
  )`

const deleteResponses: DeleteUntil = (placeholder) =>
  `delete from idempotent_responses where key_hash in (
    select key_hash from idempotent_responses where created_at <= ${placeholder} order by created_at limit ${jobsPerStep}
  )`

const deleteOwners: DeleteUntil = (placeholder) =>
  `delete from removed_owners where owner in (
    select owner from removed_owners r where removed_at <= ${placeholder}
      and not exists (select 1 from idempotency_keys k where k.audience = r.owner) order by removed_at limit ${jobsPerStep}
  )`

/** The steps of tables without numbers. @param run runs a statement, and returns how many rows it deleted */
export function stepsByTime(
  run: (statement: DeleteUntil, until: number) => Promise<number>,
): Pick<RetentionSteps, 'removeResponses' | 'removeOwners' | 'removeJobs'> {
  const stepOf = (table: RetainedTable, statement: DeleteUntil) => async (_after: number, until: number) => {
    const count = await run(statement, until)
    return { removed: { [table]: count }, next: count < jobsPerStep ? undefined : 0 }
  }
  return {
    removeResponses: stepOf('idempotent_responses', deleteResponses),
    removeOwners: stepOf('removed_owners', deleteOwners),
    removeJobs: stepOf('jobs', deleteJobs),
  }
}

/** SQL for the start of a marker's retention: the end of the processing, or of the last attempt. */
const doneAt = `case when q.status in ('processed', 'failed') then coalesce(q.processed_at, q.due_at) end`

/** SQL of a page of each table, for both engines: the rows after a number, at most as many as the second parameter. */
export const pagesOf = (after: string, limit: string) => ({
  events: `select e.id, coalesce((select s.released_at from scheduled_events s where s.event = e.id), e.created_at) as at, e.direction, case when ${isHeld} then 1 else 0 end as held
    from events e where e.id > ${after} order by e.id limit ${limit}`,
  eventQueue: `select q.event as id, ${doneAt} as at, ${hasEvent('q.event')} as held
    from event_queue q where q.event > ${after} order by q.event limit ${limit}`,
  idempotencyKeys: `select k.event as id, k.created_at as at, ${hasEvent('k.event')} as held
    from idempotency_keys k where k.event > ${after} order by k.event limit ${limit}`,
  rejected: `select r.id, r.at, 0 as held from rejected_webhooks r where r.id > ${after} order by r.id limit ${limit}`,
})

function hasEvent(column: string): string {
  return `case when exists (select 1 from events e where e.id = ${column}) then 1 else 0 end`
}
