import { sql } from 'kysely'
import type { JobStep } from '../../events/jobs.ts'
import type { Database, Tx } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import { isOneOf } from '../../storage/sql-text.ts'
import type { Row } from '../../storage/tables.ts'
import { everybody } from '../events/event.ts'
import { builtInTypes } from '../events/built-in-types.ts'
import { type FanOut, storedEvent } from '../events/fan-out.ts'
import { bounds } from './delivery-sources.ts'
import { idsIn } from '../../storage/id-order.ts'
import { eventsFor } from './id-streams.ts'
import type { Measured, StoredFilter } from './replay.ts'

/** The most events that one step examines. */
const examinedPerStep = 500
/** The most payloads that one step reads to check conditions. Each can have 1 MiB. */
const payloadsPerStep = 20

/** Counts the events that a subscriber could have missed: an upper limit for the missing ones. */
export async function measureMissing(
  { slowReader: db }: Database,
  subscriberId: string,
  filter: Pick<StoredFilter, 'since' | 'until'>,
): Promise<Measured> {
  const range = await bounds(db, 'events', filter)
  const { owner = null, events_after } =
    (await db
      .selectFrom('subscribers')
      .leftJoin('owners', 'owners.owner', 'subscribers.owner')
      .select(['subscribers.owner', 'events_after'])
      .where('id', '=', subscriberId)
      .executeTakeFirst()) ?? {}
  const after = Math.max(range.after, events_after ?? 0)
  const { total, last } = await db
    .selectFrom('idempotency_keys')
    .select((eb) => [eb.fn.countAll<number>().as('total'), eb.fn.max<number | null>('event').as('last')])
    .where('event', '>', after)
    .where('event', '<', range.before)
    .$if(owner !== null, (all) => all.where('audience', 'in', [owner!, everybody]))
    .executeTakeFirstOrThrow()
  return { total, behind: after, upTo: last ?? 0 }
}

/** Inserts at most `limit` deliveries, of the next events that a subscriber never got but matches now. */
export async function missingStep(
  { engine, fanOut }: { engine: Engine; fanOut: FanOut },
  tx: Tx,
  job: Row<'jobs'>,
  { limit, now }: { limit: number; now: number },
): Promise<JobStep> {
  const filter = JSON.parse(job.filter) as StoredFilter
  const row = tx.selectFrom('subscribers').selectAll().where('id', '=', job.subscriber_id)
  // Two jobs of one subscriber must not insert the same delivery.
  const subscriber = await (engine === 'postgres' ? row.forNoKeyUpdate() : row).executeTakeFirst()
  const end = (count: number): JobStep => ({ count, last: undefined, done: true, total: job.done + count })
  if (!subscriber || subscriber.operational || subscriber.status === 'disabled') return end(0)
  const { id, owner, conditions } = subscriber
  const streams = owner === null ? [eventsFor()] : [owner, everybody].map(eventsFor)
  const range = { after: job.position, before: filter.upTo + 1 }
  const numbers = await idsIn(tx, engine, streams, { ...range, count: examinedPerStep, ascending: true })
  if (numbers.length === 0) return end(0)
  const most = conditions === null ? limit : Math.min(limit, payloadsPerStep)
  const missing = await isMissing(tx, engine, { numbers, subscriber: id, filter }).limit(most).execute()
  const payloads = conditions === null ? undefined : await readPayloads(tx, missing)
  const events = missing.map((event) => storedEvent({ ...event, payload: payloads?.get(event.event) }))
  const { inserted } = await fanOut.insertDeliveries(tx, events, { candidates: [subscriber], now })
  const count = (await inserted)!.length
  if (missing.length === most) return { count, last: missing.at(-1)!.event, done: false }
  if (numbers.length < examinedPerStep) return end(count)
  return { count, last: numbers.at(-1), done: false }
}

function isMissing(
  tx: Tx,
  engine: Engine,
  { numbers, subscriber, filter }: { numbers: readonly number[]; subscriber: string; filter: StoredFilter },
) {
  const { since, until, eventType } = filter
  return (
    tx
      .selectFrom('events as e')
      .leftJoin('idempotency_keys as k', 'k.event', 'e.id')
      .leftJoin('event_options as o', 'o.event', 'e.id')
      .leftJoin('scheduled_events as s', 's.event', 'e.id')
      .select(['e.id as event', 'e.type', 'e.nonce', 'k.audience', 'o.channels'])
      .where(isOneOf(engine, 'e.id', numbers))
      // An event without a payload has no nonce.
      .where('e.nonce', 'is not', null)
      .where((eb) => eb.or([eb('s.event', 'is', null), eb('s.released_at', 'is not', null)]))
      .where('e.type', 'not in', Object.keys(builtInTypes))
      .$if(eventType !== undefined, (all) => all.where('e.type', '=', eventType!))
      .$if(since !== undefined, (all) => all.where('e.created_at', '>=', since!))
      .$if(until !== undefined, (all) => all.where('e.created_at', '<', until!))
      .where(
        sql<boolean>`not exists (select 1 from deliveries d where d.event = e.id and d.subscriber_id = ${subscriber})`,
      )
      .orderBy('e.id')
  )
}

async function readPayloads(tx: Tx, events: readonly { event: number }[]): Promise<Map<number, Uint8Array>> {
  if (events.length === 0) return new Map()
  const ids = events.map(({ event }) => event)
  const rows = await tx.selectFrom('events').select(['id', 'payload']).where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, payload }) => [id, payload]))
}
