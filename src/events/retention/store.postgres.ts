import type { PoolClient, QueryResultRow } from 'pg'
import { retentionLock } from '../../storage/advisory-locks.ts'
import type { PostgresDatabase } from '../../storage/database.ts'
import { translateError } from '../../storage/unavailable.ts'
import { idsOf, remove, removeEvents } from './events.postgres.ts'
import {
  choose,
  deleteJobs,
  jobsPerStep,
  pagesOf,
  type Candidate,
  type EventCandidate,
  type Removed,
  type RetentionSteps,
  type RetentionStore,
  type Step,
} from './store.ts'

/** Rows that one step examines. */
const rowsPerStep = 1_000

const pages = pagesOf('$1', '$2')

const deleteEventQueue = `
  delete from event_queue where event in (
    select q.event from event_queue q where q.event = any($1) and q.status in ('processed', 'failed')
      and not exists (select 1 from events e where e.id = q.event) for update skip locked
  )`
const deleteIdempotencyKey = `
  delete from idempotency_keys where event in (
    select k.event from idempotency_keys k where k.event = any($1)
      and not exists (select 1 from events e where e.id = k.event) for update skip locked
  )`
const deleteRejected = 'delete from rejected_webhooks where id = any($1)'

/** Deletes in batches on the session that holds the lock. If the session breaks, the sweep ends. */
export function postgresRetention({ sessions, maintenance }: PostgresDatabase): RetentionStore {
  return {
    alone: (work) => maintenance(() => alone(work)),
  }

  async function alone(work: (steps: RetentionSteps) => Promise<void>): Promise<boolean> {
    let client: PoolClient | undefined
    try {
      client = await sessions.connect()
      const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [
        retentionLock,
      ])
      if (rows[0]?.held) {
        await work(stepsOver(client))
        await client.query('select pg_advisory_unlock($1)', [retentionLock])
      }
      client.release()
      return rows[0]?.held === true
    } catch (error) {
      // Closing the session releases the lock.
      client?.release(true)
      throw translateError(error)
    }
  }
}

function stepsOver(client: PoolClient): RetentionSteps {
  const stepOf = (table: keyof Removed, page: string, statement: string) => (after: number, until: number) =>
    step<Candidate & QueryResultRow>(client, { page, after, until }, async (chosen, next) => ({
      removed: { [table]: await remove(client, statement, idsOf(chosen)) },
      next,
    }))
  return {
    removeEvents: (after, until) =>
      step<EventCandidate & QueryResultRow>(client, { page: pages.events, after, until }, (chosen, next) =>
        removeEvents(client, chosen, next),
      ),
    removeProcessedMarkers: stepOf('event_queue', pages.eventQueue, deleteEventQueue),
    removeIdempotencyKeys: stepOf('idempotency_keys', pages.idempotencyKeys, deleteIdempotencyKey),
    removeRejected: stepOf('rejected_webhooks', pages.rejected, deleteRejected),
    async removeJobs(_after, until) {
      const jobs = (await client.query(deleteJobs('$1'), [until])).rowCount ?? 0
      return { removed: { jobs }, next: jobs < jobsPerStep ? undefined : 0 }
    },
  }
}

/** Reads one page, and removes the rows in one transaction. */
async function step<Row extends Candidate & QueryResultRow>(
  client: PoolClient,
  { page, after, until }: { page: string; after: number; until: number },
  removeRows: (chosen: readonly Row[], next: number | undefined) => Promise<Step>,
): Promise<Step> {
  const { rows } = await client.query<Row>(page, [after, rowsPerStep])
  const { chosen, next } = choose(rows, until)
  if (chosen.length === 0) return { removed: {}, next }
  await client.query('begin')
  try {
    const done = await removeRows(chosen, next)
    await client.query('commit')
    return done
  } catch (error) {
    // If the rollback fails as well, the session is closed. The caller gets the first error.
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}
