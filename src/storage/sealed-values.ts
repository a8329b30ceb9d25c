import { type RawBuilder, sql } from 'kysely'
import { allSealedColumns, keyIdInSql, type Keyring, type SealedColumn } from '../crypto/keyring.ts'
import type { Database } from './database.ts'
import { poolRows } from './postgres/pool/pool-rows.ts'

/** The values of one column that were sealed under one master key. */
export interface SealedGroup {
  column: SealedColumn
  keyId: Buffer
  /** `unknown`: none of the given secrets opens them. */
  openedBy: 'newest' | 'older' | 'unknown'
  /** Their number, up to a limit. */
  count: number
  /** Whether there are more. */
  more: boolean
}

/** Distinct master keys of one column at most. Each rotation adds one, until the values are resealed. */
const mostKeys = 1_000

/**
 * Finds the master keys of all sealed values, by the key ids in the values, without decrypting them. In a large table, each key
 * takes one index seek.
 * @param most values of one group to count at most
 */
export async function findSealedGroups(
  database: Database,
  keyring: Keyring,
  most = Number.MAX_SAFE_INTEGER,
): Promise<SealedGroup[]> {
  const [newest, ...older] = keyring.keyIds
  const groups: SealedGroup[] = []
  for (const column of allSealedColumns) {
    for (const keyId of await keyIdsIn(database, column)) {
      const openedBy = newest.equals(keyId)
        ? 'newest'
        : older.some((id) => id.equals(keyId))
          ? 'older'
          : 'unknown'
      const counted = openedBy === 'newest' ? 0 : await count(database, column, keyId, most)
      groups.push({ column, keyId, openedBy, count: Math.min(counted, most), more: counted > most })
    }
  }
  return groups
}

async function keyIdsIn(database: Database, { table, column }: SealedColumn): Promise<Buffer[]> {
  const keyId = sql.raw(keyIdInSql(column))
  const found: Buffer[] = []
  let last: Buffer = Buffer.alloc(0)
  while (found.length < mostKeys) {
    const [row] = await seek<{ id: Uint8Array }>(
      database,
      sql`select ${keyId} as id from ${sql.table(table)} where ${keyId} > ${last} order by ${keyId} limit 1`,
    )
    if (!row) break
    last = Buffer.from(row.id)
    found.push(last)
  }
  return found
}

async function count(
  database: Database,
  { table, column }: SealedColumn,
  id: Buffer,
  most: number,
): Promise<number> {
  const keyId = sql.raw(keyIdInSql(column))
  const limit = Math.min(most, Number.MAX_SAFE_INTEGER - 1) + 1
  const [row] = await seek<{ count: number }>(
    database,
    sql`select count(*) as count from (select 1 from ${sql.table(table)} where ${keyId} = ${id} limit ${limit}) as counted`,
  )
  return row?.count ?? 0
}

/** Runs a query by its index, even if PostgreSQL has no statistics of the table yet. */
async function seek<Row>(database: Database, query: RawBuilder<Row>): Promise<Row[]> {
  if (database.engine === 'sqlite') return (await query.execute(database.reader)).rows
  const { sql: text, parameters } = query.compile(database.reader)
  return poolRows<Row>(database.seeks, { text, values: [...parameters] })
}

/** `120 in provider_tokens.access_token, 3 in signing_keys.private_jwk` */
export function describeGroups(groups: readonly SealedGroup[]): string {
  const byColumn = new Map<string, { count: number; more: boolean }>()
  for (const { column, count, more } of groups) {
    const name = `${column.table}.${column.column}`
    const before = byColumn.get(name)
    byColumn.set(name, { count: (before?.count ?? 0) + count, more: more || (before?.more ?? false) })
  }
  return [...byColumn]
    .map(([name, { count, more }]) => `${more ? 'more than ' : ''}${count.toLocaleString('en')} in ${name}`)
    .join(', ')
}
