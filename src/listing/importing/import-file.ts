import { createReadStream } from 'node:fs'
import { sql } from 'kysely'
import { Type } from 'typebox'
import type { ModuleParts } from '../../http/service-module.ts'
import { isObject, parseExactly } from '../../json/exact.ts'
import { InvalidTime, timeOf } from '../../paging/time.ts'
import { sleep } from '../../runtime/clock.ts'
import type { Database, Tx } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import { isUniqueViolation, mayRunAgain, StorageUnavailable } from '../../storage/unavailable.ts'
import { columnsOf, idField, writablePosts, writableProducts, type WritableList } from '../writing/routes.ts'
import { readCsv, utf8, type FileRecord, maxRecordLength, splitLines } from '../csv.ts'
import { type ColumnValues, saveRows } from './rows.ts'
import { createCheck, type ImportTarget, InvalidRecord, type SavedRows } from './target.ts'
import { userTarget } from './users.ts'

/** Imports into a table whose rows can also be written over HTTP, by the same rules. Without ids, a second run would import all again. */
function itemTarget({ list, New }: WritableList, engine: Engine): ImportTarget<ColumnValues> {
  const check = createCheck(Type.Object({ ...New.properties, [list.key[0]!]: idField }))
  return {
    read: (fields, _now, isText) => columnsOf(list, check(fields, isText)),
    keyOf: ({ id }) => String(id),
    save: (tx, rows, now) =>
      saveRows(
        tx,
        // Without a `createdAt` in the file, an existing row keeps its own.
        { engine, table: list.table, key: ['id'], upsert: true, defaults: { created_at: timeOf(now) } },
        rows,
      ),
  }
}

/** Rows in one transaction, for which the writers of a running service wait. */
const batchSize = 500
/** Approximate bytes of the file in one transaction. */
const batchBytes = 4 * 1024 * 1024
/** Milliseconds for one batch, even if the database rejects all its rows. */
const timeLimit = 60_000
/** Attempts for each batch while the database is busy or unavailable, and the milliseconds between them. */
const attempts = 5
const pause = 1_000

const targets = {
  users: () => userTarget,
  products: (engine: Engine) => itemTarget(writableProducts, engine),
  posts: (engine: Engine) => itemTarget(writablePosts, engine),
}
export type ImportKind = keyof typeof targets

export function isImportKind(name: string): name is ImportKind {
  return Object.hasOwn(targets, name)
}

/** The target for a built-in list. */
export function targetOf(kind: ImportKind, { engine }: Pick<Database, 'engine'>): ImportTarget<unknown> {
  return targets[kind](engine)
}

export type ImportFormat = 'ndjson' | 'csv'

interface ImportOptions extends Pick<ModuleParts, 'database' | 'clock'> {
  target: ImportTarget<unknown>
  /** `-` is standard input. */
  file: string
  format: ImportFormat
  /** Whether to check everything, including the database's constraints, and write nothing. */
  dryRun?: boolean
  /** Called with the reason for each skipped line, in file order. */
  onFault: (line: number, why: string) => void
  /** Called after each batch with the rows saved and the bytes read so far. */
  onProgress: (rows: number, bytes: number) => void
  /** When it is aborted, the import ends after the current batch. */
  signal?: AbortSignal
}

export interface ImportResult extends SavedRows {
  /** Rows that were inserted or updated. */
  imported: number
  faults: number
  /** The last line whose record is saved or skipped. */
  line: number
  /** False if the signal ended the import. */
  complete: boolean
}

interface Fault {
  line: number
  why: string
}

/** A record in the current batch. */
interface Collected {
  line: number
  row: unknown
}

/**
 * Imports a file in batches, each in one transaction. An interrupted import can be run again.
 * @throws InvalidRecord for a header that cannot be imported
 */
export async function importFile(options: ImportOptions): Promise<ImportResult> {
  const { clock, target, file, format, signal } = options
  const stream = file === '-' ? process.stdin : createReadStream(file, { highWaterMark: 256 * 1024 })
  const isText = format === 'csv'
  const records = isText ? readCsv(stream, target.csv) : readNdjson(stream)
  const result = { imported: 0, inserted: 0, updated: 0, existing: 0, faults: 0, line: 0, complete: true }
  const batch = new Map<string, Collected>()
  let faults: Fault[] = []
  let bytes = 0

  const flush = async (): Promise<void> => {
    if (batch.size > 0) {
      const saved = await saveBatch(options, [...batch.values()])
      for (const count of ['inserted', 'updated', 'existing'] as const) result[count] += saved[count]
      result.imported = result.inserted + result.updated
      faults.push(...saved.faults)
    }
    for (const { line, why } of faults.toSorted((one, other) => one.line - other.line))
      options.onFault(line, why)
    result.faults += faults.length
    batch.clear()
    faults = []
    bytes = stream.bytesRead
    options.onProgress(result.imported + result.existing, bytes)
  }
  try {
    for await (const record of records) {
      const read = readRecord(record, target, clock.now(), isText)
      const key = 'row' in read ? target.keyOf(read.row) : undefined
      // One statement cannot write a row twice.
      if (key !== undefined && batch.has(key)) await flush()
      if ('row' in read) batch.set(key!, read)
      else faults.push(read)
      result.line = record.line
      if (batch.size + faults.length >= batchSize || stream.bytesRead - bytes >= batchBytes) await flush()
      if (signal?.aborted) {
        result.complete = false
        break
      }
    }
    await flush()
    if (!options.dryRun && result.inserted > 0 && target.finish)
      await options.database.inBackground((tx) => target.finish!(tx))
  } finally {
    stream.destroy()
  }
  return result
}

function readRecord(
  record: FileRecord,
  target: ImportTarget<unknown>,
  now: number,
  isText: boolean,
): Collected | Fault {
  const { line } = record
  if ('fault' in record) return { line, why: record.fault }
  try {
    return { line, row: target.read(record.fields, now, isText) }
  } catch (error) {
    if (error instanceof InvalidRecord) return { line, why: error.message }
    if (error instanceof InvalidTime) return { line, why: `createdAt ${error.message}` }
    throw error
  }
}

type Saved = SavedRows & { faults: Fault[] }

async function saveBatch(
  { database, clock, target, dryRun = false }: ImportOptions,
  batch: readonly Collected[],
): Promise<Saved> {
  for (let attempt = 1; ; attempt += 1) {
    const transaction = database.begin({ priority: 'work', timeLimit })
    try {
      await target.begin?.(transaction.tx)
      if (target.rejection) await sql`savepoint postern_import`.execute(transaction.tx)
      const saved = await saveAccepted(transaction.tx, target, batch, clock.now())
      if (!dryRun) await transaction.commit()
      return saved
    } catch (error) {
      // A concurrent writer, such as a sign-in, has inserted one of these rows. The next attempt updates it.
      const isTransient =
        error instanceof StorageUnavailable || isUniqueViolation(error) || mayRunAgain(error)
      if (!isTransient || attempt === attempts) throw error
    } finally {
      await transaction.rollback()
    }
    await sleep(clock, pause)
  }
}

/**
 * Saves the rows that the database accepts, and sets a new savepoint. Isolates rejected rows by halving the batch repeatedly.
 */
async function saveAccepted(
  tx: Tx,
  target: ImportTarget<unknown>,
  batch: readonly Collected[],
  now: number,
): Promise<Saved> {
  const rows = batch.map(({ row }) => row)
  if (!target.rejection) return { ...(await target.save(tx, rows, now)), faults: [] }
  try {
    const saved = await target.save(tx, rows, now)
    await sql`release savepoint postern_import`.execute(tx)
    await sql`savepoint postern_import`.execute(tx)
    return { ...saved, faults: [] }
  } catch (error) {
    const why = target.rejection(error)
    if (why === undefined) throw error
    await sql`rollback to savepoint postern_import`.execute(tx)
    if (batch.length === 1)
      return { inserted: 0, updated: 0, existing: 0, faults: [{ line: batch[0]!.line, why }] }
  }
  const middle = batch.length >> 1
  const first = await saveAccepted(tx, target, batch.slice(0, middle), now)
  const second = await saveAccepted(tx, target, batch.slice(middle), now)
  return {
    inserted: first.inserted + second.inserted,
    updated: first.updated + second.updated,
    existing: first.existing + second.existing,
    faults: [...first.faults, ...second.faults],
  }
}

/** Reads newline-delimited JSON, one object per line. Empty lines are skipped, but numbered. */
async function* readNdjson(chunks: AsyncIterable<Buffer>): AsyncGenerator<FileRecord> {
  let line = 0
  for await (const bytes of splitLines(chunks)) {
    line += 1
    if (bytes === 'too long') yield { line, fault: `is longer than ${maxRecordLength} bytes` }
    else if (bytes.some((byte) => byte > 0x20)) yield readLine(line, bytes)
  }
}

function readLine(line: number, bytes: Buffer): FileRecord {
  let value: unknown
  try {
    value = parseExactly(utf8.decode(bytes))
  } catch (error) {
    // parseExactly's reviver recurses into each level.
    if (error instanceof RangeError) return { line, fault: 'is nested too deeply' }
    return { line, fault: error instanceof SyntaxError ? 'is not JSON' : 'is not UTF-8' }
  }
  return isObject(value) ? { line, fields: value } : { line, fault: 'is not a JSON object' }
}
