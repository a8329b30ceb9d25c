import type { PoolClient, QueryResultRow } from 'pg'
import { retentionLock } from '../../storage/advisory-locks.ts'
import type { PostgresDatabase } from '../../storage/database.ts'
import { translateError } from '../../storage/unavailable.ts'
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

/** Skips locked rows: another transaction may be making the event or its delivery due again. */
const lockEventQueue = `
  select event from event_queue where event = any($1) and status in ('processed', 'failed') for update skip locked`
const lockDeliveries = `
  select id, event from deliveries where event = any($1) and status <> 'pending' for update skip locked`
/** A separate statement, so that it sees everything that was committed before the rows were locked. */
const countDeliveries =
  'select event, count(*)::int as count from deliveries where event = any($1) group by event'
const deleteAttempts = 'delete from attempts where delivery = any($1)'
const deleteDeliveries = 'delete from deliveries where id = any($1)'
const deleteFailures = 'delete from handler_failures where event = any($1)'
const deleteEvents = 'delete from events where id = any($1)'
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

/** Deletes in batches on the session that holds the lock. If the session breaks, the round ends. */
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
    step<Candidate & QueryResultRow>(client, { page, after, until }, async (chosen) => ({
      [table]: await remove(client, statement, idsOf(chosen)),
    }))
  return {
    removeEvents: (after, until) =>
      step<EventCandidate & QueryResultRow>(client, { page: pages.events, after, until }, (chosen) =>
        removeEvents(client, chosen),
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
  remove: (chosen: readonly Row[]) => Promise<Removed>,
): Promise<Step> {
  const { rows } = await client.query<Row>(page, [after, rowsPerStep])
  const { chosen, next } = choose(rows, until)
  if (chosen.length === 0) return { removed: {}, next }
  await client.query('begin')
  try {
    const removed = await remove(chosen)
    await client.query('commit')
    return { removed, next }
  } catch (error) {
    // If the rollback fails as well, the session is closed. The caller gets the first error.
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

async function removeEvents(client: PoolClient, chosen: readonly EventCandidate[]): Promise<Removed> {
  const received = await lockReceived(
    client,
    idsOf(chosen.filter(({ direction }) => direction === 'received')),
  )
  const emitted = await lockEmitted(client, idsOf(chosen.filter(({ direction }) => direction === 'emitted')))
  return {
    attempts: await remove(client, deleteAttempts, emitted.deliveries),
    deliveries: await remove(client, deleteDeliveries, emitted.deliveries),
    handler_failures: await remove(client, deleteFailures, received),
    events: await remove(client, deleteEvents, [...received, ...emitted.events]),
  }
}

async function lockReceived(client: PoolClient, ids: readonly number[]): Promise<number[]> {
  const { rows } = await client.query<{ event: number }>(lockEventQueue, [ids])
  return rows.map(({ event }) => event)
}

/** Locks the deliveries of the events, and returns the events of which all deliveries are locked. */
async function lockEmitted(
  client: PoolClient,
  ids: readonly number[],
): Promise<{ events: number[]; deliveries: number[] }> {
  const { rows } = await client.query<{ id: number; event: number }>(lockDeliveries, [ids])
  const locked = Map.groupBy(rows, ({ event }) => event)
  const counted = await client.query<{ event: number; count: number }>(countDeliveries, [ids])
  const counts = new Map(counted.rows.map(({ event, count }) => [event, count]))
  const events = ids.filter((id) => (counts.get(id) ?? 0) === (locked.get(id)?.length ?? 0))
  return { events, deliveries: events.flatMap((id) => locked.get(id)?.map((delivery) => delivery.id) ?? []) }
}

async function remove(client: PoolClient, statement: string, ids: readonly number[]): Promise<number> {
  return ids.length === 0 ? 0 : ((await client.query(statement, [ids])).rowCount ?? 0)
}

function idsOf(rows: readonly Candidate[]): number[] {
  return rows.map(({ id }) => id)
}
