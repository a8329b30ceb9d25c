// Whatever grows has a bound, and two pages say which: a new table fails here until it is named there.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine } from '../harness/engines.ts'

const docs = join(import.meta.dirname, '../../docs')
/** Pages with a table of all tables, and the column that names them. */
const pages = { 'adr/0009-retention.md': 1, 'security/data.md': 3 }

onEachEngine('the bound of each table', (engine) => {
  test('is documented, with what the table holds', async () => {
    const home = await engine.createMigratedDatabase()
    try {
      const database = await openDatabase(home.url)
      try {
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
        for (const [page, column] of Object.entries(pages)) {
          const told = await readFile(join(docs, page), 'utf8')
          const lines = told.split('\n').filter((line) => line.startsWith('|'))
          const missing = rows
            .map(({ name }) => name)
            .filter((name) => !lines.some((line) => line.split('|')[column]?.includes(`\`${name}\``)))
          assert.deepEqual(missing, [], page)
        }
      } finally {
        await database.close()
      }
    } finally {
      await home.drop()
    }
  })
})
