import { sql, type RawBuilder } from 'kysely'
import type { Clock } from '../../runtime/clock.ts'
import { Problem } from '../../errors.ts'
import type { Cursors, CursorScope } from '../../paging/cursor.ts'
import type { PageOfRows, PageRequest } from '../../paging/page.ts'
import type { Database } from '../../storage/database.ts'
import { isOneOf } from '../../storage/one-of.ts'
import type { DeliveryStatus, SubscriberStatus } from '../../storage/tables.ts'
import type { Health } from './health.ts'
import { summarize } from './health-summary.ts'
import { lastDayBegins, stateOf, type SubscriberState } from './subscriber-state.ts'

/** An owner, with what its subscribers do. Times in milliseconds since 1970. */
export interface Owner {
  owner: string
  subscribers: number
  states: Record<SubscriberState, number>
  /** Attempts of the last day that succeeded and failed. */
  delivered: number
  failed: number
  lastDelivery: { id: number; status: DeliveryStatus; createdAt: number } | null
  /** The end of the newest link that can still be opened, and of the session that ends last. */
  linkExpiresAt: number | null
  sessionExpiresAt: number | null
}

export interface OwnersParts {
  database: Database
  cursors: Cursors
  clock: Clock
  health: Health
}

/** The most subscribers of an owner that its counts include: the newest ones. */
const mostSubscribers = 1_000

interface OwnSubscriber {
  id: string
  owner: string
  status: SubscriberStatus
  failing_since: number | null
}

/** The owners that subscribers name: the customers of the product. */
export class Owners {
  readonly #parts: OwnersParts

  constructor(parts: OwnersParts) {
    this.#parts = parts
  }

  /** By name. @param text a part of the name, in any case @throws Problem `invalid-cursor` */
  async list(text: string | undefined, request: PageRequest): Promise<PageOfRows<Owner>> {
    const { database, cursors } = this.#parts
    const scope: CursorScope = {
      list: 'owners',
      keys: [{ name: 'owner', type: 'text' }],
      query: text === undefined ? {} : { text },
    }
    let query = database.readerAside
      .selectFrom('subscribers')
      .select('owner')
      .where('owner', 'is not', null)
      .groupBy('owner')
      .orderBy('owner')
    if (text !== undefined)
      query = query.where(sql<boolean>`${position(database.engine)}(lower(owner), ${text.toLowerCase()}) > 0`)
    const page = await cursors.read(
      scope,
      request,
      (behind: string | undefined, count) =>
        query
          .$if(behind !== undefined, (all) => all.where('owner', '>', behind!))
          .limit(count)
          .execute(),
      ({ owner }) => owner!,
    )
    const names = page.rows.map(({ owner }) => owner!)
    return { rows: await this.#describe(names), nextCursor: page.nextCursor }
  }

  /** @throws Problem `not-found` for a name that no subscriber, link or session has */
  async get(owner: string): Promise<Owner> {
    const [found] = await this.#describe([owner])
    if (!found || (found.subscribers === 0 && !found.linkExpiresAt && !found.sessionExpiresAt))
      throw new Problem('not-found', { detail: 'There is no such owner.' })
    return found
  }

  async #describe(owners: readonly string[]): Promise<Owner[]> {
    if (owners.length === 0) return []
    const { clock, health } = this.#parts
    const now = clock.now()
    const subscribers = await this.#subscribersOf(owners)
    const ids = subscribers.map(({ id }) => id)
    const [days, links, sessions] = [
      Map.groupBy(await health.totals(ids, lastDayBegins(now)), (row) => row.subscriber_id),
      await this.#ends('portal_links', owners, now),
      await this.#ends('portal_sessions', owners, now),
    ]
    const last = await this.#lastDeliveries(ids)
    return owners.map((owner) => {
      const own = subscribers.filter((one) => one.owner === owner)
      const states = { active: 0, idle: 0, failing: 0, paused: 0, disabled: 0 }
      let [delivered, failed] = [0, 0]
      let newest: Owner['lastDelivery'] = null
      for (const one of own) {
        const day = summarize(days.get(one.id) ?? [])
        states[stateOf(one, day)] += 1
        delivered += day.delivered
        failed += day.failed
        const delivery = last.get(one.id)
        if (delivery && (newest === null || delivery.id > newest.id)) newest = delivery
      }
      return {
        owner,
        subscribers: own.length,
        states,
        delivered,
        failed,
        lastDelivery: newest,
        linkExpiresAt: links.get(owner) ?? null,
        sessionExpiresAt: sessions.get(owner) ?? null,
      }
    })
  }

  async #subscribersOf(owners: readonly string[]): Promise<OwnSubscriber[]> {
    const { readerAside, engine } = this.#parts.database
    const newest = (owner: RawBuilder<unknown>): RawBuilder<OwnSubscriber> =>
      sql`select id, owner, status, failing_since from subscribers where owner = ${owner} order by id desc limit ${sql.lit(mostSubscribers)}`
    // On PostgreSQL one statement, because a page has many owners. SQLite cannot limit the rows of each.
    const statements =
      engine === 'postgres'
        ? [
            sql<OwnSubscriber>`select s.* from unnest(${[...owners]}::text[]) names (name) cross join lateral (${newest(sql`names.name`)}) s`,
          ]
        : owners.map((owner) => newest(sql`${owner}`))
    const found = await Promise.all(statements.map((statement) => statement.execute(readerAside)))
    return found.flatMap(({ rows }) => rows)
  }

  /** The newest delivery of each subscriber: one seek of an index for each. */
  async #lastDeliveries(ids: readonly string[]): Promise<Map<string, NonNullable<Owner['lastDelivery']>>> {
    if (ids.length === 0) return new Map()
    const rows = await this.#parts.database.readerAside
      .selectFrom('subscribers as s')
      .innerJoin('deliveries as d', (join) =>
        join.on(
          'd.id',
          '=',
          sql<number>`(select x.id from deliveries x where x.subscriber_id = s.id order by x.subscriber_id desc, x.id desc limit 1)`,
        ),
      )
      .select(['s.id as subscriberId', 'd.id', 'd.status', 'd.created_at as createdAt'])
      .where(isOneOf(this.#parts.database.engine, 's.id', ids))
      .execute()
    return new Map(rows.map(({ subscriberId, ...delivery }) => [subscriberId, delivery]))
  }

  /** When the last of the owners' links or sessions expires. */
  async #ends(
    table: 'portal_links' | 'portal_sessions',
    owners: readonly string[],
    now: number,
  ): Promise<Map<string, number>> {
    const rows = await this.#parts.database.readerAside
      .selectFrom(table)
      .select(['owner', (eb) => eb.fn.max<number>('expires_at').as('end')])
      .where('owner', 'in', [...owners])
      .where('expires_at', '>', now)
      .groupBy('owner')
      .execute()
    return new Map(rows.map(({ owner, end }) => [owner, end]))
  }
}

function position(engine: Database['engine']) {
  return sql.raw(engine === 'sqlite' ? 'instr' : 'strpos')
}
