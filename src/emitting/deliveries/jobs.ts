import { type AuditOrigin, type RecordAudit, AuditedStore } from '../../accounts/audit/audit.ts'
import { readSubjectNames } from '../../accounts/audit/audit-log.ts'
import { Problem } from '../../errors.ts'
import { shownKinds, type ShownJob, type ShownKind } from '../../events/jobs.ts'
import { idScope, type Cursors } from '../../paging/cursor.ts'
import type { PageOfRows, PageRequest } from '../../paging/parameters.ts'
import type { Tx } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import type { Reach } from '../events/event.ts'
import { subscriberTarget } from '../subscribers/subscriber-audit.ts'

export class Jobs extends AuditedStore {
  #shown() {
    const jobs = this.database.reader.selectFrom('jobs').selectAll()
    return jobs.where('kind', 'in', shownKinds).$narrowType<{ kind: ShownKind }>()
  }

  /** @throws Problem `not-found`, also outside the caller's reach */
  async get(id: string, reach: Reach): Promise<ShownJob> {
    const row = await this.#shown()
      .where('id', '=', id)
      .$if(reach !== 'all', (all) =>
        all.where('subscriber_id', 'in', (eb) =>
          eb
            .selectFrom('subscribers')
            .select('id')
            .where('owner', '=', (reach as { owner: string }).owner),
        ),
      )
      .executeTakeFirst()
    if (!row) throw new Problem('not-found', { detail: 'There is no such job.' })
    return row
  }

  /** A page of jobs of all subscribers and of received events, newest first. @throws Problem `invalid-cursor` */
  page(
    cursors: Cursors,
    { kinds, status }: { kinds: readonly ShownKind[]; status?: ShownJob['status'] | undefined },
    request: PageRequest,
  ): Promise<PageOfRows<ShownJob>> {
    const all = this.#shown()
      .where('kind', 'in', [...kinds])
      .$if(status !== undefined, (some) => some.where('status', '=', status!))
    return cursors.newest(idScope('jobs', [kinds, status ?? null]), request, all)
  }

  /** The names of the subscribers that jobs are about, by their ids; of those that still exist. */
  async subscriberNames(jobs: readonly Row<'jobs'>[]): Promise<(id: string | null) => string | null> {
    const names = await readSubjectNames(
      this.database,
      jobs.map(({ subscriber_id: id }) => id && subscriberTarget(id)),
    )
    return (id) => (id === null ? null : (names.get(subscriberTarget(id)) ?? null))
  }

  /** The newest twenty jobs of a subscriber. */
  list(subscriberId: string): Promise<ShownJob[]> {
    return this.#shown().where('subscriber_id', '=', subscriberId).orderBy('id', 'desc').limit(20).execute()
  }

  /** Cancels a job after its current step. A finished job does not change. @throws Problem `not-found` */
  async cancel(id: string, reach: Reach, origin: AuditOrigin): Promise<ShownJob> {
    await this.get(id, reach)
    const now = this.clock.now()
    await this.database.transaction((tx) => cancelJobs(tx, [id], { now, record: this.record, origin }))
    return this.get(id, reach)
  }
}

/** Cancels those of the jobs that are running, and records them in the audit log. */
export async function cancelJobs(
  tx: Tx,
  ids: readonly string[],
  { now, record, origin }: { now: number; record: RecordAudit; origin: AuditOrigin },
): Promise<void> {
  const cancelled = await tx
    .updateTable('jobs')
    .set({ status: 'cancelled', updated_at: now })
    .where('id', 'in', [...ids])
    .where('status', '=', 'running')
    .returning(['id', 'kind', 'done', 'total'])
    .execute()
  for (const { id, ...detail } of cancelled)
    await record(tx, { action: 'job.cancelled', target: `job:${id}`, detail, ...origin })
}
