import type { Database, Tx } from '../../storage/database.ts'
import type { SubscriberStatus, Row } from '../../storage/tables.ts'
import { invalidBody, Problem } from '../../errors.ts'
import { type Egress, faultOfDestination } from '../../network/egress.ts'
import type { Reach } from '../events/event.ts'
import { lockOwner } from './owner-directory.ts'

/** The `disabled_reason` of a subscriber that an admin disabled. Its owner cannot enable it. */
export const disabledByAdmin = 'Disabled by an API request.'
/** The same for one that its owner disabled. */
export const disabledByOwner = 'Disabled by its owner.'
/** Subscribers that an owner can register in the portal. */
const mostPerOwner = 100

/** An address as it is stored: as given, unless it contains characters that must be encoded. @throws Problem `invalid-body` */
export function checkedUrl(url: string, egress: Egress): string {
  const fault = faultOfDestination(url, egress)
  if (fault) throw invalidBody('/url', fault)
  return /^[!-~]+$/.test(url) && !url.includes('\\') ? url : new URL(url).href
}

/** Operational events are about all subscribers, so a subscriber with an owner must not get them. @throws Problem `invalid-body` */
export function checkAssignment({
  owner,
  operational,
}: Partial<Pick<Row<'subscribers'>, 'owner' | 'operational'>>): void {
  if (owner !== null && operational === 1)
    throw invalidBody('/operational', 'A subscriber with an owner cannot be operational.')
}

/**
 * The owner of a subscriber never changes, because its deliveries, headers and secrets belong to that owner. The same owner
 * again is accepted.
 * @throws Problem `conflict`
 */
export function refuseOtherOwner({ owner }: Row<'subscribers'>, given: string | null | undefined): void {
  if (given === undefined || given === owner) return
  throw new Problem('conflict', {
    detail: 'The owner of a subscriber is fixed: register a new subscriber for the other owner.',
    pointer: '/owner',
  })
}

/**
 * Whether the stored headers and credentials remain after a change. They may be for the old server, so another origin (scheme, host,
 * port) gets none of them, nor do other settings of a destination.
 * @param request the column, if settings of a destination are given
 */
export function isSameServer(
  before: Row<'subscribers'>,
  url: string | undefined,
  request: string | undefined,
): boolean {
  if (request !== undefined) return request === before.request
  return url === undefined || new URL(before.url).origin === new URL(url).origin
}

/** @throws Problem `forbidden` */
export function statusColumns(
  before: Pick<Row<'subscribers'>, 'status' | 'disabled_reason'>,
  status: SubscriberStatus | undefined,
  reach: Reach,
): Partial<Row<'subscribers'>> {
  if (status === undefined) return {}
  const byOwner = reach !== 'all'
  if (byOwner && before.status === 'disabled' && before.disabled_reason === disabledByAdmin)
    throw new Problem('forbidden', { detail: 'An admin disabled this subscriber, and can enable it again.' })
  const reason = byOwner ? disabledByOwner : disabledByAdmin
  // The cause of the failures may be gone: a new failure is published again.
  const health = before.status === status ? {} : { failing_since: null, warned_at: null }
  return { status, disabled_reason: status === 'disabled' ? reason : null, ...health }
}

/** @throws Problem `conflict` */
export async function refuseTooMany(engine: Database['engine'], tx: Tx, owner: string): Promise<void> {
  await lockOwner(engine, tx, owner)
  const { count } = await tx
    .selectFrom('subscribers')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('owner', '=', owner)
    .executeTakeFirstOrThrow()
  if (count >= mostPerOwner)
    throw new Problem('conflict', { detail: `At most ${mostPerOwner} subscribers can be registered.` })
}

export function subscriberDisabled(): Problem {
  return new Problem('conflict', { detail: 'The subscriber is disabled: set its status to active first.' })
}
