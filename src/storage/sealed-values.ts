import { type RawBuilder, sql } from 'kysely'
import { allSealedColumns, keyIdInSql, type Keyring, type SealedColumn } from '../crypto/keyring.ts'
import type { Database } from './database.ts'
import { poolRows } from './postgres/pool/connection-limit.ts'

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

/** Values to count for each column and master key at most, so that the check takes milliseconds. */
const mostCounted = 1_000

interface SealedCheck {
  /** A message about values that no secret can open; `undefined` if all can be opened. */
  unknown: string | undefined
  /** A message about values that need an older secret. */
  older: string | undefined
}

/** Finds sealed values that the newest POSTERN_SECRET does not open, except those of pending sign-ins, which end within minutes. */
export async function checkSealedValues(database: Database, keyring: Keyring): Promise<SealedCheck> {
  const groups = (await findSealedGroups(database, keyring, mostCounted)).filter(
    ({ column }) => !column.shortLived,
  )
  const of = (wanted: 'older' | 'unknown'): string | undefined => {
    const found = groups.filter(({ openedBy }) => openedBy === wanted)
    return found.length === 0 ? undefined : describeGroups(found)
  }
  const [unknown, older] = [of('unknown'), of('older')]
  return {
    unknown:
      unknown &&
      `POSTERN_SECRET does not open all sealed values of the database: ${unknown} were sealed with another secret. Append that secret after a comma; see "Rotating secrets" in the guide to operating`,
    older: older && `${older} need an older POSTERN_SECRET: run \`postern keys reseal\` before you remove it`,
  }
}
