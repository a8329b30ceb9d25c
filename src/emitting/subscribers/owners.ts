import type { RecordAudit } from '../../accounts/audit/audit.ts'
import { sql, type RawBuilder } from 'kysely'
import type { Clock } from '../../runtime/clock.ts'
import { Problem } from '../../errors.ts'
import type { Cursors, CursorScope } from '../../paging/cursor.ts'
import type { PageOfRows, PageRequest } from '../../paging/page.ts'
import type { Database } from '../../storage/database.ts'
import { isOneOf } from '../../storage/sql-text.ts'
import type { DeliveryStatus, SubscriberStatus } from '../../storage/tables.ts'
import type { Health } from './health.ts'
import { OwnerNames } from './owner-names.ts'
import { summarize } from './health-summary.ts'
import { lastDayBegins, stateOf, type SubscriberState } from './subscriber-state.ts'

/** An owner, with what its subscribers do. Times in milliseconds since 1970. */
export interface Owner {
  owner: string
  /** The display name. */
  name: string | null
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
  record: RecordAudit
}

/** The most subscribers of an owner that its counts include: the newest ones. */
const mostSubscribers = 1_000

interface OwnSubscriber {
  id: string
  owner: string
  status: SubscriberStatus
  failing_since: number | null
}

/** The owners that subscribers or display names name: the customers of the product. */
export class Owners {
  readonly #parts: OwnersParts
  readonly names: OwnerNames

  constructor(parts: OwnersParts) {
    this.#parts = parts
    this.names = new OwnerNames(parts.database, parts.clock, parts.record)
  }

  /** By id. @param text a part of the id or the display name, in any case @throws Problem `invalid-cursor` */
  async list(text: string | undefined, request: PageRequest): Promise<PageOfRows<Owner>> {
    const { database, cursors } = this.#parts
    const scope: CursorScope = {
      list: 'owners',
      keys: [{ name: 'owner', type: 'text' }],
      query: text === undefined ? {} : { text },
    }
    const has = (...columns: string[]): RawBuilder<boolean> => {
      if (text === undefined) return sql<boolean>`1 = 1`
      const at = position(database.engine)
      const matches = columns.map((name) => sql`${at}(lower(${sql.ref(name)}), ${text.toLowerCase()}) > 0`)
      return sql<boolean>`(${sql.join(matches, sql` or `)})`
    }
    const behindOf = (behind: string | undefined): RawBuilder<boolean> =>
      behind === undefined ? sql<boolean>`1 = 1` : sql<boolean>`owner > ${behind}`
    const page = await cursors.read(
      scope,
      request,
      async (behind: string | undefined, count) => {
        // Each half reads its own index, and no more than the page needs.
        const { rows } = await sql<{ owner: string }>`
          select owner from (
            select * from (select owner from subscribers
              where owner is not null and ${behindOf(behind)} and ${has('owner')}
              group by owner order by owner limit ${count}) of_subscribers
            union select * from (select owner from owner_names
              where ${behindOf(behind)} and ${has('owner', 'name')}
              order by owner limit ${count}) of_names
          ) owners order by owner limit ${count}`.execute(database.readerAside)
        return rows
      },
      ({ owner }) => owner,
    )
    return { rows: await this.#describe(page.rows.map(({ owner }) => owner)), nextCursor: page.nextCursor }
  }

  /** @throws Problem `not-found` for an owner without a subscriber, display name, link or session */
  async get(owner: string): Promise<Owner> {
    const [found] = await this.#describe([owner])
    if (
      !found ||
      (found.subscribers === 0 && found.name === null && !found.linkExpiresAt && !found.sessionExpiresAt)
    )
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
    const named = await this.names.of(owners)
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
        name: named.get(owner) ?? null,
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
