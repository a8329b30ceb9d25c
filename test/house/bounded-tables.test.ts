// Whatever grows has a bound, and the decision record says which: a new table fails here until it is named there.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import { migrate } from '../../src/storage/migrate.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine } from '../harness/engines.ts'

const record = join(import.meta.dirname, '../../docs/adr/0009-retention.md')

onEachEngine('the bound of each table', (engine) => {
  test('is documented in docs/adr/0009-retention.md', async () => {
    const home = await engine.createDatabase()
    try {
      const database = await openDatabase(home.url)
      try {
        await migrate(database)
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
        const told = await readFile(record, 'utf8')
        const lines = told.split('\n').filter((line) => line.startsWith('|'))
        const missing = rows
          .map(({ name }) => name)
          .filter((name) => !lines.some((line) => line.split('|')[1]?.includes(`\`${name}\``)))
        assert.deepEqual(missing, [])
      } finally {
        await database.close()
      }
    } finally {
      await home.drop()
    }
  })
})
