import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readTextFile } from '../runtime/text-file.ts'
import type { Database } from './database.ts'
import { applyMigrations, pendingNames, type MigrationLog, type MigrationOptions } from './migrate.ts'

/** A file of the product's own migrations cannot be applied. The message names it and tells what to change. */
export class ProductMigrationError extends Error {
  override readonly name = 'ProductMigrationError'
}

export interface ProductMigration {
  /** The name of the file without its ending, such as `0001-orders`. */
  name: string
  file: string
  sql: string
}

/** `0001-orders.sql` for both engines, or one file for each: `0001-orders.sqlite.sql` and `0001-orders.postgres.sql`. */
const fileName = /^(?<name>(?<number>\d+)[-_][\w-]+)(?:\.(?<engine>sqlite|postgres))?\.sql$/

/**
 * Reads the migrations of the product's own tables in the order of their numbers; none if the folder does not exist. Files that do
 * not end with `.sql`, in any case of letters, are ignored.
 * @throws ProductMigrationError for a file with another name, and for two files with one number
 */
export function readProductMigrations(folder: string, engine: Database['engine']): ProductMigration[] {
  if (!existsSync(folder)) return []
  const found = new Map<number, ProductMigration>()
  for (const file of readdirSync(folder).filter((entry) => /\.sql$/i.test(entry))) {
    const path = join(folder, file)
    const parts = fileName.exec(file)?.groups
    if (!parts)
      throw new ProductMigrationError(
        `${path}: the name of a migration is a number and words, such as 0001-orders.sql, 0001-orders.sqlite.sql or 0001-orders.postgres.sql`,
      )
    if (parts['engine'] !== undefined && parts['engine'] !== engine) continue
    const number = Number(parts['number'])
    const other = found.get(number)
    if (other) throw new ProductMigrationError(`${path} has the number of ${other.file}: give it another one`)
    found.set(number, { name: parts['name']!, file: path, sql: readTextFile(path) })
  }
  return [...found].toSorted(([a], [b]) => a - b).map(([, migration]) => migration)
}

interface Applied {
  name: string
  checksum: string
}

const log: MigrationLog<ProductMigration, Applied> = {
  table: 'product_migrations',
  columnsOf: (integer) => `name text primary key, checksum text not null, applied_at ${integer} not null`,
  select: 'select name, checksum from product_migrations',
  pendingAfter,
  sqlOf: ({ sql }) => sql,
  rowOf: ({ name, sql }, now) => [name, checksumOf(sql), now],
  failureOf: ({ file }, error) =>
    new ProductMigrationError(`${file}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    }),
}

/**
 * Applies those that the database does not have yet, in one transaction under the lock of migrations, and returns their names.
 * @throws ProductMigrationError if one fails, or if one was changed after it was applied; then the database is as before
 */
export async function applyProductMigrations(
  database: Database,
  migrations: readonly ProductMigration[],
  options: MigrationOptions = {},
): Promise<string[]> {
  return migrations.length === 0 ? [] : applyMigrations(database, log, migrations, options)
}

/** The names of those that the database does not have yet. Reads only. @throws ProductMigrationError as `applyProductMigrations` does */
export async function pendingProductMigrations(
  database: Database,
  migrations: readonly ProductMigration[],
): Promise<string[]> {
  return pendingNames(database, log, migrations)
}

function pendingAfter(
  applied: readonly Applied[],
  migrations: readonly ProductMigration[],
): ProductMigration[] {
  const checksums = new Map(applied.map(({ name, checksum }) => [name, checksum]))
  const changed = migrations.find(
    ({ name, sql }) => checksums.has(name) && checksums.get(name) !== checksumOf(sql),
  )
  if (changed)
    throw new ProductMigrationError(
      `${changed.file} was changed after it was applied: restore it, and write the change in a new file`,
    )
  return migrations.filter(({ name }) => !checksums.has(name))
}

/** Line ends may differ between checkouts. */
function checksumOf(sql: string): string {
  return createHash('sha256').update(sql.replaceAll('\r\n', '\n')).digest('hex')
}
