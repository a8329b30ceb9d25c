import { sql } from 'kysely'
import type { Database } from '../../storage/database.ts'
import { createTriggers, type Definition } from './definition.ts'

/** Triggers that are not there, are switched off, or no longer know all unique keys of their table. */
export async function faultsOfTriggers(database: Database, definition: Definition): Promise<string[]> {
  const wanted = createTriggers(definition).filter((statement) => statement.startsWith('create trigger'))
  const there = await triggersOf(database, definition)
  const wrong = wanted.filter((statement) => !there.has(comparable(database, statement)))
  return wrong.length === 0
    ? []
    : [`${wrong.length} of its triggers are missing, switched off or out of date`]
}

/** SQLite keeps a statement as it was written, but for its first words; of PostgreSQL's the name and the table must do. */
function comparable({ engine }: Database, statement: string): string {
  if (engine === 'sqlite') return statement.replace(/^create\s+trigger\s+/i, '').replaceAll(/\s+/g, ' ')
  return /^create trigger "(.+?)" after /.exec(statement)![1]!
}

async function triggersOf(database: Database, { order }: Definition): Promise<Set<string>> {
  if (database.engine === 'sqlite') {
    const rows = database.readConnection.all<{ sql: string }>(
      `select sql from sqlite_schema where type = 'trigger'`,
    )
    return new Set(rows.map(({ sql }) => comparable(database, sql)))
  }
  const { rows } = await sql<{ name: string }>`
    select tgname::text as name from pg_trigger
    where tgrelid = to_regclass(${order.table}) and tgenabled in ('O', 'A')`.execute(database.reader)
  return new Set(rows.map(({ name }) => name))
}
