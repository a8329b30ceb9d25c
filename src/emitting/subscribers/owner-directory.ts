import { sql } from 'kysely'
import { type AuditOrigin, AuditedStore } from '../../accounts/audit/audit.ts'
import { Problem } from '../../errors.ts'
import { lockSpaces } from '../../storage/advisory-locks.ts'
import type { Database, Queryable, Tx } from '../../storage/database.ts'
import type { OwnersTable } from '../../storage/tables.ts'
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
  createdAt: number
  updatedAt: number
}

/** Absent fields stay as they are; null removes a value. */
export type OwnerChange = Given<Pick<OwnerRecord, 'name' | 'uid' | 'rateLimit'> & { metadata: Texts | null }>

type Row = OwnersTable
type Columns = Pick<Row, 'name' | 'uid' | 'metadata' | 'rate_limit'>

const storable = new RegExp(ownerPattern)

/** The customers: owners of subscribers, and those that a program or an admin created. */
export class OwnerDirectory extends AuditedStore {
  /** By owner; of those owners that have a row. */
  async records(owners: readonly (string | null)[]): Promise<Map<string, OwnerRecord>> {
    const asked = [...new Set(owners)].filter((owner) => owner !== null)
    if (asked.length === 0) return new Map()
    const rows = await this.database.readerAside
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
    const rows = await this.database.readerAside
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
      const none = { name: null, uid: isFree ? null : (uid ?? null), metadata: null, rate_limit: null }
      const row = { owner, ...none, ...columnsOf(given), created_at: now, updated_at: now }
      await tx.insertInto('owners').values(row).execute()
      await this.record(tx, { action: 'owner.created', target: targetOf(owner), ...origin })
      return recordOf(row)
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
    await ensureOwner(this.database.engine, tx, owner, now)
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

function recordOf({ owner, name, uid, metadata, rate_limit, created_at, updated_at }: Row): OwnerRecord {
  const own = isOwnId(owner) ? null : owner
  return {
    owner,
    name,
    uid: uid === applicationId(owner) ? null : (uid ?? own),
    metadata: readMetadata(metadata),
    rateLimit: rate_limit,
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
  throw new Problem('invalid-body', {
    detail: 'The uid must not have the form of an application ID.',
    pointer: '/uid',
  })
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

/** Locks an owner, and inserts its row if it has none. */
export async function ensureOwner(
  engine: Database['engine'],
  tx: Tx,
  owner: string,
  now: number,
): Promise<void> {
  await lockOwner(engine, tx, owner)
  await tx
    .insertInto('owners')
    .values({ owner, name: null, created_at: now, updated_at: now })
    .onConflict((conflict) => conflict.column('owner').doNothing())
    .execute()
}
