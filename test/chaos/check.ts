import type { Item } from './load/item.ts'
import { textOf } from './load/item.ts'
import { findOverlaps, type Overlaps } from './postern/runs.ts'
import type { World } from './world.ts'

/** What was found wrong at the end, and what was looked at. Lists hold what is wrong. */
export interface Verdict extends Overlaps {
  acknowledged: number
  /** Acknowledged, and there is no effect of it. */
  lost: string[]
  /** Handled more than once. */
  doubled: string[]
  foreign: string[]
  stalled: string[]
  /** Events that a follower of GET /events never got. */
  missed: string[]
  /** Deadlocks, which handlers that lock one row each never have. */
  deadlocks: string[]
  /** Numbers of events that stood for two. */
  reused: string[]
  /** Answers that a client must not get from a database that moves. */
  answers: string[]
  findings: readonly string[]
  /** Acknowledged by a server whose data were lost by the fault itself: there is no effect of these. */
  inherent: number
  /** Arrivals at a subscriber that had had the event. */
  again: number
  /** Times in which a process heard nothing from the database for longer than it may be ready. */
  silences: number
  /** The longest time without the database after which a process said that it was ready, in milliseconds. */
  longestReadyMs: number
}

interface Effect {
  event_id: string
  text: string
  count: string
}
interface Logged {
  id: string
  event_id: string
  direction: string
}

/** Holds what was acknowledged against what is there. The load has ended, and its effects are awaited. */
export async function check(world: World): Promise<Verdict> {
  const { ledger, runsFile, processes, topology, followers, readiness } = world
  const effects = await topology.query<Effect>(
    'select event_id, text, count(*) from chaos_effects group by event_id, text',
  )
  const log = await topology.query<Logged>('select id, event_id, direction from events order by id')
  const [counted] = await topology.query<{ deadlocks: string }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  )
  const acknowledged = [...ledger.items.values()].filter((item) => item.acknowledgedAt !== undefined)
  const handled = new Set(effects.map(({ event_id }) => event_id))
  const has = (item: Item): boolean =>
    item.kind === 'webhook' ? handled.has(item.id) : item.doneAt !== undefined
  const without = acknowledged.filter((item) => !has(item))
  const lost = without.filter(({ inLostWindow }) => !inLostWindow)
  const wrong = effects.filter(({ event_id, text }) => textOf(event_id) !== text)
  const overlaps = findOverlaps(
    runsFile,
    processes.flatMap(({ pauses }) => pauses),
    (time) => world.faults.findLast(({ from }) => from <= time)?.name ?? 'the start',
  )
  return {
    ...overlaps,
    acknowledged: acknowledged.length,
    lost: await Promise.all(lost.map((item) => describe(item, topology))),
    inherent: without.filter(({ inLostWindow }) => inLostWindow).length,
    doubled: effects
      .filter(({ count }) => count !== '1')
      .map(({ event_id, count }) => `${event_id}: ${count} times`),
    foreign: [
      ...ledger.foreign,
      ...wrong.map(({ event_id }) => `the handler of ${event_id} got another's data`),
    ],
    stalled: [...ledger.stalled],
    missed: followers.flatMap(({ seen }) => log.filter((event) => !seen.has(nameOf(event))).map(nameOf)),
    deadlocks: Number(counted!.deadlocks) > 0 ? [counted!.deadlocks] : [],
    reused: followers.flatMap(({ reused, numbers }) =>
      reused.concat(
        log.filter((event) => (numbers.get(Number(event.id)) ?? nameOf(event)) !== nameOf(event)).map(nameOf),
      ),
    ),
    answers: [...(world.senders?.answers ?? [])]
      .filter(([status]) => ![0, 200, 202, 408, 503].includes(status))
      .map(([status, count]) => `${status}: ${count}`),
    findings: world.findings,
    again: ledger.again,
    silences: readiness.silences,
    longestReadyMs: readiness.longestReadyMs,
  }
}

interface Delivery {
  status: string | null
  attempts: number
  due_in: string
  failures: string | null
}

/** Describes an event without an effect: that it is not stored, or the state of its deliveries. */
async function describe({ id, kind }: Item, topology: World['topology']): Promise<string> {
  if (kind === 'webhook') {
    const [event] = await topology.query<{ status: string; attempts: number }>(
      'select status, attempts from event_queue where event_id = $1',
      [id],
    )
    return event ? `${id} is ${event.status} after ${event.attempts} attempts` : `${id} is not stored`
  }
  const deliveries = await topology.query<Delivery>(
    `select d.status, d.attempts, d.due_at - extract(epoch from clock_timestamp()) * 1000 as due_in,
       (select string_agg(coalesce(a.error, a.failure, a.status::text), ', ' order by a.number)
         from attempts a where a.delivery = d.id) as failures
     from idempotency_keys k left join deliveries d on d.event = k.event
     where k.event_id = $1 and d.status is distinct from 'delivered'`,
    [id],
  )
  const each = deliveries.map(({ status, attempts, due_in, failures }) =>
    status === null
      ? 'has no delivery'
      : `is ${status} after ${attempts} attempts (${failures ?? 'none recorded'}), due in ${Math.round(Number(due_in) / 1000)} s`,
  )
  return each.length === 0 ? `${id} is not stored, or delivered` : `${id} ${each.join(' and ')}`
}

function nameOf({ event_id, direction }: Logged): string {
  return `${direction} ${event_id}`
}

/** Names and counts of what is wrong; empty when nothing is. */
export function faultsOf(verdict: Verdict): string[] {
  return Object.entries(verdict).flatMap(([name, value]: [string, unknown]) =>
    Array.isArray(value) && value.length > 0
      ? [`${value.length} ${name} (${value.slice(0, 3).join('; ')}${value.length > 3 ? '; …' : ''})`]
      : [],
  )
}
