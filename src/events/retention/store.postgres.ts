import type { PoolClient, QueryResultRow } from 'pg'
import { locks } from '../../storage/advisory-locks.ts'
import type { PostgresDatabase } from '../../storage/database.ts'
import { translateError } from '../../storage/unavailable.ts'
import {
  type Candidate,
  choose,
  type EventCandidate,
  isHeld,
  pagesOf,
  type Removed,
  type RetentionSteps,
  type RetentionStore,
  type Step,
  stepsByTime,
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
        locks.retention,
      ])
      if (rows[0]?.held) {
        await work(stepsOver(client))
        await client.query('select pg_advisory_unlock($1)', [locks.retention])
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
    ...stepsByTime(async (statement, until) => (await client.query(statement('$1'), [until])).rowCount ?? 0),
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

/** Deliveries that one step removes at most, with their attempts. An event may have one for each subscriber. */
const deliveriesPerStep = 5_000

/**
 * The deliveries of the first events, added up. It reads the events in turn, and ends with the one that exceeds the limit: all
 * deliveries of a page may be millions.
 */
const addUpDeliveries = `
  with recursive added (place, total) as (
    select 0, 0
    union all
    select place + 1, total + (
      select count(*)::int from (
        select from deliveries where event = ($1::bigint[])[place + 1] limit $2 + 1
      ) counted
    ) from added where total <= $2 and place < cardinality($1::bigint[])
  )
  select max(place)::int as events from added where total <= $2`

/** Skips locked rows: another transaction may be making the event or its delivery due again. */
const lockEventQueue = `
  select event from event_queue where event = any($1) and status in ('processed', 'failed') for update skip locked`
const lockDeliveries = `
  select id, event from deliveries where event = any($1) and status <> 'pending' for update skip locked`
const lockSomeDeliveries = `
  select id from deliveries where event = $1 and status <> 'pending' limit $2 for update skip locked`
/** Separate statements, so that they see everything that was committed before the rows were locked. */
const countDeliveries =
  'select event, count(*)::int as count from deliveries where event = any($1) group by event'
const readHeld = `select ${isHeld} as held from events e where e.id = $1`
const deleteAttempts = 'delete from attempts where delivery = any($1)'
const deleteDeliveries = 'delete from deliveries where id = any($1)'
const deleteFailures = 'delete from handler_failures where event = any($1)'
const deleteSchedules = 'delete from scheduled_events where event = any($1)'
const deleteOptions = 'delete from event_options where event = any($1)'
const deleteEvents = 'delete from events where id = any($1)'

/**
 * Removes events from the start of a page, as many as have 5,000 deliveries together. Of an event with more, it removes 5,000
 * deliveries, and the next step continues with the same event.
 * @param chosen in the order of their numbers, at least one
 * @param next the number behind which the next step continues after the whole page
 */
async function removeEvents(
  client: PoolClient,
  chosen: readonly EventCandidate[],
  next: number | undefined,
): Promise<Step> {
  const emitted = idsOf(chosen.filter(({ direction }) => direction === 'emitted'))
  const { rows } = await client.query<{ events: number }>(addUpDeliveries, [emitted, deliveriesPerStep])
  const tooMany = emitted[rows[0]!.events]
  if (tooMany === undefined) return { removed: await removeWhole(client, chosen), next }
  const before = chosen.filter(({ id }) => id < tooMany)
  if (before.length > 0) return { removed: await removeWhole(client, before), next: tooMany - 1 }
  const removed = await removePart(client, tooMany)
  // Without progress, the same step would repeat for ever.
  return { removed, next: removed.deliveries ? tooMany - 1 : tooMany }
}

async function removeWhole(client: PoolClient, chosen: readonly EventCandidate[]): Promise<Removed> {
  const { received = [], emitted: deliverable = [] } = Object.groupBy(chosen, ({ direction }) => direction)
  const finished = await lockReceived(client, idsOf(received))
  const emitted = await lockEmitted(client, idsOf(deliverable))
  await remove(client, deleteSchedules, emitted.events)
  await remove(client, deleteOptions, emitted.events)
  return {
    attempts: await remove(client, deleteAttempts, emitted.deliveries),
    deliveries: await remove(client, deleteDeliveries, emitted.deliveries),
    handler_failures: await remove(client, deleteFailures, finished),
    events: await remove(client, deleteEvents, [...finished, ...emitted.events]),
  }
}

/** Removes deliveries of one event, unless one of them is due again. */
async function removePart(client: PoolClient, event: number): Promise<Removed> {
  const { rows } = await client.query<Pick<Candidate, 'id'>>(lockSomeDeliveries, [event, deliveriesPerStep])
  const { rows: states } = await client.query<{ held: boolean }>(readHeld, [event])
  if (states[0]?.held !== false) return {}
  return {
    attempts: await remove(client, deleteAttempts, idsOf(rows)),
    deliveries: await remove(client, deleteDeliveries, idsOf(rows)),
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

/** Runs a statement that deletes the rows with these numbers, and returns how many there were. */
async function remove(client: PoolClient, statement: string, ids: readonly number[]): Promise<number> {
  return ids.length === 0 ? 0 : ((await client.query(statement, [ids])).rowCount ?? 0)
}

function idsOf(rows: readonly Pick<Candidate, 'id'>[]): number[] {
  return rows.map(({ id }) => id)
}
