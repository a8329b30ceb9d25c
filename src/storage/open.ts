import { resolve } from 'node:path'
import type { Database } from './database.ts'
import type { PostgresOptions } from './postgres/database.ts'
import { openSqlite } from './sqlite/database.ts'
import { sqliteFileOf } from './sqlite/files.ts'

/** The settings with the addresses of the database. */
export interface DatabasePlace {
  /** `sqlite:path/to/file.db` or `postgres://…` */
  databaseUrl: string
  databaseSessionUrl?: string | undefined
}

/** Opens the database. The driver of PostgreSQL is loaded only if it is needed. */
export async function openDatabase(
  place: string | DatabasePlace,
  options: Omit<PostgresOptions, 'sessionUrl'> = {},
): Promise<Database> {
  const { databaseUrl: url, databaseSessionUrl: sessionUrl } =
    typeof place === 'string' ? { databaseUrl: place } : place
  if (/^postgres(ql)?:/.test(url)) {
    const { openPostgres } = await import('./postgres/database.ts')
    return openPostgres(url, { ...options, sessionUrl })
  }
  const file = sqliteFileOf(url)
  if (!file) throw new Error(`DATABASE_URL must be sqlite:FILE or postgres://…, not ${url.split(':')[0]}:…`)
  if (file === ':memory:')
    throw new Error('DATABASE_URL must name a file: the connections of a process share it')
  return openSqlite(resolve(file), options.onError)
}
