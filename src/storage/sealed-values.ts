import { sql, type RawBuilder } from 'kysely'
import { keyIdInSql, type Keyring } from '../crypto/keyring.ts'
import { allSealedColumns, type SealedColumn } from '../crypto/sealed-columns.ts'
import type { Database } from './database.ts'
import { translateError } from './unavailable.ts'

/** The sealed values of one column that one master key made. */
export interface SealedGroup {
  column: SealedColumn
  keyId: Buffer
  /** `unknown`: none of the given secrets opens them. */
  openedBy: 'newest' | 'older' | 'unknown'
  /** How many there are, counted up to a bound. */
  count: number
  /** Whether the count stopped at the bound. */
  more: boolean
}

/** Distinct master keys of one column, at most: each rotation adds one until the values are sealed anew. */
const mostKeys = 1_000

/**
 * Which master keys the sealed values of all columns were made with, by the key ids that stand in the values: nothing is
 * decrypted. The keys of a large table are found by one index seek each.
 * @param most values of one group that are counted at most
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

/** Runs a query by its index, whatever PostgreSQL knows of a table that was just filled. */
async function seek<Row>(database: Database, query: RawBuilder<Row>): Promise<Row[]> {
  if (database.engine === 'sqlite') return (await query.execute(database.reader)).rows
  const { sql: text, parameters } = query.compile(database.reader)
  try {
    return (await database.seeks.query(text, [...parameters])).rows as Row[]
  } catch (error) {
    throw translateError(error)
  }
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
