import { sql, type RawBuilder, type SqlBool } from 'kysely'
import { Problem } from '../../errors.ts'
import type { SubscribersTable } from '../../storage/tables.ts'
import { hour, type Health } from './health.ts'
import { summarize, type Summary } from './health-summary.ts'

/** In the order in which they are decided: the first that applies. */
export const subscriberStates = ['disabled', 'paused', 'failing', 'idle', 'active'] as const
export type SubscriberState = (typeof subscriberStates)[number]

/** The one state of a subscriber. `idle`: no attempt ended in the last day. */
export function stateOf(
  { status, failing_since }: Pick<SubscribersTable, 'status' | 'failing_since'>,
  { delivered, failed }: Pick<Summary, 'delivered' | 'failed'>,
): SubscriberState {
  if (status !== 'active') return status
  if (failing_since !== null) return 'failing'
  return delivered + failed === 0 ? 'idle' : 'active'
}

/** What decides between `idle` and `active`. */
export interface Activity {
  /** The first hour of the last day. */
  since: number
  /** Subscribers whose last attempts are not in the table yet. */
  unwritten: readonly string[]
}

/** SQL for `stateOf` of a row of `subscribers`. */
export function isInState(state: SubscriberState, { since, unwritten }: Activity): RawBuilder<SqlBool> {
  if (state === 'disabled' || state === 'paused') return sql<SqlBool>`subscribers.status = ${sql.lit(state)}`
  if (state === 'failing')
    return sql<SqlBool>`subscribers.status = 'active' and subscribers.failing_since is not null`
  const written = sql`exists (select 1 from subscriber_hours h where h.subscriber_id = subscribers.id and h.hour >= ${since})`
  const attempted =
    unwritten.length === 0 ? written : sql`(${written} or subscribers.id in (${sql.join(unwritten)}))`
  const healthy = sql`subscribers.status = 'active' and subscribers.failing_since is null`
  return state === 'idle'
    ? sql<SqlBool>`${healthy} and not ${attempted}`
    : sql<SqlBool>`${healthy} and ${attempted}`
}

/** The first hour of the last day, which is 24 hours and a part. Milliseconds since 1970. */
export function lastDayBegins(now: number): number {
  return Math.floor((now - 24 * hour) / hour) * hour
}

/** The attempts of the last day by subscriber; every id has a summary. */
export async function lastDays(
  health: Health,
  subscriberIds: readonly string[],
  now: number,
): Promise<Map<string, Summary>> {
  const rows = await health.readAll(subscriberIds, lastDayBegins(now), Number.MAX_SAFE_INTEGER)
  const bySubscriber = Map.groupBy(rows, (row) => row.subscriber_id)
  return new Map(subscriberIds.map((id) => [id, summarize(bySubscriber.get(id) ?? [])]))
}

/** @throws Problem `invalid-parameter` */
export function readState(text: string | undefined): SubscriberState | undefined {
  if (!text) return undefined
  const state = subscriberStates.find((known) => known === text)
  if (state) return state
  throw new Problem('invalid-parameter', {
    parameter: 'state',
    detail: `The parameter \`state\` must be one of ${subscriberStates.join(', ')}.`,
  })
}
