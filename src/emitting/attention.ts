import { mostOfAKind, type Attention } from '../http/attention.ts'
import type { Database } from '../storage/database.ts'
import { disabledByAdmin, disabledByOwner } from './subscriber-rules.ts'

const hour = 3_600_000
/** Milliseconds before the end of an older signing secret from which on it needs attention: a rotation overlaps for a day. */
const notice = 3 * hour

/** Subscribers that fail, that were disabled because they failed, and those with an older secret that ends soon. */
export async function emittingAttention({ reader }: Database, now: number): Promise<Attention[]> {
  const failing = await reader
    .selectFrom('subscribers')
    .select(['id', 'url', 'failing_since'])
    .where('failing_since', 'is not', null)
    .where('status', '=', 'active')
    .orderBy('failing_since')
    .limit(mostOfAKind)
    .execute()
  const disabled = await reader
    .selectFrom('subscribers')
    .select(['id', 'url', 'updated_at', 'disabled_reason'])
    .where('status', '=', 'disabled')
    .orderBy('id')
    .limit(mostOfAKind)
    .execute()
  const ending = await reader
    .selectFrom('subscriber_secrets')
    .innerJoin('subscribers', 'subscribers.id', 'subscriber_secrets.subscriber_id')
    .select(['subscribers.id', 'url', 'expires_at'])
    .where('expires_at', '>', now)
    .where('expires_at', '<', now + notice)
    .orderBy('expires_at')
    .limit(mostOfAKind)
    .execute()
  return [
    ...failing.map(({ id, url, failing_since }): Attention => ({
      kind: 'subscriber-failing',
      severity: 'error',
      text: `Deliveries to ${hostOf(url)} fail.`,
      since: failing_since,
      about: { topic: 'subscriber', id },
    })),
    // A person who disabled a subscriber knows it.
    ...disabled
      .filter(({ disabled_reason: reason }) => reason !== disabledByAdmin && reason !== disabledByOwner)
      .map(({ id, url, updated_at }): Attention => ({
        kind: 'subscriber-disabled',
        severity: 'error',
        text: `${hostOf(url)} was disabled because its deliveries failed. It gets nothing until it is enabled.`,
        since: updated_at,
        about: { topic: 'subscriber', id },
      })),
    ...ending.map(({ id, url, expires_at }): Attention => ({
      kind: 'subscriber-secret-ends',
      severity: 'warning',
      text: `The older secret of ${hostOf(url)} ends at ${new Date(expires_at ?? now).toISOString().slice(11, 16)} UTC: the receiver must know the new one by then.`,
      since: null,
      about: { topic: 'subscriber', id },
    })),
  ]
}

function hostOf(url: string): string {
  return new URL(url).host
}
