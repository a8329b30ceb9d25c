import { resolve } from 'node:path'
import type { Database } from './database.ts'
import type { PostgresOptions } from './postgres/database.ts'
import { openSqlite } from './sqlite/database.ts'

/**
 * Opens what DATABASE_URL names: `sqlite:path/to/file.db` or `postgres://…`. The driver of PostgreSQL is loaded when it
 * is needed: who runs on SQLite pays nothing for it.
 */
export async function openDatabase(url: string, options: PostgresOptions = {}): Promise<Database> {
  if (/^postgres(ql)?:/.test(url)) {
    const { openPostgres } = await import('./postgres/database.ts')
    return openPostgres(url, options)
  }
  const file = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1]
  if (!file) throw new Error(`DATABASE_URL is neither sqlite:FILE nor postgres://…: ${url.split(':')[0]}:…`)
  return openSqlite(resolve(file), options.onError)
}
