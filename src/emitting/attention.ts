import { mostOfAKind, quoted, type Attention } from '../http/attention.ts'
import type { Database } from '../storage/database.ts'
import type { Row } from '../storage/tables.ts'
import { disabledByAdmin, disabledByOwner } from './subscribers/subscriber-rules.ts'
import { isoTime } from '../runtime/iso-time.ts'

const hour = 3_600_000
/** Milliseconds before the end of an older signing secret from which on it needs attention: a rotation overlaps for a day. */
const notice = 3 * hour
/** The disabled subscribers that are looked at, the latest first. */
const mostExamined = 1_000

/** Subscribers that fail, that were disabled because they failed, and those with an older secret that ends soon. */
export async function emittingAttention({ slowReader }: Database, now: number): Promise<Attention[]> {
  return [
    ...(await failingSubscribers(slowReader)),
    ...(await disabledSubscribers(slowReader)),
    ...(await endingSecrets(slowReader, now)),
  ]
}

async function failingSubscribers(reader: Database['slowReader']): Promise<Attention[]> {
  const failing = await reader
    .selectFrom('subscribers')
    .select(['id', 'url', 'description', 'owner', 'failing_since'])
    .where('failing_since', 'is not', null)
    .where('status', '=', 'active')
    // The latest first: of more than are listed, the earlier ones were reported before.
    .orderBy('failing_since', 'desc')
    .limit(mostOfAKind)
    .execute()
  const found: Attention[] = []
  for (const { id, failing_since, ...subscriber } of failing) {
    const cause = await lastFailure(reader, id)
    found.push({
      kind: 'subscriber-failing',
      severity: 'error',
      text: `Deliveries to ${nameOf(subscriber)} are failing${cause === undefined ? '' : `: ${cause}`}.`,
      since: failing_since,
      about: { topic: 'subscriber', id },
    })
  }
  return found
}

/** Why the latest failed attempt among the newest deliveries of a subscriber failed. */
async function lastFailure(reader: Database['slowReader'], id: string): Promise<string | undefined> {
  const newest = reader
    .selectFrom('deliveries')
    .select(['id', 'attempts'])
    .where('subscriber_id', '=', id)
    .orderBy('id', 'desc')
    .limit(mostOfAKind)
  const failed = await reader
    .selectFrom(newest.as('newest'))
    .innerJoin('attempts', (join) =>
      join.onRef('attempts.delivery', '=', 'newest.id').onRef('attempts.number', '=', 'newest.attempts'),
    )
    .select(['attempts.status', 'attempts.error'])
    .where('attempts.error', 'is not', null)
    .orderBy('attempts.at', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (!failed) return undefined
  return failed.status === null ? quoted(failed.error ?? 'no response') : `HTTP ${failed.status}`
}

async function disabledSubscribers(reader: Database['slowReader']): Promise<Attention[]> {
  const disabled = await reader
    .selectFrom((from) =>
      from
        .selectFrom('subscribers')
        .select(['id', 'url', 'description', 'owner', 'updated_at', 'disabled_reason'])
        .where('status', '=', 'disabled')
        .orderBy('updated_at', 'desc')
        .limit(mostExamined)
        .as('latest'),
    )
    .selectAll()
    // A person who disabled a subscriber knows it.
    .where('disabled_reason', 'not in', [disabledByAdmin, disabledByOwner])
    .orderBy('updated_at', 'desc')
    .limit(mostOfAKind)
    .execute()
  return disabled.map(({ id, updated_at, disabled_reason: reason, ...subscriber }) => ({
    kind: 'subscriber-disabled',
    severity: 'error',
    text: `Endpoint ${nameOf(subscriber)} was disabled: ${reason} It receives nothing until you enable it.`,
    since: updated_at,
    about: { topic: 'subscriber', id },
  }))
}

async function endingSecrets(reader: Database['slowReader'], now: number): Promise<Attention[]> {
  const ending = await reader
    .selectFrom('subscriber_secrets')
    .innerJoin('subscribers', 'subscribers.id', 'subscriber_secrets.subscriber_id')
    .select(['subscribers.id', 'url', 'description', 'owner', 'expires_at'])
    .where('expires_at', '>', now)
    .where('expires_at', '<', now + notice)
    .orderBy('expires_at')
    .limit(mostOfAKind)
    .execute()
  return ending.map(({ id, expires_at, ...subscriber }) => ({
    kind: 'subscriber-secret-ends',
    severity: 'warning',
    text: `The previous secret of ${nameOf(subscriber)} expires at ${isoTime(expires_at ?? now).slice(11, 16)} UTC. The endpoint must use the new one by then.`,
    since: null,
    about: { topic: 'subscriber', id },
  }))
}

/**
 * The host, because other subscribers can have the same: with the description, or the owner. Without the path, which can be a
 * credential, as those of chats are.
 */
function nameOf({
  url,
  description,
  owner,
}: Pick<Row<'subscribers'>, 'url' | 'description' | 'owner'>): string {
  const about = quoted(description ?? owner ?? '')
  return about === '' ? new URL(url).host : `${new URL(url).host} (${about})`
}
