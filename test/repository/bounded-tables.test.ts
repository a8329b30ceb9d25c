// Whatever grows has a bound, and a page says which: a new table fails here until it is named there.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine, scoped } from '../harness/index.ts'

const page = join(import.meta.dirname, '../../docs/security/data.md')
/** The column that names the tables. */
const column = 3

onEachEngine('the bound of each table', (engine) => {
  test('is documented, with what the table holds', async () => {
    await using home = await engine.createMigratedDatabase()
    await using database = scoped(await openDatabase(home.url))
    const { rows } =
      engine.name === 'sqlite'
        ? await sql<{
            name: string
          }>`select name from sqlite_schema where type = 'table' and name not like 'sqlite%'`.execute(
            database.reader,
          )
        : await sql<{
            name: string
          }>`select tablename as name from pg_tables where schemaname = current_schema()`.execute(
            database.reader,
          )
    const lines = (await readFile(page, 'utf8')).split('\n').filter((line) => line.startsWith('|'))
    const missing = rows
      .map(({ name }) => name)
      .filter((name) => !lines.some((line) => line.split('|')[column]?.includes(`\`${name}\``)))
    assert.deepEqual(missing, [])
  })
})
