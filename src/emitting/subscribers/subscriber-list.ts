import { sql } from 'kysely'
import type { Clock } from '../../runtime/clock.ts'
import { idScope, type Cursors } from '../../paging/cursor.ts'
import type { PageOfRows, PageRequest } from '../../paging/page.ts'
import type { Database } from '../../storage/database.ts'
import type { SubscribersTable } from '../../storage/tables.ts'
import { isInState, lastDayBegins, type SubscriberState } from './subscriber-state.ts'

export interface SubscriberFilter {
  /** `undefined`: of all; `null`: those without an owner. */
  owner?: string | null | undefined
  state?: SubscriberState | undefined
  /** A part of the address, in any case. */
  url?: string | undefined
}

export interface SubscriberListParts {
  database: Database
  cursors: Cursors
  clock: Clock
  /** Subscribers whose last attempts are not counted in the table yet. */
  unwritten: () => readonly string[]
}

/** A page of subscribers, newest first. @throws Problem `invalid-cursor` */
export async function listSubscribers(
  { database, cursors, clock, unwritten }: SubscriberListParts,
  { owner, state, url }: SubscriberFilter,
  request: PageRequest,
): Promise<PageOfRows<SubscribersTable>> {
  const scope = idScope('subscribers', {
    ...(owner !== undefined && { owner }),
    ...(state !== undefined && { state }),
    ...(url !== undefined && { url }),
  })
  let query = database.readerAside
    .selectFrom('subscribers')
    .selectAll()
    .$if(owner !== undefined, (all) => all.where('owner', owner === null ? 'is' : '=', owner!))
    .orderBy('id', 'desc')
  if (state !== undefined)
    query = query.where(isInState(state, { since: lastDayBegins(clock.now()), unwritten: unwritten() }))
  if (url !== undefined)
    query = query.where(sql<boolean>`lower(url) like ${`%${escapeLike(url.toLowerCase())}%`} escape '!'`)
  return cursors.readById(scope, request, (before, count) =>
    query
      .$if(before !== undefined, (all) => all.where('id', '<', before!))
      .limit(count)
      .execute(),
  )
}

function escapeLike(text: string): string {
  return text.replace(/[!%_]/g, '!$&')
}
