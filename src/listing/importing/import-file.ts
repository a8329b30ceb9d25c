import { createReadStream } from 'node:fs'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { InvalidTime, timeOf } from '../../paging/time.ts'
import type { Database, Tx } from '../../storage/database.ts'
import { isUniqueViolation, StorageUnavailable } from '../../storage/unavailable.ts'
import { readCsv, decodeUtf8, type FileRecord, maxRecordLength, splitLines } from './csv.ts'
import { createCheck, type ImportTarget, InvalidRecord, readTexts } from './target.ts'
import { ImportedUser, userTarget } from './users.ts'
import { Type } from 'typebox'
import type { ProductsTable } from '../../storage/tables.ts'
import {
  columnsOf,
  idField,
  type ItemBody,
  type ItemRow,
  writablePosts,
  writableProducts,
  type WritableList,
} from '../writing/routes.ts'
import type { ModuleParts } from '../../http/service-module.ts'

/** A row to import, and whether its record has a `createdAt`. Without one, an existing row keeps its own. */
interface ImportedItem {
  values: ItemRow
  hasTime: boolean
}

/** Imports into a table whose rows can also be written over HTTP, by the same rules. Without ids, a second run would import all again. */
function itemImport({ list, New }: WritableList) {
  const schema = Type.Object({ ...New.properties, [list.key[0]!]: idField })
  const check = createCheck(schema)
  const target: ImportTarget<ImportedItem> = {
    read(fields, now) {
      const item = check(fields) as ItemBody
      const values = { created_at: timeOf(now), ...columnsOf(list, item) } as ItemRow
      return { values, hasTime: item.createdAt !== undefined }
    },
    keyOf: ({ values }) => values.id,
    async save(tx, rows) {
      for (const hasTime of [true, false]) {
        const values = rows.filter((row) => row.hasTime === hasTime).map((row) => row.values)
        if (values.length > 0) await upsert(tx, list.table, values, hasTime)
      }
    },
  }
  return { schema, target: target as ImportTarget<unknown> }
}

async function upsert(tx: Tx, name: string, rows: readonly ItemRow[], hasTime: boolean): Promise<void> {
  // Kysely has no type for a table that is a variable. The columns are those of the rows.
  const table = name as 'products'
  const columns = Object.keys(rows[0]!) as (keyof ProductsTable)[]
  const changed = columns.filter((column) => column !== 'id' && (hasTime || column !== 'created_at'))
  await tx
    .insertInto(table)
    .values(rows as readonly ProductsTable[])
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet((eb) =>
          Object.fromEntries(changed.map((column) => [column, eb.ref(`excluded.${column}`)])),
        ),
    )
    .execute()
}

/** Rows in one transaction, for which the writers of a running service wait. */
const batchSize = 500
/** Attempts for each batch while the database is busy or unavailable, and the milliseconds between them. */
const attempts = 5
const pause = 1_000

const targets = {
  users: { schema: ImportedUser, target: userTarget as ImportTarget<unknown> },
  products: itemImport(writableProducts),
  posts: itemImport(writablePosts),
}
export type ImportKind = keyof typeof targets

export type ImportFormat = 'ndjson' | 'csv'

interface ImportOptions extends Pick<ModuleParts, 'database' | 'clock'> {
  kind: ImportKind
  file: string
  format: ImportFormat
  /** Called for each line that is skipped, with the reason. */
  onFault: (line: number, why: string) => void
  /** Called after each batch with the rows imported and the bytes read so far. */
  onProgress: (rows: number, bytes: number) => void
  /** When it is aborted, the import ends after the current batch. */
  signal?: AbortSignal
}

export interface ImportResult {
  imported: number
  faults: number
  /** False if the signal ended the import. */
  complete: boolean
}

/** Imports a file record by record. Existing rows are updated, so that an import can be repeated. */
export async function importFile(options: ImportOptions): Promise<ImportResult> {
  const { database, clock, kind, file, format, onFault, onProgress, signal } = options
  const { schema, target } = targets[kind]
  const stream = createReadStream(file, { highWaterMark: 256 * 1024 })
  const records = format === 'csv' ? readCsv(stream) : readNdjson(stream)
  const result: ImportResult = { imported: 0, faults: 0, complete: true }
  let batch = new Map<string, unknown>()
  let taken = 0

  const flush = async (): Promise<void> => {
    if (taken > 0) await save(database, clock, target, [...batch.values()])
    result.imported += taken
    batch = new Map()
    taken = 0
    onProgress(result.imported, stream.bytesRead)
  }
  try {
    for await (const record of records) {
      let fault = 'fault' in record ? record.fault : undefined
      if ('fields' in record) {
        try {
          const fields = format === 'csv' ? readTexts(schema, record.fields) : record.fields
          const row = target.read(fields, clock.now())
          batch.set(target.keyOf(row), row)
          taken += 1
        } catch (error) {
          fault = faultOf(error)
        }
      }
      if (fault !== undefined) {
        result.faults += 1
        onFault(record.line, fault)
      }
      if (taken === batchSize) await flush()
      if (signal?.aborted) {
        result.complete = false
        break
      }
    }
    await flush()
  } finally {
    stream.destroy()
  }
  return result
}

function faultOf(error: unknown): string {
  if (error instanceof InvalidRecord) return error.message
  if (error instanceof InvalidTime) return `createdAt ${error.message}`
  throw error
}

async function save(
  database: Database,
  clock: Clock,
  target: ImportTarget<unknown>,
  rows: readonly unknown[],
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await database.transaction((tx) => target.save(tx, rows, clock.now()), { priority: 'work' })
    } catch (error) {
      // A concurrent writer, such as a sign-in, has inserted one of these rows. The next attempt updates it.
      const isTransient = error instanceof StorageUnavailable || isUniqueViolation(error)
      if (!isTransient || attempt === attempts) throw error
      await sleep(clock, pause)
    }
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
    value = parse(decodeUtf8(bytes))
  } catch (error) {
    return { line, fault: error instanceof SyntaxError ? 'is not JSON' : 'is not UTF-8' }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { line, fault: 'is not a JSON object' }
  return { line, fields: value as Record<string, unknown> }
}

const longNumber = /\d{16}/

/** A `providerId` may be a number beyond 2^53. It is read as a text, because rounding could make two ids equal. */
function parse(json: string): unknown {
  if (!longNumber.test(json)) return JSON.parse(json)
  return JSON.parse(json, (key, value: unknown, context?: { source?: string }) =>
    key === 'providerId' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '')
      ? context?.source
      : value,
  )
}
