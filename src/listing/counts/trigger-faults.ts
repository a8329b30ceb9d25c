import { sql } from 'kysely'
import type { Database, PostgresDatabase, SqliteDatabase } from '../../storage/database.ts'
import type { CountedOrder } from '../../storage/maintained-counts/counted-order.ts'
import { createTriggers } from '../../storage/maintained-counts/statements.ts'

/** Reports triggers, and their function, that are missing, disabled or not as this version creates them. */
export async function triggerFaults(database: Database, order: CountedOrder): Promise<string[]> {
  const { engine } = database
  const existing = engine === 'sqlite' ? sqliteTriggers(database) : await postgresTriggers(database, order)
  const wrong = createTriggers(order, engine)
    .map(engine === 'sqlite' ? sqliteIdentity : postgresIdentity)
    .filter((identity) => !existing.has(identity))
  return wrong.length === 0 ? [] : [`${wrong.length} of its triggers are missing, disabled or out of date`]
}

/** SQLite stores a statement as it was written, except for its first words. */
function sqliteIdentity(statement: string): string {
  return statement.replace(/^create\s+trigger\s+/i, '').replaceAll(/\s+/g, ' ')
}

function sqliteTriggers({ readConnection }: SqliteDatabase): Set<string> {
  const rows = readConnection.all<{ sql: string }>(`select sql from sqlite_schema where type = 'trigger'`)
  return new Set(rows.map(({ sql }) => sqliteIdentity(sql)))
}

/**
 * The body of the function, which PostgreSQL stores as it was written, or the name of a trigger and its event, such as
 * `after update`. PostgreSQL writes the rest of a trigger in its own form.
 */
function postgresIdentity(statement: string): string {
  const body = /\$note\$(.+)\$note\$/s.exec(statement)?.[1]
  if (body !== undefined) return body
  const [, name, event] = /^create trigger "(.+?)" (after \w+(?: of)?) /.exec(statement)!
  return `${name} ${event}`
}

async function postgresTriggers({ reader }: PostgresDatabase, order: CountedOrder): Promise<Set<string>> {
  const { rows } = await sql<{ identity: string }>`
    select tgname || ' ' || lower(substring(pg_get_triggerdef(oid) from ' (AFTER \\w+( OF)?) ')) as identity from pg_trigger
    where tgrelid = to_regclass(${order.table}) and tgenabled in ('O', 'A')
    union all select prosrc from pg_proc where oid = to_regproc(${order.named('note')}) and prosecdef`.execute(
    reader,
  )
  return new Set(rows.map(({ identity }) => identity))
}
