import { type AuditOrigin, AuditedStore } from '../../accounts/audit/audit.ts'
import { type RawBuilder, sql } from 'kysely'
import { type Static, Type } from 'typebox'
import { closedObject, DateTime, dateTime, nullable } from '../../http/schemas/schemas.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Metadata } from './metadata.ts'
import { deliveryStatuses } from '../deliveries/delivery-log.ts'
import { Problem } from '../../errors.ts'
import type { Cursors, CursorScope } from '../../paging/cursor.ts'
import type { PageOfRows, PageRequest } from '../../paging/parameters.ts'
import type { Database, Queryable } from '../../storage/database.ts'
import { isOneOf } from '../../storage/sql-text.ts'
import type { Tables, Row } from '../../storage/tables.ts'
import { type Health, lastDayBegins, stateOf, type SubscriberState, summarize } from './health.ts'
import { lockOwner, type OwnerDirectory, targetOf } from './owner-directory.ts'
import type { Subscribers } from './subscribers.ts'

/** An owner, with what its subscribers do. */
export const OwnerView = closedObject({
  owner: Type.String(),
  name: nullable(Type.String({ description: 'The display name; null without one' })),
  uid: nullable(
    Type.String({
      description: 'The id that API clients use for the customer: `owner`, unless a client chose another',
    }),
  ),
  metadata: Metadata,
  subscribers: Type.Integer(),
  states: Type.Object(
    {
      active: Type.Integer(),
      idle: Type.Integer(),
      failing: Type.Integer(),
      paused: Type.Integer(),
      disabled: Type.Integer(),
    } satisfies Record<SubscriberState, unknown>,
    { additionalProperties: false, description: 'The number of subscribers by their state' },
  ),
  delivered: Type.Integer({ description: 'Attempts of the last day that succeeded' }),
  failed: Type.Integer({ description: 'Attempts of the last day that failed' }),
  successRate: nullable(Type.Number({ description: 'Of the last day, 0 to 1; null without attempts' })),
  lastDelivery: nullable(
    closedObject({ id: Type.Integer(), status: Type.Enum(deliveryStatuses), createdAt: DateTime }),
  ),
  linkExpiresAt: nullable(
    dateTime('When the last unopened link to the portal expires; null if no link is open'),
  ),
  sessionExpiresAt: nullable(
    dateTime('When the last session of the portal ends; null if no session is live'),
  ),
})

type Owner = Static<typeof OwnerView>

interface OwnersParts {
  database: Database
  cursors: Cursors
  clock: Clock
  health: Health
  directory: OwnerDirectory
  subscribers: Subscribers
}

/** The most subscribers of an owner that its counts include: the newest ones. */
const mostSubscribers = 1_000

type OwnSubscriber = Pick<Row<'subscribers'>, 'id' | 'owner' | 'status' | 'failing_since'>

/** The customers of the product, with what their subscribers do. */
export class Owners {
  readonly #parts: OwnersParts
  readonly directory: OwnerDirectory

  constructor(parts: OwnersParts) {
    this.#parts = parts
    this.directory = parts.directory
  }

  /** By id. @param text a part of the id or the display name, in any case @throws Problem `invalid-cursor` */
  async list(text: string | undefined, request: PageRequest): Promise<PageOfRows<Owner>> {
    const { database, cursors } = this.#parts
    const scope: CursorScope = {
      list: 'owners',
      keys: [{ name: 'owner', type: 'text' }],
      query: text === undefined ? {} : { text },
    }
    const at = sql.raw(database.engine === 'sqlite' ? 'instr' : 'strpos')
    const part = text?.toLowerCase()
    const found = database.slowReader
      .selectFrom('owners')
      .select('owner')
      .$if(part !== undefined, (all) =>
        all.where(sql<boolean>`(${at}(lower(owner), ${part}) > 0 or ${at}(lower(name), ${part}) > 0)`),
      )
      .orderBy('owner')
    const page = await cursors.read(
      scope,
      request,
      (behind: string | undefined, count) =>
        found
          .$if(behind !== undefined, (all) => all.where('owner', '>', behind!))
          .limit(count)
          .execute(),
      ({ owner }) => owner,
    )
    return { rows: await this.#describe(page.rows.map(({ owner }) => owner)), nextCursor: page.nextCursor }
  }

  /** @throws Problem `not-found` for an owner without a row, link or session */
  async get(owner: string): Promise<Owner> {
    const [found] = await this.#describe([owner])
    const isKnown =
      found && (found.linkExpiresAt || found.sessionExpiresAt || (await this.directory.get(owner)))
    if (!isKnown) throw new Problem('not-found', { detail: 'There is no such owner.' })
    return found
  }

  /** Removes an owner with its subscribers, links, sessions and brand. Its events stay. @throws Problem `not-found` */
  async remove(owner: string, origin: AuditOrigin): Promise<void> {
    await this.get(owner)
    await this.#parts.subscribers.removeAll(owner, origin, async (tx) => {
      for (const table of ['owner_brands', 'portal_links', 'portal_sessions'] as const)
        await tx.deleteFrom(table).where('owner', '=', owner).execute()
      await this.directory.removeWithin(tx, owner, origin)
    })
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
    const rows = await this.directory.records(owners)
    return owners.map((owner) => {
      const own = subscribers.filter((one) => one.owner === owner)
      const { name = null, uid = null, metadata = {} } = rows.get(owner) ?? {}
      const states = { active: 0, idle: 0, failing: 0, paused: 0, disabled: 0 }
      for (const one of own) states[stateOf(one, summarize(days.get(one.id) ?? []))] += 1
      const { delivered, failed, successRate } = summarize(own.flatMap(({ id }) => days.get(id) ?? []))
      const deliveries = own.flatMap(({ id }) => last.get(id) ?? [])
      return {
        owner,
        name,
        uid,
        metadata,
        subscribers: own.length,
        states,
        delivered,
        failed,
        successRate,
        lastDelivery: deliveries.toSorted((a, b) => b.id - a.id)[0] ?? null,
        linkExpiresAt: links.get(owner) ?? null,
        sessionExpiresAt: sessions.get(owner) ?? null,
      }
    })
  }

  async #subscribersOf(owners: readonly string[]): Promise<OwnSubscriber[]> {
    const { slowReader, engine } = this.#parts.database
    const newest = (owner: RawBuilder<unknown>): RawBuilder<OwnSubscriber> =>
      sql`select id, owner, status, failing_since from subscribers where owner = ${owner} order by id desc limit ${sql.lit(mostSubscribers)}`
    // On PostgreSQL one statement, because a page has many owners. SQLite cannot limit the rows of each.
    const statements =
      engine === 'postgres'
        ? [
            sql<OwnSubscriber>`select s.* from unnest(${[...owners]}::text[]) names (name) cross join lateral (${newest(sql`names.name`)}) s`,
          ]
        : owners.map((owner) => newest(sql`${owner}`))
    const found = await Promise.all(statements.map((statement) => statement.execute(slowReader)))
    return found.flatMap(({ rows }) => rows)
  }

  /** The newest delivery of each subscriber: one seek of an index for each. */
  async #lastDeliveries(ids: readonly string[]): Promise<Map<string, NonNullable<Owner['lastDelivery']>>> {
    if (ids.length === 0) return new Map()
    const rows = await this.#parts.database.slowReader
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
    return new Map(
      rows.map(({ subscriberId, createdAt, ...delivery }) => [
        subscriberId,
        { ...delivery, createdAt: isoTime(createdAt) },
      ]),
    )
  }

  /** When the last of the owners' links or sessions expires, ISO 8601. */
  async #ends(
    table: 'portal_links' | 'portal_sessions',
    owners: readonly string[],
    now: number,
  ): Promise<Map<string, string>> {
    const rows = await this.#parts.database.slowReader
      .selectFrom(table)
      .select(['owner', (eb) => eb.fn.max<number>('expires_at').as('end')])
      .where('owner', 'in', [...owners])
      .where('expires_at', '>', now)
      .groupBy('owner')
      .execute()
    return new Map(rows.map(({ owner, end }) => [owner, isoTime(end)]))
  }
}

/** How the portal of one owner looks: `color` is `#rrggbb`, `logo` a `data:` URI. What is null is as the settings say. */
export type OwnerBrand = Pick<Tables['owner_brands'], 'name' | 'color' | 'logo'>

/** The brand of an owner without one. */
const noBrand: OwnerBrand = { name: null, color: null, logo: null }

export class OwnerBrands extends AuditedStore {
  async get(owner: string, db: Queryable = this.database.reader): Promise<OwnerBrand> {
    const row = await db
      .selectFrom('owner_brands')
      .select(['name', 'color', 'logo'])
      .where('owner', '=', owner)
      .executeTakeFirst()
    return row ?? noBrand
  }

  /** Changes the given fields. A brand without a value is no row. */
  async change(owner: string, change: Partial<OwnerBrand>, origin: AuditOrigin): Promise<OwnerBrand> {
    return this.database.transaction(async (tx) => {
      await lockOwner(this.database.engine, tx, owner)
      const before = await this.get(owner, tx)
      const after = { ...before, ...change }
      const fields = (['name', 'color', 'logo'] as const).filter((field) => before[field] !== after[field])
      if (fields.length === 0) return before
      const row = { ...after, updated_at: this.clock.now() }
      if (Object.values(after).every((value) => value === null))
        await tx.deleteFrom('owner_brands').where('owner', '=', owner).execute()
      else
        await tx
          .insertInto('owner_brands')
          .values({ owner, ...row })
          .onConflict((conflict) => conflict.column('owner').doUpdateSet(row))
          .execute()
      await this.record(tx, {
        action: 'portal.brand_changed',
        target: targetOf(owner),
        detail: { fields: fields.join(' ') },
        ...origin,
      })
      return after
    })
  }
}
