import { sql } from 'kysely'
import { sleep, type Clock } from '../runtime/clock.ts'
import { keyIdInSql, type Keyring } from '../crypto/keyring.ts'
import type { SealedColumn } from '../crypto/sealed-columns.ts'
import type { Database, Tx } from './database.ts'
import { findSealedGroups, type SealedGroup } from './sealed-values.ts'

/** Values of one transaction: few, since others wait for it on SQLite, and for its rows on PostgreSQL. */
const batchSize = 200
/** Damaged values of one column that are passed over, at most. */
const mostDamaged = 1_000
/** Milliseconds between two looks at rows that others hold locked. */
const pause = 100
/** Looks in a row in which nothing could be sealed anew, after which it is given up. */
const mostIdle = 50

export interface ResealOptions {
  database: Database
  keyring: Keyring
  clock: Clock
  /** Told after each batch how many values of all were sealed anew. */
  onProgress?: (done: number, total: number) => void
  /** Ends the work after the batch that is under way. What was done stays done. */
  signal?: AbortSignal
}

export interface ResealOutcome {
  /** Values that were sealed anew, by column. */
  done: ReadonlyMap<SealedColumn, number>
  /** Values that have the key id of a given secret and do not open: they were changed or moved. */
  damaged: ReadonlyMap<SealedColumn, number>
  /** What still is not under the newest secret. */
  left: SealedGroup[]
}

interface Run extends ResealOptions {
  done: Map<SealedColumn, number>
  /** Keys of damaged rows, as JSON. */
  damaged: Map<SealedColumn, Set<string>>
  total: number
}

/**
 * Seals every value anew that was sealed under an older master key. A value is read and written in one transaction that has
 * its row locked, so that no change of a running service is lost; rows that others hold are left for a later look. May be
 * stopped and run again at any time: what is under the newest key is not looked at.
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

async function resealGroup(run: Run, { column, keyId }: SealedGroup): Promise<void> {
  const { database, clock, onProgress, signal } = run
  while (!signal?.aborted) {
    const started = clock.now()
    const count = await database.transaction((tx) => resealBatch(tx, run, column, keyId), {
      priority: 'work',
    })
    run.done.set(column, (run.done.get(column) ?? 0) + count)
    onProgress?.(doneBy(run), Math.max(run.total, doneBy(run)))
    if (count === 0) return
    // On SQLite the others have the write lock for at least as long.
    if (database.engine === 'sqlite') await sleep(clock, clock.now() - started)
  }
}

/** What a row has, and what it is to have. */
interface Replacement {
  row: SealedRow
  fresh: Buffer
}
type SealedRow = Record<string, unknown> & { sealed: Uint8Array }

/** Seals the next rows of one column and master key anew; gives how many. */
async function resealBatch(tx: Tx, run: Run, column: SealedColumn, keyId: Buffer): Promise<number> {
  const { database, keyring } = run
  const damaged = run.damaged.get(column) ?? new Set()
  const isPostgres = database.engine === 'postgres'
  const limit = batchSize + damaged.size
  const rows = await (isPostgres ? lockOnPostgres : lockOnSqlite)(tx, column, keyId, limit)
  const replacements: Replacement[] = []
  for (const row of rows) {
    const name = JSON.stringify(column.key.map((part) => row[part]))
    if (damaged.has(name)) continue
    const fresh = sealAnew(keyring, column, row)
    if (fresh) replacements.push({ row, fresh })
    else if (damaged.size < mostDamaged) run.damaged.set(column, damaged.add(name))
  }
  if (replacements.length > 0)
    await (isPostgres ? replaceOnPostgres : replaceOnSqlite)(tx, column, replacements)
  return replacements.length
}

/** The transaction has the write lock from its first query on. */
async function lockOnSqlite(
  tx: Tx,
  { table, column, key }: SealedColumn,
  keyId: Buffer,
  limit: number,
): Promise<SealedRow[]> {
  const { rows } = await sql<SealedRow>`
    select ${sql.join(key.map((name) => sql.ref(name)))}, ${sql.ref(column)} as sealed from ${sql.table(table)}
    where ${sql.raw(keyIdInSql(column))} = ${keyId} limit ${limit}`.execute(tx)
  return rows
}

async function replaceOnSqlite(
  tx: Tx,
  { table, column, key }: SealedColumn,
  replacements: readonly Replacement[],
): Promise<void> {
  for (const { row, fresh } of replacements) {
    const matches = key.map((part) => sql`${sql.ref(part)} = ${row[part]}`)
    await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${fresh} where ${sql.join(matches, sql` and `)}`.execute(
      tx,
    )
  }
}

async function lockOnPostgres(
  tx: Tx,
  { table, column, key }: SealedColumn,
  keyId: Buffer,
  limit: number,
): Promise<SealedRow[]> {
  // Before the rows: who locked the table after that would wait for these rows, and this update for the table.
  await sql`lock table ${sql.table(table)} in row exclusive mode`.execute(tx)
  // A scan or a bitmap would read again in each batch what was sealed anew before.
  await sql`select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`.execute(
    tx,
  )
  const { rows } = await sql<SealedRow>`
    select ${sql.join(key.map((name) => sql.ref(name)))}, ${sql.ref(column)} as sealed, ctid::text as place
    from ${sql.table(table)} where ${sql.raw(keyIdInSql(column))} = ${keyId} limit ${limit}
    for no key update skip locked`.execute(tx)
  return rows
}

/** One statement for all rows, found by the places where they are locked and the values that were read there. */
async function replaceOnPostgres(
  tx: Tx,
  { table, column }: SealedColumn,
  replacements: readonly Replacement[],
): Promise<void> {
  const places = replacements.map(({ row }) => row['place'])
  const before = replacements.map(({ row }) => Buffer.from(row.sealed))
  const fresh = replacements.map((each) => each.fresh)
  const at = sql`array_position(${places}::tid[], ctid)`
  await sql`update ${sql.table(table)} set ${sql.ref(column)} = (${fresh}::bytea[])[${at}]
    where ctid = any(${places}::tid[]) and ${sql.ref(column)} = (${before}::bytea[])[${at}]`.execute(tx)
}

/** `undefined` when the value does not open although its key is there: it was changed, or moved from another row. */
function sealAnew(keyring: Keyring, column: SealedColumn, row: SealedRow): Buffer | undefined {
  const context = column.context(row as never)
  let plain: Buffer
  try {
    plain = keyring.open(row.sealed, context)
  } catch {
    // Reported with the outcome, by its column.
    return undefined
  }
  return keyring.seal(plain, context)
}

const older = (groups: readonly SealedGroup[]): SealedGroup[] =>
  groups.filter(({ openedBy }) => openedBy === 'older')
const sum = (groups: readonly SealedGroup[]): number => groups.reduce((total, { count }) => total + count, 0)
const doneBy = ({ done }: Run): number => [...done.values()].reduce((total, count) => total + count, 0)

/** Whether all that is left under older keys is damaged. */
function isFinished({ damaged }: Run, left: readonly SealedGroup[]): boolean {
  return sum(older(left)) <= [...damaged.values()].reduce((total, rows) => total + rows.size, 0)
}
