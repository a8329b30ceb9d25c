// Queries are typed by src/storage/tables.ts: it must name the tables and columns of a migrated database, all of them.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import { tables } from '../../src/storage/migrations/0001-initial.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { engines, scoped } from '../harness/index.ts'

/** Also declares tables that code creates. */
const types = join(import.meta.dirname, '../../src/storage/tables.ts')

/** Only for the number of a row on SQLite, which no query reads. */
const undeclared = 'postern_users_changes.id'

const columnsOf = {
  sqlite: sql<{ name: string }>`select t.name || '.' || c.name as name
    from sqlite_schema t join pragma_table_info(t.name) c
    where t.type = 'table' and t.name not like 'sqlite%'`,
  postgres: sql<{ name: string }>`select table_name || '.' || column_name as name
    from information_schema.columns where table_schema = current_schema()`,
}

test(
  'the declared tables and columns are those of the two engines',
  { skip: engines.length < 2 },
  async () => {
    const found = new Set<string>()
    for (const engine of engines) {
      await using home = await engine.createMigratedDatabase()
      await using database = scoped(await openDatabase(home.url))
      const { rows } = await columnsOf[engine.name].execute(database.reader)
      for (const { name } of rows) found.add(name)
    }
    assert.deepEqual(
      [...found].filter((name) => name !== undeclared).toSorted(),
      declaredColumns().toSorted(),
    )
  },
)

/** `table.column` of every declared table. */
function declaredColumns(): string[] {
  const initial = Object.entries(tables).flatMap(([table, { elements }]) =>
    Object.entries<unknown>(elements)
      .filter(([, definition]) => !String(definition).startsWith('('))
      .map(([column]) => `${table}.${column}`),
  )
  const typesOnly = [...readFileSync(types, 'utf8').matchAll(/^ {2}(\w+): \{ (.*) \}$/gm)]
  return typesOnly
    .flatMap(([, table, columns]) => columns!.split('; ').map((column) => `${table}.${column.split(':')[0]}`))
    .concat(initial)
}
