import { Type, type Static } from 'typebox'
import { newId } from '../../crypto/ids.ts'
import type { Tx } from '../../storage/database.ts'
import type { JobsTable } from '../../storage/tables.ts'
import { closedObject, DateTime, nullable } from '../../http/schemas/schemas.ts'
import { isoTime } from '../../runtime/iso-time.ts'

/** The kinds of jobs that callers start and see. */
export type ShownKind = Exclude<JobsTable['kind'], 'removal' | 'statistics'>
export type ShownJob = JobsTable & { kind: ShownKind }
export const shownKinds = ['replay', 'reprocess'] as const satisfies readonly ShownKind[]

/** A background job, which works on many rows in steps. */
export const JobView = closedObject({
  id: Type.String(),
  kind: Type.Enum(shownKinds, { description: 'Of deliveries; of failed received events' }),
  subscriberId: nullable(Type.String()),
  status: Type.Enum(['running', 'done', 'cancelled', 'failed']),
  total: Type.Integer(),
  done: Type.Integer(),
  rate: nullable(Type.Number(), 'Deliveries per second; null: no limit'),
  createdAt: DateTime,
  updatedAt: DateTime,
})

export const TotalView = closedObject({ total: Type.Integer() })

export function viewJob(row: ShownJob): Static<typeof JobView> {
  return {
    id: row.id,
    kind: row.kind,
    subscriberId: row.subscriber_id,
    status: row.status,
    total: row.total,
    done: row.done,
    rate: row.rate,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  }
}

interface NewJob<Kind extends JobsTable['kind']> {
  kind: Kind
  subscriberId?: string
  /** Selects the rows of the job; stored as JSON. */
  filter: object
  /** The number of rows. With 0 the job is done at once. */
  total: number
  /** Rows per second; null for no limit. */
  rate?: number | null
  /** The number behind which its rows begin. Default 0. */
  behind?: number
}

/** Inserts a job, which the `JobWorker` of its kind performs. */
export async function startJob<Kind extends JobsTable['kind']>(
  tx: Tx,
  { kind, subscriberId, filter, total, rate = null, behind = 0 }: NewJob<Kind>,
  now: number,
): Promise<JobsTable & { kind: Kind }> {
  const row: JobsTable & { kind: Kind } = {
    id: newId(now),
    kind,
    subscriber_id: subscriberId ?? null,
    filter: JSON.stringify(filter),
    status: total === 0 ? 'done' : 'running',
    total,
    done: 0,
    position: behind,
    rate,
    due_at: now,
    claim: null,
    created_at: now,
    updated_at: now,
  }
  await tx.insertInto('jobs').values(row).execute()
  return row
}
