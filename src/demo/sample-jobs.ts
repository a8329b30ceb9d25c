import { idOf } from '../crypto/ids.ts'
import type { Tx } from '../storage/database.ts'
import type { JobsTable } from '../storage/tables.ts'
import { sampleCustomerSubscribers } from './sample-customer.ts'

const hour = 3_600_000

interface SampleJob extends Pick<JobsTable, 'kind' | 'status' | 'total' | 'done'> {
  /** Since it began. */
  hours: number
  /** That it took. */
  seconds: number
  subscriber?: string | undefined
  rate?: number
}

const [works, down] = sampleCustomerSubscribers

const samples: readonly SampleJob[] = [
  { kind: 'reprocess', status: 'done', total: 212, done: 212, hours: 243, seconds: 4 },
  { kind: 'replay', status: 'done', total: 48, done: 48, hours: 170, seconds: 2, subscriber: works },
  {
    kind: 'replay',
    status: 'cancelled',
    total: 930,
    done: 260,
    hours: 51,
    seconds: 52,
    subscriber: down,
    rate: 5,
  },
  { kind: 'reprocess', status: 'done', total: 17, done: 17, hours: 20, seconds: 1 },
]

/** Jobs that ended before the first start. @param now milliseconds since 1970 */
export async function insertSampleJobs(tx: Tx, now: number): Promise<void> {
  const rows = samples.map(({ kind, status, total, done, hours, seconds, subscriber, rate }): JobsTable => {
    const begun = now - hours * hour
    const ended = begun + seconds * 1_000
    return {
      id: idOf(begun),
      kind,
      status,
      total,
      done,
      subscriber_id: subscriber ?? null,
      filter: '{"upTo":0}',
      position: 0,
      rate: rate ?? null,
      due_at: ended,
      claim: null,
      created_at: begun,
      updated_at: ended,
    }
  })
  await tx.insertInto('jobs').values(rows).execute()
}
