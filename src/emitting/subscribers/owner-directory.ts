import { type RawBuilder, sql } from 'kysely'
import { type AuditOrigin, AuditedStore } from '../../accounts/audit/audit.ts'
import { invalidBody } from '../../errors.ts'
import { lockSpaces } from '../../storage/advisory-locks.ts'
import type { Database, Queryable, Tx } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import { ownerPattern } from '../events/event.ts'
import { applicationId, isOwnId, newOwner, readApplicationId } from '../svix/ids.ts'
import type { Given } from './request-options.ts'
import { readMetadata, takenUid, type Texts, unlessTaken, writeMetadata } from './metadata.ts'

/** A customer. Times in milliseconds since 1970. */
export interface OwnerRecord {
  owner: string
  /** The display name. */
  name: string | null
  /** The id that programs use for it: usually the owner itself. Null without one. */
  uid: string | null
  metadata: Texts
  /** Events per second. Stored for API clients, not enforced. */
  rateLimit: number | null
  /** Only events with a higher number are for it: the others were for a removed customer with the same owner. */
  eventsAfter: number
  createdAt: number
  updatedAt: number
}

/** A customer, and which of the events for its owner are its own. */
export type EventOwner = Pick<OwnerRecord, 'owner' | 'eventsAfter' | 'createdAt'>

/** Absent fields stay as they are; null removes a value. */
export type OwnerChange = Given<Pick<OwnerRecord, 'name' | 'uid' | 'rateLimit'> & { metadata: Texts | null }>

type Columns = Pick<Row<'owners'>, 'name' | 'uid' | 'metadata' | 'rate_limit'>

const storable = new RegExp(ownerPattern)

/** The customers: owners of subscribers, and those that a program or an admin created. */
export class OwnerDirectory extends AuditedStore {
  /** By owner; of those owners that have a row. */
  async records(owners: readonly (string | null)[]): Promise<Map<string, OwnerRecord>> {
    const asked = [...new Set(owners)].filter((owner) => owner !== null)
    if (asked.length === 0) return new Map()
    const rows = await this.database.slowReader
      .selectFrom('owners')
      .selectAll()
      .where('owner', 'in', asked)
      .execute()
    return new Map(rows.map((row) => [row.owner, recordOf(row)]))
  }

  async get(owner: string, db: Queryable = this.database.reader): Promise<OwnerRecord | undefined> {
    if (!storable.test(owner)) return undefined
    const row = await db.selectFrom('owners').selectAll().where('owner', '=', owner).executeTakeFirst()
    return row && recordOf(row)
  }

  /** Finds a customer by an application's id or a uid. */
  async find(text: string): Promise<OwnerRecord | undefined> {
    const owner = readApplicationId(text)
    if (owner !== undefined) return this.get(owner)
    return this.#withUid(this.database.reader, text)
  }

  /** Lists customers by creation time. @param page.behind the position after which the page begins */
  async list(page: {
    count: number
    order: 'ascending' | 'descending'
    behind?: Pick<OwnerRecord, 'createdAt' | 'owner'> | undefined
  }): Promise<OwnerRecord[]> {
    const { count, order, behind } = page
    const direction = order === 'ascending' ? 'asc' : 'desc'
    const compared = sql.raw(order === 'ascending' ? '>' : '<')
    const rows = await this.database.slowReader
      .selectFrom('owners')
      .selectAll()
      .$if(behind !== undefined, (all) =>
        all.where(sql<boolean>`(created_at, owner) ${compared} (${behind!.createdAt}, ${behind!.owner})`),
      )
      .orderBy('created_at', direction)
      .orderBy('owner', direction)
      .limit(count)
      .execute()
    return rows.map(recordOf)
  }

  /**
   * Creates a customer. Its owner is the uid, if that owner does not exist yet.
   * @throws Problem `conflict` for a uid in use; `invalid-body`
   */
  async create({ uid, ...given }: OwnerChange, origin: AuditOrigin): Promise<OwnerRecord> {
    if (uid) checkUid(uid)
    const now = this.clock.now()
    const created = this.database.transaction(async (tx) => {
      if (uid) await this.#lockUid(tx, uid)
      const isFree = uid && !(await this.get(uid, tx))
      const owner = isFree ? uid : newOwner(now)
      await this.ensure(tx, owner, origin, { ...columnsOf(given), uid: isFree ? null : (uid ?? null) })
      return (await this.get(owner, tx))!
    })
    return unlessTaken(uid, created)
  }

  /**
   * Changes the given fields of a customer, or creates the customer with them. The owner stays the same.
   * @throws Problem `conflict` for a uid in use; `invalid-body`
   */
  async change(owner: string, given: OwnerChange, origin: AuditOrigin): Promise<OwnerRecord> {
    const changed = this.database.transaction((tx) => this.changeWithin(tx, owner, given, origin))
    return unlessTaken(given.uid, changed)
  }

  async changeWithin(tx: Tx, owner: string, given: OwnerChange, origin: AuditOrigin): Promise<OwnerRecord> {
    const now = this.clock.now()
    const { uid, ...rest } = given
    const columns: Partial<Columns> = columnsOf(rest)
    if (uid !== undefined) columns.uid = uidColumn(owner, uid)
    await this.ensure(tx, owner, origin)
    if (uid && uid !== owner) checkUid(uid)
    if (uid) await this.#lockUid(tx, uid, owner)
    const before = await tx
      .selectFrom('owners')
      .selectAll()
      .where('owner', '=', owner)
      .executeTakeFirstOrThrow()
    const changed = (Object.keys(columns) as (keyof Columns)[]).filter(
      (name) => before[name] !== columns[name],
    )
    if (changed.length === 0) return recordOf(before)
    await tx
      .updateTable('owners')
      .set({ ...columns, updated_at: now })
      .where('owner', '=', owner)
      .execute()
    const target = targetOf(owner)
    if (changed.includes('name')) await this.record(tx, { action: 'owner.named', target, ...origin })
    const others = changed.filter((name) => name !== 'name').join(' ')
    if (others !== '')
      await this.record(tx, { action: 'owner.changed', target, detail: { fields: others }, ...origin })
    return recordOf({ ...before, ...columns, updated_at: now })
  }

  /** Locks an owner, and creates it unless it exists. Each new customer is created here. */
  async ensure(tx: Tx, owner: string, origin: AuditOrigin, columns: Partial<Columns> = {}): Promise<void> {
    const { engine } = this.database
    await lockOwner(engine, tx, owner)
    const now = this.clock.now()
    const newest = sql.raw<number>(
      engine === 'postgres'
        ? `coalesce(pg_sequence_last_value('events_id_seq'::regclass), 0)`
        : `coalesce((select seq from sqlite_sequence where name = 'events'), 0)`,
    )
    const wasRemoved = sql`exists (select 1 from removed_owners where owner = ${owner})`
    const events_after = sql<number>`case when ${wasRemoved} then ${newest} else 0 end`
    const created = await tx
      .insertInto('owners')
      .values({ owner, ...columns, events_after, created_at: now, updated_at: now })
      .onConflict((conflict) => conflict.column('owner').doNothing())
      .executeTakeFirstOrThrow()
    if (Number(created.numInsertedOrUpdatedRows) > 0)
      await this.record(tx, { action: 'owner.created', target: targetOf(owner), ...origin })
  }

  /** Removes the row of an owner. Events for it, also later ones, are not for a customer who is created with the same id. */
  async removeWithin(tx: Tx, owner: string, origin: AuditOrigin): Promise<void> {
    await tx.deleteFrom('owners').where('owner', '=', owner).execute()
    const removed_at = this.clock.now()
    await tx
      .insertInto('removed_owners')
      .values({ owner, removed_at })
      .onConflict((conflict) => conflict.column('owner').doUpdateSet({ removed_at }))
      .execute()
    await this.record(tx, { action: 'owner.deleted', target: targetOf(owner), ...origin })
  }

  /** Locks a uid, so that no other customer takes it at the same time. @throws Problem `conflict` */
  async #lockUid(tx: Tx, uid: string, owner?: string): Promise<void> {
    await lockOwner(this.database.engine, tx, uid)
    const other = await this.#withUid(tx, uid)
    if (other && other.owner !== owner) throw takenUid(uid)
  }

  async #withUid(db: Queryable, uid: string): Promise<OwnerRecord | undefined> {
    if (!storable.test(uid)) return undefined
    const rows = await db
      .selectFrom('owners')
      .selectAll()
      .where((eb) => eb.or([eb('owner', '=', uid), eb('uid', '=', uid)]))
      .execute()
    // A chosen uid takes precedence: a newer owner may have the same text as its id.
    const row = rows.find((one) => one.uid === uid) ?? rows[0]
    return row && recordOf(row).uid === uid ? recordOf(row) : undefined
  }
}

function recordOf(row: Row<'owners'>): OwnerRecord {
  const { owner, name, uid, metadata, rate_limit, events_after, created_at, updated_at } = row
  const own = isOwnId(owner) ? null : owner
  return {
    owner,
    name,
    uid: uid === applicationId(owner) ? null : (uid ?? own),
    metadata: readMetadata(metadata),
    rateLimit: rate_limit,
    eventsAfter: events_after,
    createdAt: created_at,
    updatedAt: updated_at,
  }
}

/** In the column, null means that the owner is the uid, and the application's id means no uid. */
function uidColumn(owner: string, uid: string | null): string | null {
  if (uid === null) return isOwnId(owner) ? null : applicationId(owner)
  return uid === owner ? null : uid
}

function columnsOf({ name, metadata, rateLimit }: Omit<OwnerChange, 'uid'>): Partial<Columns> {
  return {
    ...(name !== undefined && { name }),
    ...(metadata !== undefined && { metadata: writeMetadata(metadata) }),
    ...(rateLimit !== undefined && { rate_limit: rateLimit }),
  }
}

/** @throws Problem `invalid-body` for an application's id, which would identify two customers */
function checkUid(uid: string): void {
  if (readApplicationId(uid) === undefined && storable.test(uid)) return
  throw invalidBody('/uid', 'The uid must not have the form of an application ID.')
}

/** SQL for the number of the last event of removed customers with this owner. Until the next one is created, all are theirs. */
export function lastOfRemoved(owner: string | null): RawBuilder<number> {
  return sql`coalesce((select events_after from owners where owner = ${owner}),
    (select ${sql.lit(Number.MAX_SAFE_INTEGER)} from removed_owners where owner = ${owner}), 0)`
}

/** The owner in the audit log. */
export function targetOf(owner: string): string {
  return `owner:${owner}`
}

/**
 * Serializes transactions that count the objects of an owner, until they end. SQLite has one write lock and needs none. Two
 * owners with the same hash share a lock, which is harmless.
 */
export async function lockOwner(engine: Database['engine'], tx: Tx, owner: string): Promise<void> {
  if (engine === 'postgres')
    await sql`select pg_advisory_xact_lock(${lockSpaces.owners}::integer, hashtext(${owner}))`.execute(tx)
}
