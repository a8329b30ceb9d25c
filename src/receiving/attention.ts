import { type Attention, countOf, mostOfAKind, quoted } from '../http/attention.ts'
import type { Database, Queryable } from '../storage/database.ts'
import type { PlanOf } from './handlers/plan.ts'
import { EventLoop, longestChain } from '../telemetry/propagation.ts'
import { secretsEnd } from './schemes/create-scheme.ts'
import type { Scheme } from './schemes/scheme.ts'
import { isoTime } from '../runtime/iso-time.ts'
import { sql } from 'kysely'
import type { Kind } from './queue/store.ts'

const day = 86_400_000
/** Milliseconds before the end of a secret from which on it needs attention. */
const notice = 7 * day

interface Failing {
  /** The handler. */
  id: string
  isLoop: boolean
  retrying: number
  failed: number
  since: number
  /** The error of its newest failure. */
  cause: string
}

/** Handlers whose events failed within the last day and were not processed since. */
export async function failingHandlers(
  { slowReader }: Pick<Database, 'slowReader'>,
  planOf: PlanOf,
  now: number,
): Promise<Attention[]> {
  const byHandler = new Map<string, Failing>()
  for (const group of await readFailing(slowReader, now - day)) {
    const { handlers } = planOf(group.source, group.type)
    // The handler may be gone from the configuration.
    const handler = handlers.find(({ id }) => id === group.handler) ?? handlers[0]
    if (!handler) continue
    // A loop is a matter of its own, beside other failures of the handler.
    const isLoop = group.name === EventLoop.name
    const key = isLoop ? `loop ${handler.id}` : handler.id
    const failing = byHandler.get(key) ?? {
      id: handler.id,
      isLoop,
      retrying: 0,
      failed: 0,
      since: group.since,
      cause: quoted(`${group.name}: ${group.message}`).replace(/[.!]$/, ''),
    }
    failing.failed += group.failed
    failing.retrying += group.retrying
    failing.since = Math.min(failing.since, group.since)
    byHandler.set(key, failing)
  }
  return [...byHandler.values()]
    .slice(0, mostOfAKind)
    .map((failing) => (failing.isLoop ? describeLoop(failing) : describeHandler(failing)))
}

function describeLoop({ id, failed, since }: Failing): Attention {
  const text = `Handler ${id} was stopped in a loop: what it emits comes back through an endpoint. ${countOf(failed, 'event')} failed at the end of a chain of ${longestChain}.`
  return { kind: 'event-loop', severity: 'error', text, since, about: { topic: 'handler', id } }
}

function describeHandler({ id, retrying, failed, since, cause }: Failing): Attention {
  const parts = [
    ...(retrying > 0 ? [`${countOf(retrying, 'event')} will be retried`] : []),
    ...(failed > 0 ? [`${countOf(failed, 'event')} failed after the last attempt`] : []),
  ]
  const [, source] = /^forwardTo:(.*)$/.exec(id) ?? []
  const name = source === undefined ? `Handler ${id}` : `Forwarding from ${source}`
  return {
    kind: 'handler-failing',
    severity: 'error',
    text: `${name} is failing: ${cause}. ${parts.join(', ')}.`,
    since,
    about: source === undefined ? { topic: 'handler', id } : { topic: 'source', id: source },
  }
}

/** Sources with a secret that ends soon, or that have none that verifies now. */
export function endingSecrets(sources: ReadonlyMap<string, Scheme>, now: number): Attention[] {
  return [...sources].flatMap(([id, scheme]): Attention[] => {
    const { last, next, again } = secretsEnd(scheme, now)
    const until = again === Infinity ? '' : ` until ${utc(again)}`
    const ending = { kind: 'source-secret-ends', since: null, about: { topic: 'source', id } } as const
    if (last <= now) {
      const text = `Source ${id} has no valid secret: all its webhooks are rejected${until}.`
      const since = Number.isFinite(last) ? last : null
      return [{ ...ending, kind: 'source-secret-ended', severity: 'error', text, since }]
    }
    if (last <= now + notice) {
      const text = `The last secret of source ${id} expires at ${utc(last)}. Its webhooks are rejected after that${until}.`
      return [{ ...ending, severity: 'error', text }]
    }
    if (next > now + notice) return []
    const text = `A secret of source ${id} expires at ${utc(next)}. Make sure that the sender signs with the other one.`
    return [{ ...ending, severity: 'warning', text }]
  })
}

function utc(time: number): string {
  return `${isoTime(time).slice(0, 16).replace('T', ' ')} UTC`
}

/**
 * What one call reads at most: groups of each handler, the newest and the oldest events of each group that have failed, or that are
 * retried, and of these the first ones, whose first failure is read.
 */
const most = { groups: 5, events: 500, first: 100 }

/** The events of a group whose last attempt failed after a time. */
interface FailingGroup extends Kind {
  /** The id of the handler that failed. Source and type are those of one of its newest events. */
  readonly handler: string
  /** The name and the first line of its error, as in `failure_groups`. */
  readonly name: string
  readonly message: string
  /** At most `most.events`, as `retrying`. */
  readonly failed: number
  readonly retrying: number
  /** The first failure of these events, in milliseconds since 1970. Their later attempts do not move it. */
  readonly since: number
}

/**
 * Reads the groups with events whose last attempt failed after `after` and that were not processed since, the newest failure first. They
 * are chosen for each handler by itself, so that a handler with many failures hides no other.
 * @param after milliseconds since 1970
 */
export async function readFailing(reader: Queryable, after: number): Promise<FailingGroup[]> {
  // Limited before the time is compared, so that a group with many older failures costs no more.
  const failed = ofGroup('recent', 'failed', most.events)
  const retrying = ofGroup('recent', 'pending', most.events)
  const oldest = (['failed', 'pending'] as const).map((one) => ofGroup('recent', one, most.events, 'asc'))
  const parts = [failed, retrying, ...oldest].map((events) => sql`select * from (${events}) part`)
  const all = sql.join(parts, sql` union `)
  const { rows } = await sql<FailingGroup>`
    with recent as (
      select * from (
        select id, handler, name, message, last_at, row_number() over (partition by handler order by last_at desc, id) as place from failure_groups
        where last_at > ${after} and coalesce(
          (select event from (${ofGroup('failure_groups', 'failed', 1)}) one),
          (select event from (${ofGroup('failure_groups', 'pending', 1)}) one)) is not null
      ) active where place <= ${sql.lit(most.groups)}
    ), counted as (
      select handler, name, message, last_at,
        (select count(*) from (${failed}) latest where failed_at > ${after}) as failed,
        (select count(*) from (${retrying}) latest where failed_at > ${after}) as retrying,
        (select min(coalesce((select min(f.at) from handler_failures f
            where f.event = first.event and f.number > first.attempts_before), failed_at))
          from (select * from (${all}) those where failed_at > ${after} order by event limit ${sql.lit(most.first)}) first) as since,
        coalesce((select max(event) from (${failed}) latest), (select max(event) from (${retrying}) latest)) as newest
      from recent
    )
    select handler, name, message, failed, retrying, since, source, type from counted join event_queue on event_queue.event = newest
    where since is not null order by last_at desc`.execute(reader)
  return rows
}

/**
 * SQL for the newest or the oldest events of a group that failed and have a status. Only the index `event_queue_of_group` has the order of its
 * three columns. By its first two with `=`, PostgreSQL may read the whole queue instead, where it expects to find such an event soon.
 */
function ofGroup(
  groups: 'failure_groups' | 'recent',
  status: 'failed' | 'pending',
  limit: number,
  direction: 'asc' | 'desc' = 'desc',
) {
  const order = sql.raw(direction)
  const place = (event: number) => sql`(${sql.ref(`${groups}.id`)}, ${sql.lit(status)}, ${sql.lit(event)})`
  return sql<{ event: number; failed_at: number }>`select event, failed_at, attempts_before from event_queue
    where failure_group is not null and failed_at is not null
      and (failure_group, status, event) >= ${place(0)} and (failure_group, status, event) <= ${place(Number.MAX_SAFE_INTEGER)}
    order by failure_group ${order}, status ${order}, event ${order} limit ${sql.lit(limit)}`
}
