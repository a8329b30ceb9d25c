import { createReadStream } from 'node:fs'
import { sleep, type Clock } from '../../runtime/clock.ts'
import { InvalidTime } from '../../paging/time.ts'
import type { Database } from '../../storage/database.ts'
import { isUniqueViolation, StorageUnavailable } from '../../storage/unavailable.ts'
import { readCsv } from './csv.ts'
import { readNdjson } from './ndjson.ts'
import { ImportedPost, postTarget, ImportedProduct, productTarget } from './item-target.ts'
import { InvalidRecord, readTexts, type ImportTarget } from './target.ts'
import { ImportedUser, userTarget } from './users.ts'

/** Rows in one transaction, for which the writers of a running service wait. */
const batchSize = 500
/** Attempts for each batch while the database is busy or unavailable, and the milliseconds between them. */
const attempts = 5
const pause = 1_000

const targets = {
  users: { schema: ImportedUser, target: userTarget as ImportTarget<unknown> },
  products: { schema: ImportedProduct, target: productTarget as ImportTarget<unknown> },
  posts: { schema: ImportedPost, target: postTarget as ImportTarget<unknown> },
}
export type ImportKind = keyof typeof targets

export type ImportFormat = 'ndjson' | 'csv'

export interface ImportOptions {
  database: Database
  clock: Clock
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
