import { sql, type RawBuilder } from 'kysely'
import { type Clock, sleep } from '../runtime/clock.ts'
import { keyIdInSql, type Keyring, type SealedColumn, allSealedColumns } from '../crypto/keyring.ts'
import type { Database, Tx } from './database.ts'
import { poolRows } from './postgres/pool/connection-shares.ts'

/** Values in one transaction. On SQLite other writers wait for it, on PostgreSQL for its rows. */
const batchSize = 200
/** Damaged values of one column that are skipped, at most. */
const mostDamaged = 1_000
/** Milliseconds between two rounds, in which locked rows are tried again. */
const pause = 100
/** Rounds in a row without a resealed value, after which it gives up. */
const mostIdle = 50

interface ResealOptions {
  database: Database
  keyring: Keyring
  clock: Clock
  /** Called after each batch with the number of resealed values, and of all. */
  onProgress?: (done: number, total: number) => void
  /** Ends the work after the present batch, which is committed. */
  signal?: AbortSignal
}

export interface ResealOutcome {
  /** Resealed values, by column. */
  done: ReadonlyMap<SealedColumn, number>
  /** Values with the key id of a known secret that do not open: they were changed or moved. */
  damaged: ReadonlyMap<SealedColumn, number>
  /** Values that are not sealed under the newest secret. */
  left: SealedGroup[]
}

interface Run extends ResealOptions {
  done: Map<SealedColumn, number>
  /** Keys of damaged rows, as JSON. */
  damaged: Map<SealedColumn, Set<string>>
  total: number
}

/**
 * Reseals every value that was sealed under an older master key. A value is read and written in one transaction that locks its
 * row, so that no change of a running service is lost; rows that others have locked are tried again later. It can be stopped and
 * repeated at any time, because it skips values under the newest key.
 */
export async function reseal(options: ResealOptions): Promise<ResealOutcome> {
  const run: Run = { ...options, done: new Map(), damaged: new Map(), total: 0 }
  const { database, keyring, clock, signal } = options
  let left = await findSealedGroups(database, keyring)
  run.total = sum(older(left))
  for (let idle = 0; idle < mostIdle && !signal?.aborted; idle++) {
    const before = doneBy(run)
    for (const group of older(left)) await resealGroup(run, group)
    left = await findSealedGroups(database, keyring)
    if (isFinished(run, left)) break
    if (doneBy(run) > before) idle = -1
    await sleep(clock, pause)
  }
  return {
    done: run.done,
    damaged: new Map([...run.damaged].map(([column, rows]) => [column, rows.size])),
    left: left.filter(({ openedBy }) => openedBy !== 'newest'),
  }
}

async function resealGroup(run: Run, group: SealedGroup): Promise<void> {
  const { column } = group
  const { database, clock, onProgress, signal } = run
  while (!signal?.aborted) {
    const started = clock.now()
    const count = await database.inBackground((tx) => resealBatch(tx, run, group))
    run.done.set(column, (run.done.get(column) ?? 0) + count)
    onProgress?.(doneBy(run), Math.max(run.total, doneBy(run)))
    if (count === 0) return
    // On SQLite, other writers get at least as much time.
    if (database.engine === 'sqlite') await sleep(clock, clock.now() - started)
  }
}

/** A row, and its new sealed value. */
interface Replacement {
  row: SealedRow
  fresh: Buffer
}
type SealedRow = Record<string, unknown> & { sealed: Uint8Array }

/** Reseals the next values of one column and master key, and returns how many. */
async function resealBatch(tx: Tx, run: Run, group: SealedGroup): Promise<number> {
  const { column } = group
  const { database, keyring } = run
  const damaged = run.damaged.get(column) ?? new Set()
  const isPostgres = database.engine === 'postgres'
  const limit = batchSize + damaged.size
  const rows = await lockRows(tx, isPostgres, group, limit)
  const replacements: Replacement[] = []
  for (const row of rows) {
    const name = JSON.stringify(column.key.map((part) => row[part]))
    if (damaged.has(name)) continue
    const fresh = sealAnew(keyring, column, row)
    if (fresh) replacements.push({ row, fresh })
    else if (damaged.size < mostDamaged) run.damaged.set(column, damaged.add(name))
  }
  await replaceAll(tx, column, replacements)
  return replacements.length
}

/** Reads rows and locks them. On SQLite, the transaction has the write lock from its first query on. */
async function lockRows(
  tx: Tx,
  isPostgres: boolean,
  group: SealedGroup,
  limit: number,
): Promise<SealedRow[]> {
  const { table, column, key } = group.column
  if (isPostgres) {
    // Before the rows. Otherwise, another transaction could lock the table and wait for these rows: a deadlock.
    await sql`lock table ${sql.table(table)} in row exclusive mode`.execute(tx)
    // A sequential or bitmap scan would read the resealed values again in each batch.
    const scans = sql`set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`
    await sql`select ${scans}`.execute(tx)
  }
  const lock = sql.raw(isPostgres ? 'for no key update skip locked' : '')
  const { rows } = await sql<SealedRow>`
    select ${sql.join(key.map((name) => sql.ref(name)))}, ${sql.ref(column)} as sealed from ${sql.table(table)}
    where ${sql.raw(keyIdInSql(column))} = ${group.keyId} limit ${limit} ${lock}`.execute(tx)
  return rows
}

/** PostgreSQL gets all statements before it answers the first one. */
async function replaceAll(
  tx: Tx,
  { table, column, key }: SealedColumn,
  replacements: readonly Replacement[],
): Promise<void> {
  await Promise.all(
    replacements.map(({ row, fresh }) => {
      const matches = sql.join(
        key.map((part) => sql`${sql.ref(part)} = ${row[part]}`),
        sql` and `,
      )
      return sql`update ${sql.table(table)} set ${sql.ref(column)} = ${fresh} where ${matches}`.execute(tx)
    }),
  )
}

/** Returns `undefined` if the value does not open with its key: it was changed, or moved from another row. */
function sealAnew(keyring: Keyring, column: SealedColumn, row: SealedRow): Buffer | undefined {
  const context = column.context(row as never)
  let plain: Buffer
  try {
    plain = keyring.open(row.sealed, context)
  } catch {
    // The outcome reports it.
    return undefined
  }
  return keyring.seal(plain, context)
}

const older = (groups: readonly SealedGroup[]): SealedGroup[] =>
  groups.filter(({ openedBy }) => openedBy === 'older')
const sum = (groups: readonly SealedGroup[]): number => groups.reduce((total, { count }) => total + count, 0)
const doneBy = ({ done }: Run): number => [...done.values()].reduce((total, count) => total + count, 0)

/** Whether all remaining values under older keys are damaged. */
function isFinished({ damaged }: Run, left: readonly SealedGroup[]): boolean {
  return sum(older(left)) <= [...damaged.values()].reduce((total, rows) => total + rows.size, 0)
}

/** The values of one column that were sealed under one master key. */
interface SealedGroup {
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
  for (const [column, keyIds] of await findKeyIds(database)) {
    for (const keyId of keyIds) {
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

/** The key ids in each column. Each statement seeks the next one of all columns that may have more. */
async function findKeyIds(database: Database): Promise<Map<SealedColumn, Buffer[]>> {
  const found = new Map(allSealedColumns.map((column) => [column, [] as Buffer[]]))
  let open = [...found]
  while (open.length > 0) {
    const seeks = open.map(([{ table, column }, ids], index) => {
      const keyId = sql.raw(keyIdInSql(column))
      const last = ids.at(-1) ?? Buffer.alloc(0)
      return sql`(select ${keyId} from ${sql.table(table)} where ${keyId} > ${last} order by ${keyId} limit 1)
        as ${sql.ref(`next_${index}`)}`
    })
    const [next = {}] = await seek<Record<string, Uint8Array | null>>(
      database,
      sql`select ${sql.join(seeks)}`,
    )
    open = open.filter(([, ids], index) => {
      const id = next[`next_${index}`]
      if (id) ids.push(Buffer.from(id))
      return id && ids.length < mostKeys
    })
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
